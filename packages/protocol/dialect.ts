/**
 * What every revision of either family exports: a decoder for its requests, and an encoder for the server's messages.
 *
 *   body ─▶ decode ─▶ intent ─▶ (front end) ─▶ core's values ─▶ encoder ─▶ result, notification, error
 *
 * A revision is a folder with one such object. A method that the revision lacks is absent from its table of methods, never refused by comparing
 * versions. Everything is pure: no I/O, no clock, no state. Front ends pass in what they parsed and write out what they get.
 */
import type { Announcement, Catalogue, ClientCapabilities, FeedItem, JsonObject, ResourceContents, Task } from "@parley/core";
import type { Failure } from "./failures.ts";
import type { Intent, Wants } from "./intents.ts";
import type { Reply, RequestId, RpcNotification } from "./json-rpc.ts";
import type { ServerFacts } from "./server-facts.ts";

export type Progress = Extract<FeedItem, { type: "progress" }>;

/** Whose call it is. */
export interface WaitingReader {
  readonly capabilities: ClientCapabilities;
  readonly wants: Wants;
}

export interface Dialect<Inbound, Message, Says extends Encoder> {
  readonly version: string;
  decode(inbound: Inbound): Message;
  /** Called once per process. */
  encoder(facts: ServerFacts): Says;
}

/** A decoded request of any revision. Each family adds members and further kinds of messages. */
export interface Request<Wanted extends Intent> {
  readonly type: "request";
  readonly id: RequestId;
  readonly method: string;
  readonly intent: Wanted;
  readonly wants: Wants;
}

export type Rejected = { readonly type: "rejected" } & Reply;

/**
 * Encodes the messages of a server of any revision. Answers to requests are `result` members, to be wrapped in `resultMessage(id, …)`;
 * notifications are whole messages. Each family adds the answers to its own methods.
 */
export interface Encoder {
  /** One page of the event types of the server and its upstreams. Throws ParleyError INVALID_CURSOR. */
  eventList(catalogue: Catalogue, cursor?: string): object;
  /** A result with this content, for requests whose answers are the same in all revisions. */
  answer(about: object): object;
  /** One page. Throws ParleyError INVALID_CURSOR. The other three lists do the same. */
  toolList(catalogue: Catalogue, cursor?: string): object;
  promptList(catalogue: Catalogue, cursor?: string): object;
  resourceList(catalogue: Catalogue, cursor?: string): object;
  templateList(catalogue: Catalogue, cursor?: string): object;
  resourceContents(contents: readonly ResourceContents[]): object;
  /** The first 100 values, and whether there are more. */
  completion(values: readonly string[]): object;
  /** A tool's own result, `isError` or not, as the answer to tools/call. */
  callResult(result: JsonObject): object;
  /** A prompt's own result as the answer to prompts/get. */
  promptResult(result: JsonObject): object;

  /**
   * A feed item for the stream of its call; undefined if the client did not ask for that kind or level. Pass `taskId` if the client knows the
   * task: revisions that relate messages to tasks name it.
   */
  feedNotification(item: FeedItem, wants: Wants, taskId?: string): RpcNotification | undefined;

  /**
   * The progress of a call that is held open while people are asked, or once others are not asked any more; undefined if the client did not ask for it.
   * Clients that cannot be asked are told whom the call waits for.
   */
  waitingNotification(task: Task, progress: Progress, reader: WaitingReader): RpcNotification | undefined;

  /** The notification that a list or a resource has changed. Pass `subscriptionId` in a stream of subscriptions/listen. */
  changed(announcement: Announcement, subscriptionId?: RequestId): RpcNotification;

  /** The reply to a request whose handling threw. See `isDefect` for what must be logged under `defectId`. */
  failure(failure: Failure): Reply;
}
