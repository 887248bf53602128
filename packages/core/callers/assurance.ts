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
import { durationOf } from "../values/duration.ts";
import { type Ask, ASSURANCES, type RequiredAssurance } from "../task.ts";

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

/** Such as `a login in a browser, at most 5 minutes ago, by mfa`. */
export function assuranceText({ by, withinMs, acr, amr }: RequiredAssurance): string {
  const parts = [
    by === "login" ? "a login in a browser" : "a client of the person who answers, and not a model",
    ...(withinMs === undefined ? [] : [`at most ${durationOf(withinMs)} ago`]),
    ...(acr ? [`of the class ${acr.join(" or ")}`] : []),
    ...(amr ? [`by ${amr.join(" and ")}`] : []),
  ];
  return parts.join(", ");
}

/** The sentence of a refusal, with the door that would do. `page`: where that is known. */
export function assuranceRefusal(required: RequiredAssurance, page: string | undefined): string {
  const where = page === undefined ? "on the question's page or in the inbox" : `on the page ${page}`;
  const how = required.by === "login" ? ", after logging in there" : "";
  return `the answer needs ${assuranceText(required)}: answer ${where}${how}`;
}
