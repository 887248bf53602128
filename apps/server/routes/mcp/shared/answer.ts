import { unmasked } from "@parley/core";
import { type Intent, type Reply, resultMessage } from "@parley/protocol";
import type { Exchange } from "../../../front-end/exchange.ts";
import type { FrontEnd } from "../../../front-end/front-end.ts";
import { reportDefect } from "./defects.ts";

/** The `result` of the answer, or ANSWERED. What is thrown becomes the error. */
export type Handled = object | typeof ANSWERED;

/** The handler has answered or will answer later, or the client has left. */
export const ANSWERED = Symbol("answered");

/** Sends what comes of a request: the result of its handler, or the error that this threw. Never throws. */
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

interface Failed {
  readonly intent?: Intent;
  readonly error: unknown;
  /** The task behind the request, for the log. */
  readonly taskId?: string;
}

export function answerFailure(frontEnd: FrontEnd, exchange: Exchange, failed: Failed): void {
  exchange.channel.answer(failureReply(frontEnd, exchange, failed));
}

/** The answer to a request that failed. A defect is logged, and shown to the caller only where the settings say so. */
export function failureReply(frontEnd: FrontEnd, { id, method, encode }: Exchange, { intent, error, taskId }: Failed): Reply {
  const defectId = reportDefect(frontEnd, error, { method, ...(taskId !== undefined && { taskId }) });
  const shown = unmasked(error, { defectId, showErrors: frontEnd.services.settings.showErrors });
  return encode.failure({ id, ...(intent && { intent }), error: shown, defectId });
}
