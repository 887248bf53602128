/** What a question may require of how its answerer is identified. Whether somebody meets it is decided where callers are known (callers/assurance.ts). */
import type { AskAbout, RequiredAssurance, Violation } from "../task.ts";

/** Maximum number of values of `acr` and of `amr`, and maximum characters of each. */
export const ASSURANCE_VALUES_MAX = 10;
export const ASSURANCE_CHARS_MAX = 256;
/** A login must leave time to read and answer. */
export const WITHIN_MIN_MS = 60_000;
export const WITHIN_MAX_MS = 31 * 86_400_000;

/** Tools may be written without types. */
export function assuranceProblems(given: NonNullable<AskAbout["assurance"]>): Violation[] {
  const { by, withinMs, acr, amr } = given as { readonly [name in keyof RequiredAssurance]: unknown };
  const problem = (path: string, message: string) => [{ path: `/assurance${path}`, message }];
  if (by !== "token" && by !== "login") return problem("", 'must be "token", "login" or an object with within, acr or amr');
  const problems = [
    ...(withinMs === undefined || (Number.isSafeInteger(withinMs) && Number(withinMs) >= WITHIN_MIN_MS && Number(withinMs) <= WITHIN_MAX_MS)
      ? []
      : problem("/within", "must be a time from 1 minute to 31 days, such as 15 minutes")),
    ...(acr === undefined || areValues(acr) ? [] : problem("/acr", VALUES)),
    ...(amr === undefined || areValues(amr) ? [] : problem("/amr", VALUES)),
  ];
  const isMore = withinMs !== undefined || acr !== undefined || amr !== undefined;
  return problems.length === 0 && by === "token" && isMore ? problem("", "must be by login to say more about it") : problems;
}

const VALUES = `must be a list of 1 to ${ASSURANCE_VALUES_MAX} words of the provider, each of at most ${ASSURANCE_CHARS_MAX} characters and without spaces`;

/** They are sent in a list that spaces separate (acr_values). */
function areValues(given: unknown): boolean {
  if (!Array.isArray(given) || given.length === 0 || given.length > ASSURANCE_VALUES_MAX) return false;
  return given.every((value) => typeof value === "string" && value.length <= ASSURANCE_CHARS_MAX && /^[\x21-\x7e]+$/.test(value));
}
