/**
 * How somebody must have been identified for their answer to count, if the question says so.
 *
 *   by          the door: `token`, anything but the host of a model; `login`, a page on which they have logged in with their browser
 *   withinMs    how long ago they may have logged in, as their provider states it (auth_time)
 *   acr, amr    how: one of these classes, all of these methods, in the provider's own words
 *
 *   A1  What a provider does not state is not met.
 *   A2  Every answer needs it, also a decline: it settles the question as well.
 *   A3  It says nothing about who may answer. The policy decides both (policy.ts).
 */
import { assuranceOf, type Caller } from "./caller.ts";
import { type Ask, type AskAbout, ASSURANCES, type RequiredAssurance, type Violation } from "../task.ts";

/** Maximum number of values of `acr` and of `amr`, and maximum characters of each. */
export const ASSURANCE_VALUES_MAX = 10;
export const ASSURANCE_CHARS_MAX = 256;
/** A login must leave time to read and answer. */
export const WITHIN_MIN_MS = 60_000;
export const WITHIN_MAX_MS = 31 * 86_400_000;

/** How far the clock of a provider may be ahead. */
const AHEAD_MAX_MS = 60_000;

export type Identified = Pick<Caller, "assurance" | "authenticatedBy" | "login">;
type Asked = Pick<Ask, "request">;

export function requiredOf({ request }: Asked): RequiredAssurance | undefined {
  return "about" in request ? request.about?.assurance : undefined;
}

/** What the ask requires, if this caller does not meet it now. */
export function unmet(caller: Identified, ask: Asked, nowMs: number): RequiredAssurance | undefined {
  const required = requiredOf(ask);
  return required && !meets(caller, required, nowMs) ? required : undefined;
}

export function meets(caller: Identified, { withinMs, acr, amr, ...required }: RequiredAssurance, nowMs: number): boolean {
  if (!isThroughDoor(caller, required)) return false;
  const { login = {} } = caller;
  if (withinMs !== undefined) {
    const agoMs = nowMs - (login.atMs ?? -Infinity);
    if (agoMs > withinMs || agoMs < -AHEAD_MAX_MS) return false;
  }
  if (acr && !(login.acr !== undefined && acr.includes(login.acr))) return false;
  return !amr || amr.every((method) => login.amr?.includes(method) === true);
}

/** Whether an answer could come through the caller's door at all: no new login helps otherwise. */
export function isThroughDoor(caller: Pick<Identified, "assurance" | "authenticatedBy">, { by }: Pick<RequiredAssurance, "by">): boolean {
  const given = assuranceOf(caller);
  return given !== undefined && ASSURANCES.indexOf(given) >= ASSURANCES.indexOf(by);
}

/** Such as `a login in a browser, at most 5 minutes ago, by the methods mfa`. */
export function assuranceText({ by, withinMs, acr, amr }: RequiredAssurance): string {
  const parts = [
    by === "login" ? "a login in a browser" : "a client of the person who answers, and not a model",
    ...(withinMs === undefined ? [] : [`at most ${timeText(withinMs)} ago`]),
    ...(acr ? [`of the class ${acr.join(" or ")}`] : []),
    ...(amr ? [`by ${amr.join(" and ")}`] : []),
  ];
  return parts.join(", ");
}

const UNITS = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
] as const;

/** Exact: in the largest unit of which it is a whole number. */
function timeText(ms: number): string {
  const [unit, size] = UNITS.find(([, each]) => ms % each === 0) ?? (["millisecond", 1] as const);
  const count = ms / size;
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}

/** The sentence of a refusal, with the door that would do. `page`: where that is known. */
export function assuranceRefusal(required: RequiredAssurance, page: string | undefined): string {
  const where = page === undefined ? "on the question's page or in the inbox" : `on the page ${page}`;
  const how = required.by === "login" ? ", after logging in there" : "";
  return `the answer needs ${assuranceText(required)}: answer ${where}${how}`;
}

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
