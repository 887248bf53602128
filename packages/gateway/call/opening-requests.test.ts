/** The real server-filesystem, which restricts itself to the roots of its client as soon as it knows them. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { prepareSessions } from "../connection/prepared-sessions.ts";
import { createUpstreamFetch } from "../connection/upstream-fetch.ts";
import { createConnector } from "../connection/upstream-session.ts";
import { parseUpstreams } from "../config/upstreams.ts";
import { aRequest, leading, someDeps } from "../upstream.fixture.ts";
import { startCall } from "./upstream-call.ts";

const FILESYSTEM = join(import.meta.dirname, "../../../node_modules/@modelcontextprotocol/server-filesystem/dist/index.js");

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parley-roots-"));
  for (const name of ["mine", "others"]) {
    await mkdir(join(directory, name));
    await writeFile(join(directory, name, "note.txt"), `the note of ${name}`);
  }
});
afterAll(() => rm(directory, { recursive: true }));

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** A server on a machine that is busy with other things: it reads each message late, and takes long to apply its client's roots. */
const BUSY = `
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
let isBound = false;
const results = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "busy", version: "1" } }),
  "tools/call": () => ({ content: [{ type: "text", text: isBound ? "Access denied" : "the note of others" }] }),
};
for await (const line of createInterface({ input: process.stdin })) {
  await sleep(80);
  const { id, method, params, result } = JSON.parse(line);
  if (method === "notifications/initialized") say({ id: "roots", method: "roots/list" });
  else if (result?.roots) setTimeout(() => (isBound = true), 800);
  else if (id !== undefined && method) say({ id, result: results[method]?.(params) ?? {} });
}
`;

function reading(reuseSessions: boolean, args = [FILESYSTEM, directory]) {
  const { fetch, close } = createUpstreamFetch();
  const prepared = prepareSessions(createConnector({ fetch, version: "1", deployment: "d" }));
  closers.push(close, prepared.close);
  const entry = { name: "up", command: process.execPath, args, reuseSessions, callTimeout: "30s" };
  const [upstream] = parseUpstreams("up.json", JSON.stringify({ upstreams: [entry] }));
  /** Reads the note in a directory, as a client with one root. The upstream's request for it is answered with `roots`. */
  return async (name: string, roots: string, { session = "s", hasRoots = true, answersAfterMs = 0 } = {}) => {
    const request = aRequest({
      upstream: upstream!,
      tool: "read_text_file",
      args: { path: join(directory, name, "note.txt") },
      session,
      capabilities: { ...(hasRoots && { roots: true }) },
    });
    const call = startCall("1", request, someDeps(prepared));
    const asked = [];
    for (;;) {
      const event = await call.next(asked, leading());
      if (event.type !== "asked") return { text: JSON.stringify(event), asked: asked.length };
      await sleep(answersAfterMs);
      const result = { roots: [{ uri: pathToFileURL(join(directory, roots)).href }] };
      for (const question of event.questions) asked.push({ question, answer: { action: "reply", result } as const });
    }
  };
}

describe("the roots of a caller", () => {
  test("bind the first call of a session", async () => {
    const read = reading(false);
    for (let call = 1; call <= 5; call += 1) {
      expect(await read("others", "mine")).toEqual({ text: expect.stringContaining("Access denied"), asked: 1 });
      expect((await read("mine", "mine")).text).toContain("the note of mine");
    }
  });

  test("bind the call of a server that is slow to apply them, and slow in everything", async () => {
    const script = join(directory, "busy.mjs");
    await writeFile(script, BUSY);
    expect(await reading(false, [script])("others", "mine")).toEqual({ text: expect.stringContaining("Access denied"), asked: 1 });
  });

  test("bind the first call of a caller whose client takes long to say them", async () => {
    const read = reading(false);
    expect(await read("others", "mine", { answersAfterMs: 1_500 })).toEqual({ text: expect.stringContaining("Access denied"), asked: 1 });
  });

  test("bind each call of a session that serves several", async () => {
    const read = reading(true);
    expect((await read("mine", "mine")).text).toContain("the note of mine");
    expect(await read("mine", "others")).toEqual({ text: expect.stringContaining("Access denied"), asked: 1 });
    expect((await read("others", "others")).text).toContain("the note of others");
  });

  test("are not asked of a caller who has none", async () => {
    expect(await reading(false)("others", "mine", { hasRoots: false })).toEqual({
      text: expect.stringContaining("the note of others"),
      asked: 0,
    });
  });
});
