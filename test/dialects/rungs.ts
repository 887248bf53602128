/** What `parley doctor --client` says of each client that calls the same three tools. docs/clients.md has the table. */
import { readFileSync } from "node:fs";
import { createRecorder } from "../../apps/cli/probe/record.ts";
import type { ClientReport } from "../../apps/cli/probe/report.ts";
import { openWire } from "../../apps/cli/probe/wire.ts";
import { PACKAGES } from "../support/python-packages.ts";
import { until } from "../support/until.ts";
import { callByAiSdk } from "./clients/ai-sdk.ts";
import { pagesOnly } from "./clients/pages-only.ts";
import { proposal1869, sendInput } from "./clients/raw.ts";
import { type Dialect, failedWith } from "./dialect.ts";
import type { Reply } from "./scenarios.ts";

const TOOLS = ["probe_form", "probe_url", "probe_cut"] as const;
const CONTENT = { probe_form: { name: "Ann" }, probe_cut: { colour: "red" } } as const;

type Client = Pick<Dialect, "name" | "cannot" | "run">;

/** There is no dialect of it: it never comes back to a call. */
const aiSdk: Client = {
  name: "ai-sdk",
  cannot: { "call cancelled": "its tools take a signal that ends the wait, and the call goes on" },
  run: callByAiSdk,
};

/** Real clients: two dialects are spoken by hand, as nobody has published a client of them. Those that show less than they could are in the table already. */
export function measurable(dialects: readonly Dialect[]): readonly Client[] {
  const others = [proposal1869, sendInput, ...pagesOnly].map(({ name }) => name);
  return [...dialects.filter(({ name }) => !others.includes(name)), aiSdk];
}

/** Of the packages that are tried, by how the names of dialects begin. */
const PACKAGE_OF = {
  "sdk v1": "@modelcontextprotocol/sdk",
  "sdk v2": "@modelcontextprotocol/client",
  "ext-tasks": "@modelcontextprotocol/ext-tasks",
  "ai-sdk": "@ai-sdk/mcp",
  "Python mcp": "mcp",
  FastMCP: "fastmcp",
} as const;

export function versionOf(name: string): string {
  const [, of = ""] = Object.entries(PACKAGE_OF).find(([start]) => name.startsWith(start)) ?? [];
  const pinned = PACKAGES.map((each) => each.split("==")).find(([python]) => python === of);
  if (pinned?.[1] !== undefined) return pinned[1];
  const file = new URL(`../../node_modules/${of}/package.json`, import.meta.url);
  return (JSON.parse(readFileSync(file, "utf8")) as { readonly version: string }).version;
}

/** Calls the tools, once cancels one, and returns what was measured. */
export async function measure({ run, cannot, name }: Client, server: string): Promise<ClientReport> {
  const recorder = createRecorder("http");
  const wire = await openWire(0, recorder);
  wire.lead(server);
  const never = new Promise<never>(() => undefined);
  const hasCancelled = () => until(() => recorder.clients().some(({ did }) => did.cancellation === "yes"));
  const call = { url: `${wire.url}/mcp`, args: {}, cut: () => never, vanish: () => never, back: () => undefined };
  const ended = (tool: string) =>
    run({ ...call, tool, meanwhile: undefined, asked: never, closed: () => never, respond: async () => replyTo(tool) });
  try {
    for (const tool of TOOLS) await ended(tool).catch(failedWith);
    if (cannot["call cancelled"] === undefined) {
      const asked = Promise.withResolvers<void>();
      const cancelled = run({
        ...call,
        tool: "probe_form",
        meanwhile: "cancel",
        asked: asked.promise,
        closed: hasCancelled,
        async respond() {
          asked.resolve();
          await hasCancelled();
          return { action: "cancel" };
        },
      });
      await cancelled.catch(failedWith);
    }
    const called = recorder.clients().filter(({ tools }) => Object.keys(tools).length > 0);
    if (called.length !== 1) throw new Error(`${name} was taken for ${called.length} clients`);
    return called[0] as ClientReport;
  } finally {
    await wire.close();
  }
}

function replyTo(tool: string): Reply {
  const content = CONTENT[tool as keyof typeof CONTENT];
  return content === undefined ? { action: "accept" } : { action: "accept", content };
}

const PAGE = new URL("../../docs/clients.md", import.meta.url);

/** The version and the measured cells of each row of the page's table, by the name in its first column. */
export function documented(): ReadonlyMap<string, readonly string[]> {
  const [, section = ""] = readFileSync(PAGE, "utf8").split("## What clients do\n");
  const lines =
    section
      .split("\n## ", 1)[0]
      ?.split("\n")
      .filter((line) => line.startsWith("| ")) ?? [];
  const rows = lines.map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((each) => each.trim()),
  );
  return new Map(rows.map(([name = "", version = "", _date, ...cells]) => [name, [version, ...cells]]));
}
