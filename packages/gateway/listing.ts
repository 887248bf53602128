/** What an upstream offers, as it says itself, within bounds. Kept as JSON where front ends and workers find it. */
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

export interface Listing {
  readonly tools: readonly ListedTool[];
  /** Tools that cannot be offered, and why. */
  readonly leftOut: readonly string[];
}

/** Of one upstream: tools, and characters of JSON in all. */
export const TOOLS_MAX = 1_000;
export const LISTING_CHARS_MAX = 4_000_000;
/** With the prefix; what may stand in a name (specification 2025-11-25, server/tools). */
const NAME = /^[A-Za-z0-9_./-]{1,128}$/;

/** Throws what the client throws. */
export async function readListing({ client }: UpstreamSession, upstream: Upstream): Promise<Listing> {
  if (!client.getServerCapabilities()?.tools) return { tools: [], leftOut: [] };
  const { tools } = await client.listTools(undefined, { timeout: upstream.connectTimeoutMs });
  return boundedListing(tools as readonly ListedTool[], upstream);
}

export function boundedListing(tools: readonly ListedTool[], { prefix, offers }: Upstream): Listing {
  const kept = new Map<string, ListedTool>();
  const leftOut: string[] = [];
  let chars = 0;
  const leave = (tool: string, why: string) => leftOut.length < 20 && leftOut.push(`${tool.slice(0, 128)} ${why}`);
  for (const { name, title, description, inputSchema, outputSchema, annotations, icons, _meta } of tools) {
    if (!offers(name)) continue;
    const tool = JSON.parse(
      JSON.stringify({ name, title, description, inputSchema, outputSchema, annotations, icons, _meta }),
    ) as ListedTool;
    const size = JSON.stringify(tool).length;
    if (!NAME.test(`${prefix}${name}`)) leave(name, "has, with its prefix, no name that a tool may have: 1 to 128 of A-Z a-z 0-9 _ - . /");
    else if (kept.has(name)) leave(name, "is listed twice");
    else if (kept.size >= TOOLS_MAX) leave(name, `is beyond the ${TOOLS_MAX} tools that an upstream may have`);
    else if (chars + size > LISTING_CHARS_MAX) leave(name, `is beyond the ${LISTING_CHARS_MAX} characters that a listing may have`);
    else {
      kept.set(name, tool);
      chars += size;
    }
  }
  return { tools: [...kept.values()], leftOut };
}
