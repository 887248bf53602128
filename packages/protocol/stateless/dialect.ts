/**
 * What a stateless revision exports. Every request names its revision and the capabilities of its client; nothing is taken from the connection.
 */
import type { Ask, Catalogue, Receipt, Task, Tool } from "@parley/core";
import type { Dialect, Encoder, Rejected, Request } from "../dialect.ts";
import type { Headers } from "../header-value.ts";
import type { RequestId, RpcNotification } from "../json-rpc.ts";
import type { StatelessVersion } from "../versions.ts";
import type { ClientFacts, Filter, StatelessIntent } from "./intents.ts";

export interface StatelessDialect extends Dialect<Inbound, StatelessMessage, StatelessEncoder> {
  readonly version: StatelessVersion;
}

export interface Inbound {
  readonly headers: Headers;
  /** The parsed body. Check its bounds first with `jsonExceeds`. */
  readonly body: unknown;
  /** The served tool of that name. */
  tool(name: string): Tool | undefined;
}

export interface StatelessRequest extends Request<StatelessIntent> {
  readonly client: ClientFacts;
}

export type StatelessMessage =
  | StatelessRequest
  /** To be answered with 202 and no body. */
  | { readonly type: "notification"; readonly method: string }
  | Rejected;

export interface StatelessEncoder extends Encoder {
  discover(catalogue: Catalogue): object;

  /** The answer to a call that became a task. Only for requests that declared the extension. */
  createTaskResult(task: Task): object;
  /** The answer to tasks/get, with the questions that this client can be asked. */
  detailedTask(task: Task, client: Pick<ClientFacts, "capabilities">): object;
  /**
   * The answer to tasks/update and to tasks/cancel. With `receipts`, `_meta["parley/receipts"]` has the receipt of each answer by ask key:
   * `accepted`, `duplicate`, `late` or `unknown`.
   */
  acknowledgement(receipts?: ReadonlyMap<string, Receipt>): object;
  /** The answer to a call that was retried with answers, with their receipts in the same place. */
  withReceipts(answer: object, receipts: ReadonlyMap<string, Receipt>): object;

  /** Asks the caller itself. Needs asks, `requestState`, or both. See `requiredCapabilities` for asks that must not be sent. */
  inputRequired(asks: readonly Ask[], requestState?: string): object;
  /** Lets the client come back with that state: the call is handed over to another front end, or to a later time. */
  handedOver(task: Task, requestState: string, client: Pick<ClientFacts, "capabilities">): object;

  /** The first message of a listen stream: the accepted filter, with only those task ids that exist and belong to the caller. */
  acknowledged(subscriptionId: RequestId, agreed: Filter): RpcNotification;
  taskNotification(task: Task, options: Pick<ClientFacts, "capabilities"> & { readonly subscriptionId: RequestId }): RpcNotification;
  /** The `result` of subscriptions/listen, sent when the server ends the stream. */
  listenEnd(subscriptionId: RequestId): object;
}
