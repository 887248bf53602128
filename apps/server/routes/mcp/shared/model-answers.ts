/** An answer that comes by a tool, so through the model of a client or its host: judged by one policy (asks-for-models.ts), whichever tool it was. */
import { isDeepStrictEqual } from "node:util";
import {
  answerTask,
  type Caller,
  getOwnTask,
  isCounted,
  type JsonObject,
  may,
  noteAudit,
  ParleyError,
  readAsk,
  type Receipt,
  SCOPES,
  type SettledRead,
  type Task,
  toolOf,
} from "@parley/core";
import { isObject } from "@parley/protocol";
import type { Exchange } from "../../../front-end/exchange.ts";
import type { FrontEnd } from "../../../front-end/front-end.ts";
import { loginPageOf } from "../../../front-end/page-addresses.ts";
import { requireScopes } from "../../../front-end/protected-resource.ts";
import { isForModel } from "./asks-for-models.ts";

export interface ToolAnswer {
  readonly taskId: string;
  /** The key of the ask. */
  readonly key: string;
  readonly reply: { readonly action: "accept"; readonly content: JsonObject } | { readonly action: "decline" };
}

/** `for_page`: only a page takes the answer. `late` with `end`: how the question ended. */
export type Became =
  | Exclude<Receipt, { readonly type: "late" }>
  | { readonly type: "late"; readonly end: SettledRead }
  | { readonly type: "for_page"; readonly page: string | undefined };

/** Whether the question waits for the caller, but not for an answer that a model passes on. */
function isElsewhere({ asksOfOthers = [] }: Task, key: string): boolean {
  return asksOfOthers.some((ask) => ask.key === key && ask.elsewhere === true);
}

/** Throws TASK_NOT_FOUND, INVALID_ARGUMENTS and the errors of quotas and scopes. */
export async function takeAnswer(route: FrontEnd, exchange: Exchange, { taskId, key, reply }: ToolAnswer): Promise<Became> {
  const { services, rates } = route;
  const { catalogue, door } = exchange;
  // What the host says that the person said.
  const caller: Caller = { ...exchange.caller, assurance: "model" };
  allow(route, exchange, [SCOPES.read, SCOPES.answer]);
  if (isCounted(caller)) await rates.take(caller, { answers: 1 });
  const task = await getOwnTask(services, { taskId, caller });
  const ask = task.asks.find((open) => open.key === key);
  const ofOthers = task.asksOfOthers?.find((open) => open.key === key);
  if (ofOthers && !may(caller, "answer", task, ofOthers)) {
    // An auditor sees who tried: it may be the model that made the call.
    noteAudit(services, { caller, door }, () => ({ action: "answer", taskId, ...toolOf(task.call), ask: key, verdict: "forbidden" }));
    return { type: "forbidden" };
  }
  // It must not be answered unseen: what is not open cannot be judged, and may be opened by now.
  if (!ask) return isElsewhere(task, key) ? { type: "for_page", page: loginPageOf(route, { taskId, key }) } : await settled();
  if (!isForModel(ask, catalogue.tools.get(task.call.name))) return { type: "for_page", page: loginPageOf(route, { taskId, key }) };
  const { receipts } = await answerTask(services, { taskId, caller, door, replies: { [key]: reply } });
  const receipt = receipts.get(key) ?? { type: "unknown" };
  return receipt.type === "late" ? await settled() : receipt;

  async function settled(): Promise<Became> {
    const end = await readAsk(services, { taskId, key, caller, door }).catch((error: unknown) => {
      if (error instanceof ParleyError && error.code === "TASK_NOT_FOUND") return undefined;
      throw error;
    });
    if (end?.state !== "settled") return { type: "unknown" };
    return isDeepStrictEqual(end.answer, reply) ? { type: "duplicate" } : { type: "late", end };
  }
}

/** Reads what both tools take. Throws INVALID_ARGUMENTS. */
export function readAnswer(args: JsonObject, action: "accept" | "decline" = "accept"): ToolAnswer {
  const { answer: content } = args;
  const ref = { taskId: textOf(args, "taskId"), key: textOf(args, "question") };
  if (action === "decline") return { ...ref, reply: { action } };
  if (!isObject(content)) throw new ParleyError("INVALID_ARGUMENTS", "answer must be an object with the fields of the question");
  return { ...ref, reply: { action, content: content as JsonObject } };
}

/** Throws as `requireScopes` does. */
export function allow({ resource }: FrontEnd, { caller, method }: Exchange, scopes: readonly string[]): void {
  if (resource) requireScopes(caller, scopes, method);
}

const TEXT_CHARS_MAX = 500;

/** Throws INVALID_ARGUMENTS. */
export function textOf(args: JsonObject, name: string): string {
  const { [name]: value } = args;
  if (typeof value === "string" && value.length > 0 && value.length <= TEXT_CHARS_MAX) return value;
  throw new ParleyError("INVALID_ARGUMENTS", `${name} must be a text, as it was given`);
}
