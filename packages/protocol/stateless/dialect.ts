/**
 * What a stateless revision exports. Every request says by itself which revision it is of and what its client can be asked; nothing comes
 * from a connection. A revision is a folder with one object of this kind; a method that it does not have is absent from its table of
 * methods, never refused by comparing versions.
 *
 * All of it is pure: no I/O, no clock, no state. Front ends pass in what they parsed and write out what they get.
 */
import type { Tool } from "@parley/core";
import type { Headers } from "../header-value.ts";
import type { Reply, RequestId } from "../json-rpc.ts";
import type { ServerFacts } from "../server-facts.ts";
import type { StatelessVersion } from "../versions.ts";

export interface Inbound {
  readonly headers: Headers;
  /** The parsed body. Bound it first: see `jsonExceeds`. */
  readonly body: unknown;
  /** The served tool of that name. */
  tool(name: string): Tool | undefined;
}

export type Decoded<Intent> =
  | { readonly type: "request"; readonly id: RequestId; readonly method: string; readonly intent: Intent }
  /** Answer with 202 and no body. */
  | { readonly type: "notification"; readonly method: string }
  | ({ readonly type: "rejected" } & Reply);

export interface Dialect<Intent, Encoder> {
  readonly version: StatelessVersion;
  /** True when the request says that it is of this revision, however badly the rest of it is formed: it gets this revision's errors. */
  claims(inbound: Pick<Inbound, "headers" | "body">): boolean;
  decode(inbound: Inbound): Decoded<Intent>;
  encoder(facts: ServerFacts): Encoder;
}
