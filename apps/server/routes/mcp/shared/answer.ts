import { unmasked } from "@parley/core";
import { type Intent, type Reply, resultMessage } from "@parley/protocol";
import type { Exchange } from "../../../front-end/exchange.ts";
import type { FrontEnd } from "../../../front-end/front-end.ts";
import { reportDefect } from "./defects.ts";

/** What a handler returns: the `result` of the response, or ANSWERED. An error that it throws becomes the error of the response. */
export type Handled = object | typeof ANSWERED;

/** The handler has answered by itself or will do so later, or the client has disconnected. */
export const ANSWERED = Symbol("answered");

/** Runs the handler of a request and sends its result, or the error that it threw. Never throws. */
export async function answer(
  frontEnd: FrontEnd,
  exchange: Exchange,
  { intent, handle }: { readonly intent: Intent; readonly handle: () => Handled | Promise<Handled> },
): Promise<void> {
  const { id, channel } = exchange;
  try {
    const result = await handle();
    if (result !== ANSWERED) channel.answer({ httpStatus: 200, message: resultMessage(id, result) });
  } catch (error) {
    answerFailure(frontEnd, exchange, { intent, error });
  }
}

interface Failure {
  readonly intent?: Intent;
  readonly error: unknown;
  /** The task behind the request, for the log. */
  readonly taskId?: string;
}

export function answerFailure(frontEnd: FrontEnd, exchange: Exchange, failed: Failure): void {
  exchange.channel.answer(failureReply(frontEnd, exchange, failed));
}

/** The answer to a request that failed. A defect is logged; the caller sees its message only if PARLEY_SHOW_ERRORS allows it. */
export function failureReply(frontEnd: FrontEnd, { id, method, encode }: Exchange, { intent, error, taskId }: Failure): Reply {
  const defectId = reportDefect(frontEnd, error, { method, ...(taskId !== undefined && { taskId }) });
  const shown = unmasked(error, { defectId, showErrors: frontEnd.services.settings.showErrors });
  return encode.failure({ id, ...(intent && { intent }), error: shown, defectId });
}
