/** The events of a call at an upstream, as the journal of a task stores them. */
import type { Answer, AskRequest, Json, JsonObject } from "@parley/core";

/** A question for the task, as its journal stores it. */
export interface Question {
  /** The key of the ask, unique in the task. */
  readonly key: string;
  /** The call that asks, and the question in it. */
  readonly from: string;
  readonly id: string;
  readonly digest: string;
  readonly request: AskRequest;
  /** Of a page for a secret: the field of the upstream's form that it belongs to. */
  readonly secretField?: string;
  /** Of a page: the upstream's name for the visit, by which it reports later that the page was completed. */
  readonly elicitationId?: string;
  readonly timeoutMs: number;
}

export interface Given {
  readonly question: Question;
  readonly answer: Answer;
}

export type UpstreamEvent =
  | { readonly type: "asked"; readonly questions: readonly Question[] }
  /** `state` is the upstream's and is sent back unchanged. `refused`: the call did not begin and is made again (−32042). */
  | {
      readonly type: "required";
      readonly questions: readonly Question[];
      readonly state?: string;
      readonly refused?: UpstreamFailure;
      readonly task?: FollowedTask;
      /** It waits for people whom only the upstream can ask, and has done so for that long in this call. */
      readonly waitedMs?: number;
    }
  | { readonly type: "result"; readonly result: JsonObject }
  | { readonly type: "error"; readonly error: UpstreamFailure }
  /** The upstream refused the caller's access token before it did anything, or refused only an answer for it. */
  | { readonly type: "unauthorized" }
  /** The call was not made: the state that earlier calls left at the upstream is gone. `process` had it. */
  | { readonly type: "forgotten"; readonly message: string; readonly state: { readonly key: string; readonly process: string } }
  /** There is no access token: the caller's grant has ended. */
  | { readonly type: "expired" }
  | { readonly type: "lost" | "unavailable" | "timeout" | "invalid" | "large" | "busy"; readonly message: string };

/** Names the page of a question. An upstream that requires a visit again may give its url another query, such as a new elicitation id. */
export function pageOf({ digest, request }: Question): string {
  if (request.type !== "url") return digest;
  const { origin, pathname } = URL.parse(request.url) ?? {};
  return JSON.stringify([request.message, origin, pathname]);
}

/** Whether the upstream refused the call until these pages have been visited, and nothing else (−32042). */
export function requiresOnly(event: UpstreamEvent, pages: readonly string[]): boolean {
  return event.type === "required" && event.refused !== undefined && event.questions.every((question) => pages.includes(pageOf(question)));
}

/** A task of the upstream: polled again with the answers, or after `pollMs`. */
export interface FollowedTask {
  readonly id: string;
  readonly pollMs: number;
  /** Its status message, if that has changed. */
  readonly message?: string;
  /** It waits for people whom only the upstream can ask. */
  readonly isWaiting?: true;
  /** It waits for an answer to a question that was not received, for example because the worker that read it died before recording it. */
  readonly isUnheard?: boolean;
}

/** A JSON-RPC error of the upstream, unchanged. */
export interface UpstreamFailure {
  readonly code: number;
  readonly message: string;
  readonly data?: Json;
}
