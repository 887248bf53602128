/** What a client sees of a server, and how that differs where the gateway is in between. */
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { Call } from "./servers.ts";

type Json = Readonly<Record<string, unknown>>;

/** By what it is, such as `tool echo` or `result 3 of read_graph`. */
export type Seen = ReadonlyMap<string, unknown>;

export interface Looked {
  readonly client: Client;
  /** By what name the gateway knows it: what is of others there is left out. Directly: undefined. */
  readonly upstream?: string;
  readonly calls: readonly Call[];
}

const CALL_MS = 60_000;

/** Lists everything, reads every resource, and makes the calls, one after another. */
export async function look({ client, upstream, calls }: Looked): Promise<Seen> {
  const seen = new Map<string, unknown>();
  const prefix = upstream === undefined ? "" : `${upstream}.`;
  const isOwn = (uri: unknown) => upstream === undefined || String(uri).includes(`${upstream}+`);
  const can = client.getServerCapabilities() ?? {};
  const named = (items: readonly Json[], what: string) => {
    for (const item of items) {
      const name = String(item["name"]);
      if (name.startsWith(prefix)) seen.set(`${what} ${name.slice(prefix.length)}`, { ...item, name: name.slice(prefix.length) });
    }
  };
  if (can.tools) named(await everyPage((cursor) => client.listTools(cursor), "tools"), "tool");
  if (can.prompts) named(await everyPage((cursor) => client.listPrompts(cursor), "prompts"), "prompt");
  if (can.resources) {
    const resources = await everyPage((cursor) => client.listResources(cursor), "resources");
    // Some have resources and know no templates.
    const templates = await everyPage((cursor) => client.listResourceTemplates(cursor), "resourceTemplates").catch(() => []);
    for (const item of templates) if (isOwn(item["uriTemplate"])) seen.set(`template ${String(item["uriTemplate"])}`, item);
    for (const item of resources) {
      const uri = String(item["uri"]);
      if (!isOwn(uri)) continue;
      seen.set(`resource ${uri}`, item);
      seen.set(`content of ${uri}`, await outcome(client.readResource({ uri })));
    }
  }
  for (const [index, { tool, arguments: args }] of calls.entries()) {
    const params = { name: `${prefix}${tool}`, arguments: args };
    seen.set(`result ${index + 1} of ${tool}`, await outcome(client.callTool(params, undefined, { timeout: CALL_MS })));
  }
  return seen;
}

async function everyPage(page: (params: { cursor?: string }) => Promise<unknown>, of: string): Promise<Json[]> {
  const items: Json[] = [];
  for (let cursor: string | undefined; ;) {
    const { nextCursor, ...lists } = (await page({ ...(cursor !== undefined && { cursor }) })) as { nextCursor?: string };
    items.push(...((lists as Record<string, Json[]>)[of] ?? []));
    if (nextCursor === undefined) return items;
    cursor = nextCursor;
  }
}

async function outcome(asked: Promise<unknown>): Promise<unknown> {
  try {
    return await asked;
  } catch (error) {
    return { error: (error as { code?: number }).code ?? String(error), message: error instanceof Error ? error.message : String(error) };
  }
}

/** Each difference as one line: where, what it is directly, and what it is through the gateway, which calls the server by that name. */
export function differences(direct: Seen, through: Seen, upstream: string): string[] {
  const plain = new Map([...through].map(([name, value]) => [name.replace(`${upstream}+`, ""), value]));
  const names = new Set([...direct.keys(), ...plain.keys()]);
  return [...names].flatMap((name) => {
    if (!plain.has(name)) return [`${name}: missing`];
    if (!direct.has(name)) return [`${name}: added`];
    return differing(direct.get(name), plain.get(name))
      .filter((each) => !isMeant(each, upstream))
      .map(({ path, a, b }) => `${name}${path}: ${brief(a)} became ${brief(b)}`);
  });
}

interface Difference {
  readonly path: string;
  readonly a: unknown;
  readonly b: unknown;
}

/** What the gateway changes by its documentation: any tool may be a task, addresses carry the upstream's name, lists say what they came through. */
function isMeant({ path, a, b }: Difference, upstream: string): boolean {
  if (path === "/execution/taskSupport") return b === "optional";
  if (path.includes("/_meta/parley/via")) return a === undefined;
  if (typeof a !== "string") return false;
  if (path === "/name") return b === `${upstream}.${a}`;
  return /\/(uri|uriTemplate|resourceUri)$/.test(path) && (b === `${upstream}+${a}` || b === a.replace("://", `://${upstream}+`));
}

function differing(a: unknown, b: unknown, path = ""): Difference[] {
  if (Object.is(a, b) || (typeof a === "string" && typeof b === "string" && timeless(a) === timeless(b))) return [];
  // An absent object or list is one without members.
  const empty = (like: unknown) => (Array.isArray(like) ? [] : isObject(like) ? {} : undefined);
  const [one, other] = [a === undefined ? empty(b) : a, b === undefined ? empty(a) : b];
  if (!isObject(one) || !isObject(other) || Array.isArray(one) !== Array.isArray(other)) return [{ path, a, b }];
  const members = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...members].flatMap((member) => differing(one[member], other[member], `${path}/${member}`));
}

/** Without the time at which it was made. */
function timeless(text: string): string {
  return text.replaceAll(/\d{4}-\d\d-\d\dT\d\d[:-]\d\d[:-]\d\d[.-]\d+Z/g, "TIME");
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null;
}

const SHOWN = 1_000;

function brief(value: unknown): string {
  const text = value === undefined ? "absent" : JSON.stringify(value);
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}
