/**
 * What every revision exports, in either family: how its requests read, and how a server of it says what it has to say.
 *
 *   body ─▶ decode ─▶ intent ─▶ (front end) ─▶ core's values ─▶ encoder ─▶ result, notification, error
 *
 * A revision is a folder with one object of this kind. A method that it does not have is absent from its table of methods, never refused by
 * comparing versions. All of it is pure: no I/O, no clock, no state. Front ends pass in what they parsed and write out what they get.
 */
import type { Announcement, Catalogue, FeedItem, JsonObject, ResourceContents } from "@parley/core";
import type { Failure } from "./failures.ts";
import type { Intent, Wants } from "./intents.ts";
import type { Reply, RequestId, RpcNotification } from "./json-rpc.ts";
import type { ServerFacts } from "./server-facts.ts";

export interface Dialect<Inbound, Message, Says extends Encoder> {
  readonly version: string;
  decode(inbound: Inbound): Message;
  /** Once per process. */
  encoder(facts: ServerFacts): Says;
}

/** What any revision reads as a request. A family adds what else it reads, and what else its requests say. */
export interface Request<Wanted extends Intent> {
  readonly type: "request";
  readonly id: RequestId;
  readonly method: string;
  readonly intent: Wanted;
  readonly wants: Wants;
}

export type Rejected = { readonly type: "rejected" } & Reply;

/**
 * What a server of any revision says. Answers to requests are `result` members, to be put into `resultMessage(id, …)`; notifications are whole
 * messages. A family adds what its own methods are answered with.
 */
export interface Encoder {
  /** One page. Throws ParleyError INVALID_CURSOR. The same for the other three lists. */
  toolList(catalogue: Catalogue, cursor?: string): object;
  promptList(catalogue: Catalogue, cursor?: string): object;
  resourceList(catalogue: Catalogue, cursor?: string): object;
  templateList(catalogue: Catalogue, cursor?: string): object;
  resourceContents(contents: readonly ResourceContents[]): object;
  /** Sends the first 100 values and says whether there are more. */
  completion(values: readonly string[]): object;
  /** A tool's own result, `isError` or not, as the answer to tools/call. */
  callResult(result: JsonObject): object;
  /** A prompt's own result as the answer to prompts/get. */
  promptResult(result: JsonObject): object;

  /**
   * A feed item for the stream of the call that it belongs to; nothing when its client did not ask for that kind or level. `taskId` where the
   * client knows the task: revisions that relate messages to tasks name it.
   */
  feedNotification(item: FeedItem, wants: Wants, taskId?: string): RpcNotification | undefined;

  /** That a list or a resource has changed. `subscriptionId` in a stream of subscriptions/listen. */
  changed(announcement: Announcement, subscriptionId?: RequestId): RpcNotification;

  /** The reply to a request whose handling threw. See `isDefect` for what must be logged under `defectId`. */
  failure(failure: Failure): Reply;
}
