/** The listers of two upstreams, of which one changes, goes and comes back. The upstreams are servers by the official SDK. */
import { Client } from "@modelcontextprotocol/client";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, onTestFinished, test } from "vitest";
import { until } from "../../../test/support/until.ts";
import { type ByUrl, parseUpstreams, type Upstream } from "../config/upstreams.ts";
import { createListers } from "./listers.ts";

const nothing = () => undefined;

/** The upstream of that name at an address of its own, which is also the name of its only tool. */
function upstreamAt(name: string, host: string): Upstream {
  const [upstream] = parseUpstreams("up.json", JSON.stringify({ upstreams: [{ name, url: `https://${host}.example` }] }));
  return upstream!;
}
const hostOf = ({ reached }: Pick<Upstream, "reached">) => new URL((reached as ByUrl).url).hostname.split(".")[0]!;

function subject() {
  const sessions = { opened: [] as string[], closed: [] as string[] };
  const forgotten: string[] = [];
  const status = new Map<string, boolean>();
  const written = new Map<string, string>();
  /** Of an upstream that does not answer until it is released. */
  const held = new Map<string, PromiseWithResolvers<void>>();
  const asked: string[] = [];
  const listers = createListers({
    connector: {
      forget: (upstream) => void forgotten.push(hostOf(upstream)),
      sessionTasks() {
        throw new Error("the servers have no tasks");
      },
      async open(upstream) {
        const host = hostOf(upstream);
        sessions.opened.push(host);
        const [theirs, ours] = InMemoryTransport.createLinkedPair();
        const server = new Server({ name: host, version: "1" }, { capabilities: { tools: {} } });
        server.setRequestHandler(ListToolsRequestSchema, async () => {
          asked.push(host);
          await held.get(host)?.promise;
          return { tools: [{ name: host, inputSchema: { type: "object" } }] };
        });
        await server.connect(theirs);
        const client = new Client({ name: "gateway", version: "1" });
        await client.connect(ours as never);
        return {
          client,
          isStateless: false,
          begin: nothing,
          async close() {
            sessions.closed.push(host);
            await client.close();
          },
        };
      },
    },
    deployment: "d",
    listings: {
      read: async () => new Map(),
      write: async (name, text) => void written.set(name, (JSON.parse(text) as { tools: [{ name: string }] }).tools[0].name),
    },
    lease: async () => true,
    announce: async () => undefined,
    log: { debug: nothing, info: nothing, warn: nothing, error: nothing },
    onStatus: (name, isUp) => void (isUp === undefined ? status.delete(name) : status.set(name, isUp)),
  });
  onTestFinished(() => {
    for (const each of held.values()) each.resolve();
    return listers.close();
  });
  return { listers, sessions, forgotten, status, written, held, asked, open: () => sessions.opened.length - sessions.closed.length };
}

test("an upstream that changes is listed anew, and the other one stays as it is", async () => {
  const { listers, sessions, forgotten, status, written, open } = subject();
  const other = upstreamAt("crm", "stays");
  listers.replace([upstreamAt("hr", "first"), other]);
  await until(() => written.size === 2);
  for (const host of ["second", "third", "fourth"]) {
    listers.replace([upstreamAt("hr", host), other]);
    await until(() => written.get("hr") === host && open() === 2);
  }
  expect(sessions).toEqual({ opened: ["first", "stays", "second", "third", "fourth"], closed: ["first", "second", "third"] });
  expect(forgotten).toEqual(["first", "second", "third"]);
  expect([status, written.get("crm")]).toEqual([
    new Map([
      ["crm", true],
      ["hr", true],
    ]),
    "stays",
  ]);
  expect(listers.upstreams().map((upstream) => [upstream.name, hostOf(upstream)])).toEqual([
    ["crm", "stays"],
    ["hr", "fourth"],
  ]);
});

test("a file that says the same lists nothing anew, however often it is read", async () => {
  const { listers, sessions, forgotten, written } = subject();
  for (let reads = 0; reads < 3; reads += 1) listers.replace([upstreamAt("hr", "one"), upstreamAt("crm", "two")]);
  await until(() => written.size === 2);
  expect([sessions.opened.toSorted(), forgotten]).toEqual([["one", "two"], []]);
});

test("an upstream that is gone has no status, and one that comes back is listed again", async () => {
  const { listers, sessions, status, written } = subject();
  for (let uses = 1; uses <= 3; uses += 1) {
    written.clear();
    listers.replace([upstreamAt("hr", "one"), upstreamAt("crm", "two")]);
    await until(() => written.has("hr") && status.size === 2);
    listers.replace([upstreamAt("crm", "two")]);
    expect([...status.keys()]).toEqual(["crm"]);
    await until(() => sessions.closed.length === uses);
  }
  expect(sessions.opened.filter((host) => host === "two")).toEqual(["two"]);
});

test("a lister that is stopped while it reads says nothing of the upstream that has its name now, and writes nothing", async () => {
  const { listers, sessions, status, written, held, asked } = subject();
  held.set("slow", Promise.withResolvers());
  listers.replace([upstreamAt("hr", "slow"), upstreamAt("crm", "two")]);
  await until(() => asked.includes("slow") && status.has("crm"));
  listers.replace([upstreamAt("crm", "two")]);
  held.get("slow")!.resolve();
  await until(() => sessions.closed.includes("slow"));
  expect([[...status.keys()], [...written.keys()]]).toEqual([["crm"], ["crm"]]);
});

test("are closed with all their sessions, also of upstreams that are gone and of one that is being read", async () => {
  const { listers, sessions, written, held, asked, open } = subject();
  listers.replace([upstreamAt("hr", "one")]);
  await until(() => written.size === 1);
  held.set("slow", Promise.withResolvers());
  listers.replace([upstreamAt("hr", "slow"), upstreamAt("crm", "two")]);
  await until(() => asked.includes("slow") && written.has("crm"));
  const closed = listers.close();
  held.get("slow")!.resolve();
  await closed;
  expect([open(), sessions.closed.toSorted()]).toEqual([0, ["one", "slow", "two"]]);
});
