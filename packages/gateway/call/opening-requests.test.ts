/** The real server-filesystem, which restricts itself to the roots of its client as soon as it knows them. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
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

function reading(reuseSessions: boolean) {
  const { fetch, close } = createUpstreamFetch();
  const prepared = prepareSessions(createConnector({ fetch, version: "1", deployment: "d" }));
  closers.push(close, prepared.close);
  const entry = { name: "up", command: process.execPath, args: [FILESYSTEM, directory], reuseSessions, callTimeout: "30s" };
  const [upstream] = parseUpstreams("up.json", JSON.stringify({ upstreams: [entry] }));
  /** Reads the note in a directory, as a client with one root. The upstream's request for it is answered with `roots`. */
  return async (name: string, roots: string, { session = "s", hasRoots = true } = {}) => {
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
