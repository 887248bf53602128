/**
 * What a revision without sessions exports. Every request says which revision it is of and what its client can be asked; nothing comes
 * from a connection.
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
  /** The parsed body. Bound it first: see `jsonExceeds`. */
  readonly body: unknown;
  /** The served tool of that name. */
  tool(name: string): Tool | undefined;
}

export interface StatelessRequest extends Request<StatelessIntent> {
  readonly client: ClientFacts;
}

export type StatelessMessage =
  | StatelessRequest
  /** Answer with 202 and no body. */
  | { readonly type: "notification"; readonly method: string }
  | Rejected;

export interface StatelessEncoder extends Encoder {
  discover(catalogue: Catalogue): object;

  /** The answer to a call that became a task. Only for requests that declared the extension. */
  createTaskResult(task: Task): object;
  /** The answer to tasks/get: with the questions that this client can be asked. */
  detailedTask(task: Task, client: Pick<ClientFacts, "capabilities">): object;
  /**
   * The answer to tasks/update and to tasks/cancel. With `receipts`, what became of each answer is in `_meta["parley/receipts"]`, ask key →
   * `accepted`, `duplicate`, `late`, `unknown`.
   */
  acknowledgement(receipts?: ReadonlyMap<string, Receipt>): object;

  /** Asks the caller itself: at least one of the two must be there. See `requiredCapabilities` for what must not be asked. */
  inputRequired(asks: readonly Ask[], requestState?: string): object;

  /** First message of a listen stream: what was agreed to, with the task ids that exist and are the caller's. */
  acknowledged(subscriptionId: RequestId, agreed: Filter): RpcNotification;
  taskNotification(task: Task, options: Pick<ClientFacts, "capabilities"> & { readonly subscriptionId: RequestId }): RpcNotification;
  /** The answer to subscriptions/listen when the server ends the stream: its `result`. */
  listenEnd(subscriptionId: RequestId): object;
}
