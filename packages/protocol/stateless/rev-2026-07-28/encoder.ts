/**
 * Every message that a server of 2026-07-28 sends, as pure functions of core's values. Answers to requests are `result` members, to be put
 * into `resultMessage(id, …)`; notifications are whole messages.
 */
import type { Ask, Catalogue, FeedItem, JsonObject, Receipt, ResourceContents, Task } from "@parley/core";
import type { ServerFacts } from "../../server-facts.ts";
import { feedNotification } from "../../feed.ts";
import type { Reply, RequestId, RpcNotification } from "../../json-rpc.ts";
import { callResult, inputRequired, promptResult } from "./encode-call.ts";
import { cachedLists, completion, discover, resourceContents } from "./encode-catalogue.ts";
import { acknowledged, listChanged, listenEnd, resourceUpdated, type Filter, type ListKind } from "./encode-listen.ts";
import { acknowledgement, createTaskResult, detailedTask, taskNotification } from "./encode-task.ts";
import { failure, type Failure } from "./errors.ts";
import type { ClientFacts } from "./intents.ts";
import { SERVER_INFO } from "./names.ts";

export interface Encoder {
  discover(catalogue: Catalogue): object;
  /** One page. Throws ParleyError INVALID_CURSOR. The same for the other three lists. */
  toolList(catalogue: Catalogue, cursor?: string): object;
  promptList(catalogue: Catalogue, cursor?: string): object;
  resourceList(catalogue: Catalogue, cursor?: string): object;
  templateList(catalogue: Catalogue, cursor?: string): object;
  resourceContents(contents: readonly ResourceContents[]): object;
  /** Sends the first 100 values and says whether there are more. */
  completion(values: readonly string[]): object;

  /** The answer to a call that became a task. Only for requests that declared the extension. */
  createTaskResult(task: Task): object;
  /** The answer to tasks/get. */
  detailedTask(task: Task): object;
  /** The answer to tasks/update and to tasks/cancel. */
  /** With `receipts`, what became of each answer stands in `_meta["parley/receipts"]`, ask key → `accepted`, `duplicate`, `late`, `unknown`. */
  acknowledgement(receipts?: ReadonlyMap<string, Receipt>): object;

  /** A tool's own result, `isError` or not, as the answer to tools/call. */
  callResult(result: JsonObject): object;
  /** A prompt's own result as the answer to prompts/get. */
  promptResult(result: JsonObject): object;
  /** Asks the caller itself: at least one of the two must be there. See `requiredCapabilities` for what must not be asked. */
  inputRequired(asks: readonly Ask[], requestState?: string): object;

  /** First message of a listen stream: what was agreed to, with the task ids that exist and are the caller's. */
  acknowledged(subscriptionId: RequestId, agreed: Filter): RpcNotification;
  taskNotification(task: Task, options: { readonly subscriptionId: RequestId }): RpcNotification;
  listChanged(kind: ListKind, subscriptionId: RequestId): RpcNotification;
  resourceUpdated(uri: string, subscriptionId: RequestId): RpcNotification;
  /** The answer to subscriptions/listen when the server ends the stream: its `result`. */
  listenEnd(subscriptionId: RequestId): object;

  /** A feed item for the stream of the call that it belongs to; nothing when its client did not ask for that kind or level. */
  feedNotification(item: FeedItem, wants: Pick<ClientFacts, "progressToken" | "logLevel">): RpcNotification | undefined;

  /** The reply to a request whose handling threw. See `isDefect` for what must be logged under `defectId`. */
  failure(failure: Failure): Reply;
}

export function encoder(facts: ServerFacts): Encoder {
  const meta: JsonObject = {
    [SERVER_INFO]: { name: facts.name, version: facts.version, ...(facts.title === undefined ? {} : { title: facts.title }) },
  };
  return {
    discover: (catalogue) => discover(catalogue, { facts, meta }),
    ...cachedLists({ facts, meta }),
    resourceContents: (contents) => resourceContents(contents, meta),
    completion: (values) => completion(values, meta),
    createTaskResult: (task) => createTaskResult(task, { facts, meta }),
    detailedTask: (task) => detailedTask(task, { facts, meta }),
    acknowledgement: (receipts) => acknowledgement(meta, receipts),
    callResult: (result) => callResult(result, meta),
    promptResult: (result) => promptResult(result, meta),
    inputRequired: (asks, requestState) => inputRequired(asks, { meta, requestState }),
    acknowledged,
    taskNotification: (task, { subscriptionId }) => taskNotification(task, { facts, subscriptionId }),
    listChanged,
    resourceUpdated,
    listenEnd: (subscriptionId) => listenEnd(subscriptionId, meta),
    feedNotification: (item, wants) => feedNotification(item, wants),
    failure: (thrown) => failure(thrown, meta),
  };
}
