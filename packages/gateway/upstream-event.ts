/** What happens at an upstream, as the journal of a task keeps it. */
import type { Answer, AskRequest, Json, JsonObject } from "@parley/core";

/** A question on its way to the task, as its journal keeps it. */
export interface Question {
  /** Of the ask: unique in the task. */
  readonly key: string;
  /** Of the call that asks, and of the question in it. */
  readonly from: string;
  readonly id: string;
  readonly digest: string;
  readonly request: AskRequest;
  readonly timeoutMs: number;
}

export interface Given {
  readonly question: Question;
  readonly answer: Answer;
}

export type UpstreamEvent =
  | { readonly type: "asked"; readonly questions: readonly Question[] }
  /** `state` is the upstream's own, to be sent back as it is; with `refused` the call was none, and is made anew (−32042). */
  | {
      readonly type: "required";
      readonly questions: readonly Question[];
      readonly state?: string;
      readonly refused?: UpstreamFailure;
      readonly task?: FollowedTask;
    }
  | { readonly type: "result"; readonly result: JsonObject }
  | { readonly type: "error"; readonly error: UpstreamFailure }
  /** It refused the caller's access token, before it did anything. */
  | { readonly type: "unauthorized" }
  /** There is no access token any more: what the caller granted has ended. */
  | { readonly type: "expired" }
  | { readonly type: "lost" | "unavailable" | "timeout" | "invalid" | "large" | "busy"; readonly message: string };

/** A task of the upstream: it is looked at again with the answers, or when `pollMs` are over. */
export interface FollowedTask {
  readonly id: string;
  readonly pollMs: number;
  /** It waits for an answer, and was not heard to ask anything: such as when it was heard by a worker that died before it could record it. */
  readonly isUnheard?: boolean;
}

/** A JSON-RPC error of the upstream, as it came. */
export interface UpstreamFailure {
  readonly code: number;
  readonly message: string;
  readonly data?: Json;
}
