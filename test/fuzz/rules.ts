/** The rules for each reply and for each run. The README has the same list. Each door, and each rule of a run, counts as one test. */

/** Judged with each reply. */
export const REPLY_RULES = {
  "server-error": "no HTTP 5xx and no internal error: no caller can bring the server to that",
  hang: "a reply comes within five seconds",
  size: "a reply is no larger than its method and the settings allow",
  dropped: "a request is answered, not cut off",
  "wrongly-accepted": "what is wrong is refused",
  "wrongly-refused": "what is right is accepted",
  shape: "a reply is what its protocol says: JSON-RPC, the request's id, a documented code, a documented status",
  closing: "a reply after which the server closes the connection says so",
  leak: "no stack trace, file path, script hash or secret in a reply",
  effect: "a request does what its reply says, and nothing else",
} as const;

/** Judged between the doors' requests and at the end. */
export const RUN_RULES = {
  alive: "no process of the deployment ends",
  pulse: "/healthz of each front end answers within 100 ms",
  lifecycle: "a call, its question, the answer and the result work all the time, in both families",
  logs: "no errors, stack traces, paths, secrets or content in the logs or metrics, and no line longer than 4,096 characters",
  pollution: "no built-in prototype has changed in any process",
  memory: "the front ends' heap is back where it was, give or take 32 MB",
  idle: "a connection on which nothing more comes is closed within three minutes (judged by runs that last longer)",
  released: "no stream, call or connection is held open when all clients have left",
  expiry: "no key without an expiry is left in Redis once every task has ended",
} as const;

export type ReplyRule = keyof typeof REPLY_RULES;
export type RunRule = keyof typeof RUN_RULES;

/** One reply that broke a rule. */
export class Broken extends Error {
  readonly rule: ReplyRule;
  /** What was sent: the method or the kind of request, and the names of the changes that were made to it. Tells findings apart. */
  readonly kind: string;
  readonly changes: readonly string[];

  constructor(
    rule: ReplyRule,
    { kind, changes, what }: { readonly kind: string; readonly changes: readonly string[]; readonly what: string },
  ) {
    super(`${rule}: ${what}`);
    this.rule = rule;
    this.kind = kind;
    this.changes = changes;
  }
}

export interface RunFinding {
  readonly rule: RunRule;
  readonly what: string;
}
