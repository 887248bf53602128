/** What an upstream offers, in its own words and within bounds. Stored as JSON where front ends and workers find it. */
import { hash } from "node:crypto";
import { type Client, type ClientCapabilities, ProtocolError, SdkError, SdkErrorCode, specTypeSchemas } from "@modelcontextprotocol/client";
import { type JsonObject, jsonExceeds, STORED_DEPTH_MAX } from "@parley/core";
import { z } from "zod";
import { withBodyError } from "../wire/body-error.ts";
import { withoutNulls } from "../wire/incoming.ts";
import { wrongHeader } from "../wire/param-headers.ts";
import { NOT_SUPPORTED } from "../wire/question.ts";
import type { UpstreamSession } from "../connection/upstream-session.ts";
import type { Upstream } from "../config/upstreams.ts";
import { viaProblem } from "./passed-gateways.ts";

export interface ListedTool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations?: JsonObject;
  readonly icons?: readonly JsonObject[];
  readonly _meta?: JsonObject;
  /** Whether it runs as a task of revision 2025-11-25. */
  readonly execution?: { readonly taskSupport?: string };
}

export interface ListedPrompt {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly arguments?: readonly ListedArgument[];
  readonly icons?: readonly JsonObject[];
  readonly _meta?: JsonObject;
}

export interface ListedArgument {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly required?: boolean;
}

interface ListedFacts {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly annotations?: JsonObject;
  readonly icons?: readonly JsonObject[];
  readonly _meta?: JsonObject;
}

export interface ListedResource extends ListedFacts {
  readonly uri: string;
  readonly size?: number;
}

export interface ListedTemplate extends ListedFacts {
  readonly uriTemplate: string;
}

/** An event type of MCP's events extension. */
export interface ListedEvent {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: JsonObject;
  readonly payloadSchema: JsonObject;
  readonly _meta?: JsonObject;
}

/** The shape of each kind of listed item. */
interface Lists {
  readonly tools: readonly ListedTool[];
  readonly prompts: readonly ListedPrompt[];
  readonly resources: readonly ListedResource[];
  readonly templates: readonly ListedTemplate[];
  readonly events: readonly ListedEvent[];
}

export interface Listing extends Lists {
  /** Whether the upstream completes arguments of prompts and templates. */
  readonly completes: boolean;
  /** Whether resources can be read there, if only those that a result names. */
  readonly readsResources: boolean;
  /** What the upstream says of itself to models, within its bound. */
  readonly instructions?: string;
  /** Items that cannot be offered, each with the reason. */
  readonly leftOut: readonly string[];
}

/** Limits of one upstream: tools, prompts, arguments of a prompt, resources, templates, event types, characters of a uri, and characters of JSON in total. */
export const TOOLS_MAX = 1_000;
export const PROMPTS_MAX = 1_000;
export const RESOURCES_MAX = 1_000;
export const TEMPLATES_MAX = 1_000;
export const EVENT_TYPES_MAX = 100;
export const URI_CHARS_MAX = 2_048;
export const ARGUMENTS_MAX = 100;
export const LISTING_CHARS_MAX = 4_000_000;
/** Limits of reading one list: pages, and characters of JSON, including items that are left out. */
const PAGES_MAX = 64;
const PAGES_CHARS_MAX = 16_000_000;
/** For all pages of event types (ms), unless the upstream has less time for anything: what else it lists waits for them. */
export const EVENTS_LISTED_WITHIN_MS = 5_000;
/** How many items that are left out are reported, and how much of their names. */
const LEFT_OUT_MAX = 20;
const NAME_CHARS_MAX = 128;
/** A valid name, prefix included (specification 2025-11-25, server/tools). */
const NAME = /^[A-Za-z0-9_./-]{1,128}$/;

/** A scheme, then only characters that a uri can have, and the braces of templates, which only the upstream interprets. */
const URI = /^[A-Za-z][A-Za-z0-9+.-]*:[^\s\p{Cc}]+$/u;

/** Of the session in which lists are read: some servers list a tool only to clients that declare the capabilities it needs. */
export const LISTING_CAPABILITIES: ClientCapabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

export interface ReadListing {
  /** Items that have passed through it are left out. */
  readonly deployment?: string;
  /** What was listed before. */
  readonly before?: () => Promise<Partial<Lists>>;
}

/**
 * Throws what the client throws if tools cannot be listed. Another list that the upstream answers with an error stays as it was before, and is reported
 * as a problem; it is empty if the upstream does not know the method.
 */
export async function readListing(
  { client, isStateless, instructions, hasEvents = false }: UpstreamSession,
  upstream: Upstream,
  { deployment, before }: ReadListing = {},
): Promise<Listing> {
  const { tools: hasTools, prompts: hasPrompts, resources: hasResources, completions } = client.getServerCapabilities() ?? {};
  const problems: string[] = [];
  const hasHeaders = isStateless && upstream.reached.by === "url";
  const read = <Kind extends keyof Lists>(kind: Kind, signal?: AbortSignal) =>
    readList(kind, { client, timeoutMs: upstream.connectTimeoutMs, problems, hasHeaders, ...(signal && { signal }) });
  async function listed<Kind extends keyof Lists>(kind: Kind, isPromised: object | undefined): Promise<Lists[Kind]> {
    try {
      return isPromised ? await read(kind) : [];
    } catch (thrown) {
      const error = withBodyError(thrown);
      if (!(error instanceof ProtocolError)) throw error;
      // Servers that have no templates need not know the method.
      if (kind !== "templates" || error.code !== NOT_SUPPORTED)
        problems.push(`${kind} are declared, but listing them fails with ${error.code}`);
      const kept = error.code === NOT_SUPPORTED ? undefined : await before?.();
      return kept?.[kind] ?? [];
    }
  }
  /** An extension, which an upstream may have in part: whatever becomes of it, tools are listed. */
  async function listedEvents(): Promise<Lists["events"]> {
    const withinMs = Math.min(EVENTS_LISTED_WITHIN_MS, upstream.connectTimeoutMs);
    const signal = AbortSignal.timeout(withinMs);
    try {
      return await read("events", signal);
    } catch (thrown) {
      const error = withBodyError(thrown);
      const code = error instanceof ProtocolError ? error.code : undefined;
      const why = signal.aborted ? `takes more than ${withinMs} ms` : `fails${code === undefined ? "" : ` with ${code}`}`;
      problems.push(`events are declared, but listing them ${why}`);
      return code === NOT_SUPPORTED ? [] : ((await before?.())?.events ?? []);
    }
  }
  const tools = hasTools ? await read("tools") : [];
  const prompts = await listed("prompts", hasPrompts);
  const resources = await listed("resources", hasResources);
  const templates = await listed("templates", hasResources);
  const events = polled(hasEvents ? await listedEvents() : [], upstream, problems);
  const listing = boundedListing({ tools, prompts, resources, templates, events }, upstream, deployment);
  // A gateway that this one is behind would say again what this one says, and this one that again.
  const comesBack = [...tools, ...prompts, ...resources, ...templates].some((item) => viaProblem(item, deployment) !== undefined);
  const said = comesBack ? undefined : instructions?.trim();
  const declared = {
    ...(said && { instructions: said }),
    completes: completions !== undefined,
    readsResources: hasResources !== undefined,
  };
  return { ...listing, ...declared, leftOut: [...problems, ...listing.leftOut].slice(0, LEFT_OUT_MAX) };
}

/** MCP's clients do not know the extension. */
const EVENT_TYPE = z.looseObject({
  name: z.string(),
  description: z.string().optional(),
  inputSchema: z.record(z.string(), z.unknown()),
  payloadSchema: z.record(z.string(), z.unknown()),
  delivery: z.array(z.string()),
  _meta: z.record(z.string(), z.unknown()).optional(),
});

function issuesOf(item: unknown): { readonly issues?: readonly Issue[] } {
  const { error } = EVENT_TYPE.safeParse(item);
  return error ? { issues: error.issues } : {};
}

/**
 * Those that can be passed on. One that is only pushed, or posted to an address, would be lost whenever nobody listens there (docs/adr/0028), and each poll
 * would start a command anew.
 */
function polled(events: readonly ListedEvent[], { reached, oauth }: Upstream, problems: string[]): readonly ListedEvent[] {
  if (events.length === 0 || oauth) return [];
  if (reached.by === "command") {
    problems.push("its events are not passed on, because each poll would start its command");
    return [];
  }
  return events.filter((event) => {
    // One that is kept from before has passed here.
    const { name, delivery = ["poll"] } = event as ListedEvent & { readonly delivery?: readonly string[] };
    const isPolled = delivery.includes("poll");
    if (!isPolled && problems.length < LEFT_OUT_MAX) problems.push(`${name.slice(0, NAME_CHARS_MAX)} of events has no delivery by poll`);
    return isPolled;
  });
}

const WIRE = {
  tools: { method: "tools/list", key: "tools", item: specTypeSchemas.Tool },
  prompts: { method: "prompts/list", key: "prompts", item: specTypeSchemas.Prompt },
  resources: { method: "resources/list", key: "resources", item: specTypeSchemas.Resource },
  templates: { method: "resources/templates/list", key: "resourceTemplates", item: specTypeSchemas.ResourceTemplate },
  events: { method: "events/list", key: "events", item: { "~standard": { validate: issuesOf } } },
} as const;

interface ReadList {
  readonly client: Client;
  readonly timeoutMs: number;
  /** Receives items that are left out, each with the reason. */
  readonly problems: string[];
  /** Whether arguments are repeated in headers of calls. */
  readonly hasHeaders: boolean;
  readonly signal?: AbortSignal;
}

/**
 * Reads a list page by page. The MCP client's own methods answer from a cache for as long as the upstream says, so that one that is down would not be
 * noticed.
 */
async function readList<Kind extends keyof Lists>(
  kind: Kind,
  { client, timeoutMs, problems, hasHeaders, signal }: ReadList,
): Promise<Lists[Kind]> {
  const { method, item: schema } = WIRE[kind];
  const items: object[] = [];
  const pagesRead = new Set<string>();
  let cursor: string | undefined;
  let chars = 0;
  for (let pages = 0; pages < PAGES_MAX && chars <= PAGES_CHARS_MAX; pages += 1) {
    const { items: read, nextCursor } = await readPage(kind, cursor, { client, timeoutMs, ...(signal && { signal }) });
    // First, because every other reader of an item nests as deeply as it does, also on front ends, whose lists would all fail with it.
    const given = read.filter((item) => !nestsTooDeeply(item, kind, problems)).map(withoutNulls);
    const text = JSON.stringify(given);
    // A server that does not know its cursor begins again, and so does one that writes an empty cursor on its last page.
    const page = hash("sha256", JSON.stringify([nextCursor, text]));
    if (pagesRead.has(page)) return items as unknown as Lists[Kind];
    pagesRead.add(page);
    for (const item of given) {
      const { issues } = schema["~standard"].validate(item);
      const place = issues ? placeOf(issues) : hasHeaders && kind === "tools" ? wrongHeader(item as ListedTool) : undefined;
      if (place === undefined) items.push(item as object);
      else if (problems.length < LEFT_OUT_MAX) problems.push(`${nameOf(item)} of ${kind} is not as MCP requires: ${place}`);
    }
    if (nextCursor === undefined) return items as unknown as Lists[Kind];
    cursor = nextCursor;
    chars += text.length;
  }
  throw new SdkError(SdkErrorCode.ListPaginationExceeded, `${method} has no end`);
}

/**
 * Reads a page. In 2026-07-28, the client refuses all of it because of one item that MCP does not allow, or because the time is missing for which it may
 * be kept. So the items are taken from the response before the client reads the rest.
 */
async function readPage(
  kind: keyof Lists,
  cursor: string | undefined,
  { client, timeoutMs, signal }: Pick<ReadList, "client" | "timeoutMs" | "signal">,
): Promise<{ readonly items: readonly unknown[]; readonly nextCursor: string | undefined }> {
  const { method, key } = WIRE[kind];
  const page = z.looseObject({ [key]: z.array(z.never()), nextCursor: z.string().nullish() });
  const { transport } = client;
  if (!transport) throw new SdkError(SdkErrorCode.NotConnected, "Not connected");
  const { onmessage } = transport;
  let items: readonly unknown[] = [];
  transport.onmessage = (message, ...rest) => {
    const { result } = message as { readonly result?: Readonly<Record<string, unknown>> };
    const listed = result?.[key];
    if (!result || !Array.isArray(listed)) return onmessage?.(message, ...rest);
    items = listed;
    const { resultType, nextCursor } = result;
    const empty = { resultType, ...(nextCursor !== null && { nextCursor }), [key]: [], ttlMs: 0, cacheScope: "private" };
    onmessage?.({ ...message, result: empty } as never, ...rest);
  };
  try {
    const params = cursor === undefined ? {} : { cursor };
    const { nextCursor } = (await client.request({ method, params }, page, { timeout: timeoutMs, ...(signal && { signal }) })) as {
      readonly nextCursor?: string | null;
    };
    return { items, nextCursor: nextCursor ?? undefined };
  } finally {
    if (onmessage) transport.onmessage = onmessage;
  }
}

function nestsTooDeeply(item: unknown, kind: keyof Lists, problems: string[]): boolean {
  if (!isTooDeep(item)) return false;
  if (problems.length < LEFT_OUT_MAX) problems.push(`${nameOf(item)} of ${kind} nests deeper than ${STORED_DEPTH_MAX} levels`);
  return true;
}

function isTooDeep(item: unknown): boolean {
  try {
    return jsonExceeds(JSON.stringify(item), { depthMax: STORED_DEPTH_MAX, valuesMax: Infinity }) !== undefined;
  } catch {
    // Parsing takes less of the stack than serializing.
    return true;
  }
}

function nameOf(item: unknown): string {
  const { name } = (item ?? {}) as { name?: unknown };
  return typeof name === "string" ? name.slice(0, NAME_CHARS_MAX) : "an item";
}

interface Issue {
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

function placeOf([first]: readonly Issue[]): string {
  const keys = (first?.path ?? []).map((part) => String(typeof part === "object" ? part.key : part));
  return `/${keys.join("/")}`.slice(0, NAME_CHARS_MAX);
}

/** `deployment`: items that have passed through it are left out. */
export function boundedListing(given: Lists, upstream: Upstream, deployment?: string): Lists & Pick<Listing, "leftOut"> {
  const { bounded, leftOut } = createBounds(upstream, deployment);
  return {
    tools: bounded(given.tools.map(ofTool), named("tool", TOOLS_MAX, upstream)),
    prompts: bounded(given.prompts.map(ofPrompt), named("prompt", PROMPTS_MAX, upstream)),
    resources: bounded(
      given.resources.map(ofResource),
      addressed("resource", RESOURCES_MAX, ({ uri }) => uri),
    ),
    templates: bounded(
      given.templates.map(ofTemplate),
      addressed("template", TEMPLATES_MAX, ({ uriTemplate }) => uriTemplate),
    ),
    events: bounded(given.events.map(ofEvent), named("event type", EVENT_TYPES_MAX, upstream)),
    leftOut,
  };
}

// ── bounds ───────────────────────────────────────────────────────────────────────────────────────────────────────

interface Bounds<Item> {
  readonly kind: string;
  readonly most: number;
  /** What identifies the item. */
  readonly key: (item: Item) => string;
  /** The reason why the item itself cannot be offered. */
  readonly problem: (item: Item) => string | undefined;
}

type Named = { readonly name: string; readonly _meta?: JsonObject };

/** One limit of characters for all kinds of items. */
function createBounds({ offers }: Upstream, deployment: string | undefined) {
  const leftOut: string[] = [];
  let chars = 0;

  function bounded<Item extends Named>(items: readonly Item[], { kind, most, key, problem }: Bounds<Item>): Item[] {
    const kept = new Map<string, Item>();
    for (const item of items) {
      if (!offers(item.name)) continue;
      const leaveOut = (why: string) => leftOut.length < LEFT_OUT_MAX && leftOut.push(`${key(item).slice(0, NAME_CHARS_MAX)} ${why}`);
      const size = JSON.stringify(item).length;
      const wrong = problem(item) ?? viaProblem(item, deployment);
      if (wrong !== undefined) leaveOut(wrong);
      else if (kept.has(key(item))) leaveOut("is listed twice");
      else if (kept.size >= most) leaveOut(`exceeds the limit of ${most} ${kind}s for one upstream`);
      else if (chars + size > LISTING_CHARS_MAX) leaveOut(`exceeds the limit of ${LISTING_CHARS_MAX} characters for one listing`);
      else {
        kept.set(key(item), item);
        chars += size;
      }
    }
    return [...kept.values()];
  }

  return { bounded, leftOut };
}

function named(kind: "tool" | "prompt" | "event type", most: number, { prefix }: Upstream): Bounds<Named> {
  return {
    kind,
    most,
    key: ({ name }) => name,
    problem: ({ name }) =>
      NAME.test(`${prefix}${name}`)
        ? undefined
        : `has, with its prefix, an invalid name for a ${kind}: expected 1 to 128 of A-Z a-z 0-9 _ - . /`,
  };
}

function addressed<Item>(kind: string, most: number, key: (item: Item) => string): Bounds<Item> {
  return {
    kind,
    most,
    key,
    problem: (item) =>
      key(item).length <= URI_CHARS_MAX && URI.test(key(item)) ? undefined : `is not a uri of at most ${URI_CHARS_MAX} characters`,
  };
}

// ── the members of items that are kept ───────────────────────────────────────────────────────────────────────────

function ofTool({ name, title, description, inputSchema, outputSchema, annotations, icons, _meta, execution }: ListedTool): ListedTool {
  const { taskSupport } = execution ?? {};
  const asTask = taskSupport === "required" || taskSupport === "optional" ? { taskSupport } : undefined;
  return plain({ name, title, description, inputSchema, outputSchema, annotations, icons, _meta, execution: asTask } as ListedTool);
}

function ofPrompt({ name, title, description, arguments: given, icons, _meta }: ListedPrompt): ListedPrompt {
  const args = given
    ?.slice(0, ARGUMENTS_MAX)
    .map((each) => ({ name: each.name, title: each.title, description: each.description, required: each.required }));
  return plain({ name, title, description, arguments: args, icons, _meta } as ListedPrompt);
}

function ofResource(given: ListedResource): ListedResource {
  return plain({ uri: given.uri, size: given.size, ...factsOf(given) } as ListedResource);
}

function ofTemplate(given: ListedTemplate): ListedTemplate {
  return plain({ uriTemplate: given.uriTemplate, ...factsOf(given) } as ListedTemplate);
}

function ofEvent({ name, description, inputSchema, payloadSchema, _meta }: ListedEvent): ListedEvent {
  return plain({ name, description, inputSchema, payloadSchema, _meta } as ListedEvent);
}

function factsOf({ name, title, description, mimeType, annotations, icons, _meta }: ListedFacts): object {
  return { name, title, description, mimeType, annotations, icons, _meta };
}

/** Drops members that are undefined. */
function plain<Item>(item: Item): Item {
  return JSON.parse(JSON.stringify(item)) as Item;
}
