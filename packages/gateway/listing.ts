/** What an upstream offers, in its own words and within bounds. Stored as JSON where front ends and workers find it. */
import { type ClientCapabilities, ProtocolError } from "@modelcontextprotocol/client";
import type { JsonObject } from "@parley/core";
import { NOT_SUPPORTED } from "./question.ts";
import type { UpstreamSession } from "./upstream-session.ts";
import type { Upstream } from "./upstreams.ts";
import { viaProblem } from "./via.ts";

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

/** The shape of each kind of listed item. */
interface Lists {
  readonly tools: readonly ListedTool[];
  readonly prompts: readonly ListedPrompt[];
  readonly resources: readonly ListedResource[];
  readonly templates: readonly ListedTemplate[];
}

export interface Listing extends Lists {
  /** Whether the upstream completes arguments of prompts and templates. */
  readonly completes: boolean;
  /** Items that cannot be offered, each with the reason. */
  readonly leftOut: readonly string[];
}

/** Limits of one upstream: tools, prompts, arguments of a prompt, resources, templates, characters of a uri, and characters of JSON in total. */
export const TOOLS_MAX = 1_000;
export const PROMPTS_MAX = 1_000;
export const RESOURCES_MAX = 1_000;
export const TEMPLATES_MAX = 1_000;
export const URI_CHARS_MAX = 2_048;
export const ARGUMENTS_MAX = 100;
export const LISTING_CHARS_MAX = 4_000_000;
/** A valid name, prefix included (specification 2025-11-25, server/tools). */
const NAME = /^[A-Za-z0-9_./-]{1,128}$/;

/** A scheme, then only characters that a uri can have, and the braces of templates, which only the upstream interprets. */
const URI = /^[A-Za-z][A-Za-z0-9+.-]*:[^\s\p{Cc}]+$/u;

/** Of the session in which lists are read: some servers list a tool only to clients that declare the capabilities it needs. */
export const LISTING_CAPABILITIES: ClientCapabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

/** Throws what the client throws if tools cannot be listed. Other lists that cannot be read are empty and reported as problems. */
export async function readListing({ client }: UpstreamSession, upstream: Upstream, deployment?: string): Promise<Listing> {
  const { tools: hasTools, prompts: hasPrompts, resources: hasResources, completions } = client.getServerCapabilities() ?? {};
  const options = { timeout: upstream.connectTimeoutMs };
  const { tools } = hasTools ? await client.listTools(undefined, options) : { tools: [] };
  const problems: string[] = [];
  async function listed<Of>(what: string, isPromised: object | undefined, none: Of, list: () => Promise<Of>): Promise<Of> {
    if (!isPromised) return none;
    try {
      return await list();
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      problems.push(`${what} are declared, but listing them fails with ${error.code}`);
      return none;
    }
  }
  const { prompts } = await listed("prompts", hasPrompts, { prompts: [] }, () => client.listPrompts(undefined, options));
  const { resources } = await listed("resources", hasResources, { resources: [] }, () => client.listResources(undefined, options));
  // Servers that have none need not know the method.
  const { resourceTemplates: templates } = await listed("templates", hasResources, { resourceTemplates: [] }, async () => {
    try {
      return await client.listResourceTemplates(undefined, options);
    } catch (error) {
      if (error instanceof ProtocolError && error.code === NOT_SUPPORTED) return { resourceTemplates: [] };
      throw error;
    }
  });
  const listing = boundedListing({ tools, prompts, resources, templates } as unknown as Lists, upstream, deployment);
  return { ...listing, completes: completions !== undefined, leftOut: [...problems, ...listing.leftOut] };
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
      const leaveOut = (why: string) => leftOut.length < 20 && leftOut.push(`${key(item).slice(0, 128)} ${why}`);
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

function named(kind: "tool" | "prompt", most: number, { prefix }: Upstream): Bounds<Named> {
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

function factsOf({ name, title, description, mimeType, annotations, icons, _meta }: ListedFacts): object {
  return { name, title, description, mimeType, annotations, icons, _meta };
}

/** Drops members that are undefined. */
function plain<Item>(item: Item): Item {
  return JSON.parse(JSON.stringify(item)) as Item;
}
