import { LONGEST_TIMER_MS, ParleyError } from "@parley/core";
import type { FrontEnd } from "../../../front-end/front-end.ts";

/** The result of an author's code that runs on a front end, which may never end. Throws CALL_TIMEOUT. */
export async function inTime<T>({ times: { callTimeoutMs } }: Pick<FrontEnd, "times">, what: string, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const giveUp = () => late.reject(new ParleyError("CALL_TIMEOUT", `${what} did not finish within ${callTimeoutMs} ms`));
  const timer = setTimeout(giveUp, Math.min(callTimeoutMs, LONGEST_TIMER_MS));
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
