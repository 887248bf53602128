/** What an upstream offers, as it says itself, within bounds. Kept as JSON where front ends and workers find it. */
import { ProtocolError } from "@modelcontextprotocol/client";
import type { JsonObject } from "@parley/core";
import type { UpstreamSession } from "./upstream-session.ts";
import type { Upstream } from "./upstreams.ts";

export interface ListedTool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations?: JsonObject;
  readonly icons?: readonly JsonObject[];
  readonly _meta?: JsonObject;
}

export interface ListedPrompt {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly arguments?: readonly ListedArgument[];
}

export interface ListedArgument {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly required?: boolean;
}

export interface Listing {
  readonly tools: readonly ListedTool[];
  readonly prompts: readonly ListedPrompt[];
  /** What cannot be offered, and why. */
  readonly leftOut: readonly string[];
}

/** Of one upstream: tools, prompts, arguments of a prompt, and characters of JSON in all. */
export const TOOLS_MAX = 1_000;
export const PROMPTS_MAX = 1_000;
export const ARGUMENTS_MAX = 100;
export const LISTING_CHARS_MAX = 4_000_000;
/** With the prefix; what may stand in a name (specification 2025-11-25, server/tools). */
const NAME = /^[A-Za-z0-9_./-]{1,128}$/;

/** Throws what the client throws where tools cannot be listed; prompts that cannot be are none, and told. */
export async function readListing({ client }: UpstreamSession, upstream: Upstream): Promise<Listing> {
  const { tools: hasTools, prompts: hasPrompts } = client.getServerCapabilities() ?? {};
  const options = { timeout: upstream.connectTimeoutMs };
  const { tools } = hasTools ? await client.listTools(undefined, options) : { tools: [] };
  const problems: string[] = [];
  const readPrompts = async () => {
    try {
      return await client.listPrompts(undefined, options);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      problems.push(`prompts were promised, and listing them fails with ${error.code}`);
      return { prompts: [] };
    }
  };
  const { prompts } = hasPrompts ? await readPrompts() : { prompts: [] };
  const listing = boundedListing({ tools: tools as readonly ListedTool[], prompts: prompts as readonly ListedPrompt[] }, upstream);
  return { ...listing, leftOut: [...problems, ...listing.leftOut] };
}

export function boundedListing(given: Pick<Listing, "tools" | "prompts">, { prefix, offers }: Upstream): Listing {
  const leftOut: string[] = [];
  let chars = 0;

  function bounded<Item extends { readonly name: string }>(items: readonly Item[], kind: "tool" | "prompt", most: number): Item[] {
    const kept = new Map<string, Item>();
    const leave = (name: string, why: string) => leftOut.length < 20 && leftOut.push(`${name.slice(0, 128)} ${why}`);
    for (const item of items) {
      const { name } = item;
      if (!offers(name)) continue;
      const size = JSON.stringify(item).length;
      if (!NAME.test(`${prefix}${name}`))
        leave(name, `has, with its prefix, no name that a ${kind} may have: 1 to 128 of A-Z a-z 0-9 _ - . /`);
      else if (kept.has(name)) leave(name, "is listed twice");
      else if (kept.size >= most) leave(name, `is beyond the ${most} ${kind}s that an upstream may have`);
      else if (chars + size > LISTING_CHARS_MAX) leave(name, `is beyond the ${LISTING_CHARS_MAX} characters that a listing may have`);
      else {
        kept.set(name, item);
        chars += size;
      }
    }
    return [...kept.values()];
  }

  const tools = given.tools.map(({ name, title, description, inputSchema, outputSchema, annotations, icons, _meta }) =>
    plain({ name, title, description, inputSchema, outputSchema, annotations, icons, _meta } as ListedTool),
  );
  const prompts = given.prompts.map(({ name, title, description, arguments: args }) =>
    plain({
      name,
      title,
      description,
      arguments: args
        ?.slice(0, ARGUMENTS_MAX)
        .map((each) => ({ name: each.name, title: each.title, description: each.description, required: each.required })),
    } as ListedPrompt),
  );
  return { tools: bounded(tools, "tool", TOOLS_MAX), prompts: bounded(prompts, "prompt", PROMPTS_MAX), leftOut };
}

/** Without the members that are undefined. */
function plain<Item>(item: Item): Item {
  return JSON.parse(JSON.stringify(item)) as Item;
}
