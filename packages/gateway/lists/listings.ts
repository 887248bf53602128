/** The lists of all upstreams, as workers store them for all processes. */
import type { Listing } from "./listing.ts";

/** What is stored for each upstream. */
export interface StoredListing extends Listing {
  readonly atMs: number;
  /** Which parts this list has changed, besides tools, which every process announces when it begins to list. */
  readonly changed?: readonly ("prompts" | "resources")[];
  /** Why the last reading failed; the lists are then older. */
  readonly problem?: string;
}

/** Where workers store the lists of upstreams for all processes. */
export interface Listings {
  /** Returns those of the upstreams that are stored, each with its revision; the text is undefined if the revision is the known one. */
  read(known: ReadonlyMap<string, string>): Promise<ReadonlyMap<string, { readonly revision: string; readonly text?: string }>>;
  write(upstream: string, text: string): Promise<void>;
}
