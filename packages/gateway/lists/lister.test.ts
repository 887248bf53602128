/** What the lister of an upstream announces, at a server by the official SDK. */
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "@modelcontextprotocol/client";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { ListPromptsRequestSchema, ListResourcesRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterEach, expect, test, vi } from "vitest";
import { until } from "../../../test/support/until.ts";
import { keepListed } from "./lister.ts";
import type { Listings } from "./listings.ts";
import type { UpstreamConnector } from "../connection/upstream-session.ts";
import { parseUpstreams } from "../config/upstreams.ts";

interface Offered {
  readonly tools: readonly string[];
  readonly prompts: readonly string[];
  readonly resources: readonly string[];
}

const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const [upstream] = parseUpstreams("up.json", JSON.stringify({ upstreams: [{ name: "up", url: "https://up.example.com" }] }));
const stopping: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stopping.splice(0)) await stop();
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** `promptsError`: the code of the error that the server answers prompts/list with. */
function connectorTo(offered: () => Offered, promptsError?: () => number | undefined): UpstreamConnector {
  return {
    forget: () => undefined,
    sessionTasks() {
      throw new Error("the server has no tasks");
    },
    async open() {
      const [theirs, ours] = InMemoryTransport.createLinkedPair();
      const server = new Server({ name: "up", version: "1" }, { capabilities: { tools: {}, prompts: {}, resources: {} } });
      const inputSchema = { type: "object" } as const;
      server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: offered().tools.map((name) => ({ name, inputSchema })) }));
      server.setRequestHandler(ListPromptsRequestSchema, () => {
        const code = promptsError?.();
        if (code !== undefined) throw Object.assign(new Error("no prompts now"), { code });
        return { prompts: offered().prompts.map((name) => ({ name })) };
      });
      server.setRequestHandler(ListResourcesRequestSchema, () => ({
        resources: offered().resources.map((name) => ({ name, uri: `x:${name}` })),
      }));
      await server.connect(theirs);
      const client = new Client({ name: "gateway", version: "1" });
      await client.connect(ours as never);
      return { client, isStateless: false, begin: () => undefined, close: () => client.close() };
    },
  };
}

/** Lists of upstreams, and workers that read them one after another. */
function deployment() {
  let text: string | undefined;
  let revision = 0;
  const listings: Listings = {
    read: async () => new Map(text === undefined ? [] : [["up", { revision: String(revision), text }]]),
    write: async (_name, given) => void ([text, revision] = [given, revision + 1]),
  };
  return {
    listings,
    /** Starts a worker that lists the upstream once, a while later, stops it, and returns the types that it announced. */
    async listedBy(
      offered: Offered,
      { afterMs = 60_000, diesFirst = false, promptsError }: { afterMs?: number; diesFirst?: boolean; promptsError?: number } = {},
    ): Promise<readonly string[]> {
      vi.setSystemTime(Date.now() + afterMs);
      const announced: string[] = [];
      const stops = new AbortController();
      const before = revision;
      const done = keepListed({
        upstream: upstream!,
        connector: connectorTo(
          () => offered,
          () => promptsError,
        ),
        deployment: "d",
        listings,
        lease: async () => true,
        announce: ({ type }) => (diesFirst ? new Promise(() => undefined) : Promise.resolve(void announced.push(type))),
        log,
        signal: stops.signal,
      });
      const stop = async () => {
        stops.abort();
        await done;
      };
      if (diesFirst) {
        await until(() => revision > before);
        return announced;
      }
      stopping.push(stop);
      await until(() => revision > before && announced.includes("tools"));
      await stop();
      return announced;
    },
  };
}

test("a session in which the lists cannot be read is closed, and the next reading opens another", async () => {
  const open = new Set<number>();
  let opened = 0;
  const server = connectorTo(() => {
    if (opened < 3) throw new Error("no lists now");
    return { tools: ["t"], prompts: [], resources: [] };
  });
  const connector: UpstreamConnector = {
    ...server,
    async open(...request) {
      const session = await server.open(...request);
      const number = (opened += 1);
      open.add(number);
      const close = async () => {
        open.delete(number);
        await session.close();
      };
      return { ...session, close };
    },
  };
  const [often] = parseUpstreams("up.json", JSON.stringify({ upstreams: [{ name: "up", url: "https://up.example.com", refresh: "1ms" }] }));
  const stops = new AbortController();
  const announced: string[] = [];
  const announce = async ({ type }: { type: string }) => void announced.push(type);
  const { listings } = deployment();
  const { signal } = stops;
  const done = keepListed({ upstream: often!, connector, deployment: "d", listings, lease: async () => true, announce, log, signal });
  await until(() => announced.includes("tools"));
  expect([...open]).toEqual([3]);
  stops.abort();
  await done;
  expect(open.size).toBe(0);
});

test("an upstream that is down is logged once, and once more when it is back", async () => {
  const lines: unknown[] = [];
  const line = (fields: object, message: string) => void lines.push([message, fields]);
  const refused = Object.assign(new Error("secret"), { code: "ECONNREFUSED" });
  const reachable = connectorTo(() => ({ tools: ["t"], prompts: [], resources: [] }));
  const [often] = parseUpstreams("up.json", JSON.stringify({ upstreams: [{ name: "up", url: "https://up.example.com", refresh: "1ms" }] }));
  const stops = new AbortController();
  const statuses: (boolean | undefined)[] = [];
  const done = keepListed({
    upstream: often!,
    connector: {
      ...reachable,
      open: async (...request) => await (statuses.length < 2 ? Promise.reject(refused) : reachable.open(...request)),
    },
    deployment: "d",
    listings: deployment().listings,
    lease: async () => true,
    announce: async () => undefined,
    log: { ...log, info: line, warn: line },
    signal: stops.signal,
    onStatus: (_name, status) => void statuses.push(status),
  });
  await until(() => statuses.length === 4);
  stops.abort();
  await done;
  expect(statuses).toEqual([false, false, true, true]);
  expect(lines).toEqual([
    ["upstream could not be listed", { upstream: "up", problem: "it refuses connections (ECONNREFUSED)" }],
    ["upstream can be listed again", { upstream: "up" }],
    ["upstream listed", expect.objectContaining({ tools: 1 })],
  ]);
});

test("a first list is announced by what it has", async () => {
  expect(await deployment().listedBy({ tools: ["t"], prompts: [], resources: [] })).toEqual(["tools"]);
  expect(await deployment().listedBy({ tools: [], prompts: ["p"], resources: ["r"] })).toEqual(["tools", "prompts", "resources"]);
});

test("what has vanished, changed or stayed while no worker listed it is announced as such by the next one", async () => {
  const workers = deployment();
  await workers.listedBy({ tools: ["t"], prompts: ["p"], resources: ["r"] });
  expect(await workers.listedBy({ tools: ["t"], prompts: [], resources: ["r"] })).toEqual(["tools", "prompts"]);
  expect(await workers.listedBy({ tools: ["t"], prompts: [], resources: [] })).toEqual(["tools", "resources"]);
  expect(await workers.listedBy({ tools: ["t"], prompts: ["p"], resources: ["r", "s"] })).toEqual(["tools", "prompts", "resources"]);
  expect(await workers.listedBy({ tools: [], prompts: ["p"], resources: ["r", "s"] })).toEqual(["tools"]);
});

test("a list that the upstream answers with an error stays as it was; without the method, it is empty", async () => {
  const workers = deployment();
  await workers.listedBy({ tools: ["t"], prompts: ["p"], resources: ["r"] });
  expect(await workers.listedBy({ tools: ["t"], prompts: [], resources: [] }, { promptsError: -32603 })).toEqual(["tools", "resources"]);
  const stored = async () => JSON.parse((await workers.listings.read(new Map())).get("up")?.text ?? "") as object;
  expect(await stored()).toMatchObject({ prompts: [{ name: "p" }], leftOut: ["prompts are declared, but listing them fails with -32603"] });
  expect(await workers.listedBy({ tools: ["t"], prompts: [], resources: [] }, { promptsError: -32601 })).toEqual(["tools", "prompts"]);
  expect(await stored()).toMatchObject({ prompts: [], leftOut: ["prompts are declared, but listing them fails with -32601"] });
});

test("a list stored by a worker of an earlier version, which has tools only, counts as one without prompts and resources", async () => {
  const workers = deployment();
  await workers.listings.write("up", JSON.stringify({ tools: [], leftOut: [], atMs: 0 }));
  expect(await workers.listedBy({ tools: ["t"], prompts: ["p"], resources: [] })).toEqual(["tools", "prompts"]);
});

test("what a worker has written and not announced before it died is announced by the next one, and once", async () => {
  const workers = deployment();
  await workers.listedBy({ tools: ["t"], prompts: [], resources: [] });
  const changed = { tools: ["t"], prompts: ["p"], resources: [] };
  expect(await workers.listedBy(changed, { diesFirst: true })).toEqual([]);
  expect(await workers.listedBy(changed, { afterMs: 20_000 })).toEqual(["tools", "prompts"]);
  expect(await workers.listedBy(changed, { afterMs: 20_000 })).toEqual(["tools"]);
  await workers.listedBy({ tools: ["t"], prompts: [], resources: [] }, { diesFirst: true });
  // A process that lists much later cannot know.
  expect(await workers.listedBy({ tools: ["t"], prompts: [], resources: [] })).toEqual(["tools"]);
});

/** Keeps an upstream listed that is read again each second, until `when` holds. Returns how often tools were announced. */
async function announcedUntil(
  offered: () => Offered,
  when: (reads: number, announced: number) => boolean,
  promptsError?: () => number | undefined,
) {
  const [often] = parseUpstreams("up.json", JSON.stringify({ upstreams: [{ name: "up", url: "https://up.example.com", refresh: "1ms" }] }));
  const stops = new AbortController();
  const lines: string[] = [];
  let [reads, announced] = [0, 0];
  const done = keepListed({
    upstream: often!,
    connector: connectorTo(() => offered(), promptsError),
    deployment: "d",
    listings: deployment().listings,
    lease: async () => true,
    announce: async ({ type }) => void (announced += type === "tools" ? 1 : 0),
    log: {
      ...log,
      info: (fields, message) => void lines.push(`${message} ${JSON.stringify((fields as { leftOut?: unknown }).leftOut)}`),
      warn: (_fields, message) => void lines.push(String(message)),
    },
    signal: stops.signal,
    onStatus: () => void (reads += 1),
  });
  stopping.push(async () => {
    stops.abort();
    await done;
  });
  await until(() => when(reads, announced));
  return { announced: () => announced, reads: () => reads, lines };
}

test("a list that fails every other time is reported in the log, and clients are told of no change", async () => {
  let asked = 0;
  const failing = () => ((asked += 1) % 2 === 0 ? -32603 : undefined);
  const { announced, lines } = await announcedUntil(
    () => ({ tools: ["t"], prompts: ["p"], resources: [] }),
    (reads) => reads >= 4,
    failing,
  );
  expect(announced()).toBe(1);
  const fails = '["prompts are declared, but listing them fails with -32603"]';
  expect(lines.slice(0, 3)).toEqual(["upstream listed []", `upstream listed ${fails}`, "upstream listed []"]);
});

test.each([
  ["one of whose lists fails", false],
  ["that fails", true],
] as const)(
  "an upstream %s every other time has five lines in the log after the first, and then one each half minute",
  { timeout: 60_000 },
  async (_what, isWhole) => {
    const now = Date.now;
    let skippedMs = 0;
    vi.spyOn(Date, "now").mockImplementation(() => now() + skippedMs);
    let asked = 0;
    const fails = () => (asked += 1) % 2 === 0;
    const seen = await announcedUntil(
      () => {
        if (isWhole && fails()) throw Object.assign(new Error("no tools now"), { code: -32603 });
        return { tools: ["t"], prompts: ["p"], resources: [] };
      },
      (reads) => reads >= 9,
      () => (!isWhole && fails() ? -32603 : undefined),
    );
    expect(seen.lines).toHaveLength(6);
    skippedMs = 30_000;
    await until(() => seen.lines.length === 7);
    const { reads } = seen;
    const before = reads();
    await until(() => reads() > before + 2);
    expect(seen.lines).toHaveLength(7);
  },
);

test(
  "an upstream with another list at each reading is told of five times at once, and then every half minute",
  { timeout: 30_000 },
  async () => {
    const now = Date.now;
    let skippedMs = 0;
    vi.spyOn(Date, "now").mockImplementation(() => now() + skippedMs);
    let read = 0;
    const seen = await announcedUntil(
      () => ({ tools: [`t${(read += 1)}`], prompts: [], resources: [] }),
      (_reads, announced) => announced === 5,
    );
    await sleep(2_500);
    expect(seen.announced()).toBe(5);
    skippedMs = 30_000;
    await until(() => seen.announced() === 6);
    await sleep(1_500);
    expect(seen.announced()).toBe(6);
  },
);
