/**
 * What a protocol revision exports. A revision is a folder with one object of this kind; a method that it does not have is absent from
 * its table of methods, never refused by comparing versions.
 *
 * All of it is pure: no I/O, no clock, no state. Front ends pass in what they parsed and write out what they get.
 */
import type { Tool } from "@parley/core";
import type { Reply, RequestId } from "./json-rpc.ts";

export type ProgressToken = string | number;

/** Header names in lower case, as Node gives them. */
export type Headers = { readonly [name: string]: string | readonly string[] | undefined };

export interface Inbound {
  readonly headers: Headers;
  /** The parsed body. Bound its depth first: see `jsonDepthExceeds`. */
  readonly body: unknown;
  /** The served tool of that name. */
  tool(name: string): Tool | undefined;
}

export type Decoded<Intent> =
  | { readonly type: "request"; readonly id: RequestId; readonly method: string; readonly intent: Intent }
  /** Answer with 202 and no body. */
  | { readonly type: "notification"; readonly method: string }
  | ({ readonly type: "rejected" } & Reply);

/** What a deployment says about itself, the same in every reply. */
export interface ServerFacts {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
  readonly instructions?: string;
  /** How often a client may ask for a task's state. */
  readonly pollIntervalMs: number;
  /** How long clients may keep lists and `server/discover`. */
  readonly listTtlMs: number;
  /** Entries per page of a list. */
  readonly pageSize: number;
}

export interface Dialect<Intent, Encoder> {
  readonly version: string;
  /** True when the request says that it is of this revision, however badly the rest of it is formed: it gets this revision's errors. */
  claims(inbound: Pick<Inbound, "headers" | "body">): boolean;
  decode(inbound: Inbound): Decoded<Intent>;
  encoder(facts: ServerFacts): Encoder;
}
