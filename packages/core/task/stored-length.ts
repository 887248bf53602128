/** The limit on values that are stored: arguments, questions, answers, results. */
import { ParleyError } from "../errors.ts";
import { isSurelyLonger } from "../values/json-length.ts";

/** Up to this multiple of the limit, the error has the exact length: it helps the author, and costs little. */
const FAR = 4;

/** Whether the JSON of a value is much longer than `max`. Looks at no more of it than tells. */
export function isFarTooLong(value: unknown, max: number): boolean {
  return isSurelyLonger(value, FAR * max);
}

/** Throws TOO_LARGE for a value whose JSON is much longer than `max`. What is not refused must still be measured. */
export function assertNotFarTooLong(what: string, value: unknown, max: number): void {
  if (!isFarTooLong(value, max)) return;
  throw tooLong(what, `more than ${FAR * max}`, max);
}

export function tooLong(what: string, length: string | number, max: number): ParleyError {
  return new ParleyError("TOO_LARGE", `${what} has ${length} characters of JSON; the limit is ${max} (PARLEY_STORED_VALUE_MAX)`);
}
