import type { PollInterval } from "./poll-interval.ts";

/** What a deployment says about itself, the same in every reply. */
export interface ServerFacts {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
  readonly instructions?: string;
  /** What clients are told of how often to ask for a task's state. */
  readonly pollInterval: PollInterval;
  /** How long clients may keep lists and `server/discover`. */
  readonly listTtlMs: number;
  /** Items per page of a list. */
  readonly pageSize: number;
  /** Whether callers are told apart. A server that cannot should not say that it lists tasks: the list would be everybody's. */
  readonly knowsCallers?: boolean;
}
