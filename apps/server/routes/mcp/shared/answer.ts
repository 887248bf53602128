import { type Intent, resultMessage } from "@parley/protocol";
import type { Exchange } from "../../../front-end/exchange.ts";
import type { FrontEnd } from "../../../front-end/front-end.ts";
import { reportDefect } from "./defects.ts";

/** The `result` of the answer, or ANSWERED. What is thrown becomes the error. */
export type Handled = object | typeof ANSWERED;

/** The handler has answered, or goes on to by itself, or nobody is there any more to be answered. */
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

export function answerFailure(
  frontEnd: FrontEnd,
  { id, method, encode, channel }: Exchange,
  { intent, error }: { readonly intent?: Intent; readonly error: unknown },
): void {
  channel.answer(encode.failure({ id, ...(intent && { intent }), error, defectId: reportDefect(frontEnd, error, { method }) }));
}
