/** What was found out about upstreams, so that a call need not find it out again (U6). Kept in this process only. */
import type { PriorDiscovery } from "@modelcontextprotocol/client";
import type { ByUrl } from "../../config/upstreams.ts";

/** How to speak to an upstream. */
export interface Learned {
  readonly isSse: boolean;
  readonly speaks: "sessions" | "newest";
  readonly prior?: PriorDiscovery;
  /** The server sends no response headers on the session's own stream before the first message. */
  readonly isSilent?: boolean;
  /** It publishes events. */
  readonly hasEvents?: boolean;
}

export const OLDER: Learned = { isSse: true, speaks: "sessions" };

/** All by the name of the upstream. */
export interface Knowledge {
  readonly learned: Map<string, Learned>;
  /** Upstreams with a session whose own stream was open before its first call. If one is late, the upstream is busy: it would drop its questions. */
  readonly listening: Set<string>;
  /** Upstreams that send the messages of one session to others. */
  readonly shared: Set<string>;
  /** Of upstreams of the older transport: whether each session has its own stream, as far as two of them show (shared-stream.ts). */
  readonly compared: Map<string, Promise<boolean>>;
  /** What the file says now. */
  readonly present: Map<string, ByUrl>;
}

export function createKnowledge(): Knowledge {
  return { learned: new Map(), listening: new Set(), shared: new Set(), compared: new Map(), present: new Map() };
}

/** Another server may answer there now. */
export function forget({ learned, listening, shared, compared }: Knowledge, name: string): void {
  for (const known of [learned, listening, shared, compared]) known.delete(name);
}
