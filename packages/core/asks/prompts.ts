/**
 * What happens to a question while nobody answers it, as its tool asked for: people are reminded, and others are asked as well.
 *
 *   asked ──remind──▶ ──remind──▶ ──escalate: more people may answer──▶ … ──▶ the deadline
 *
 *   E1  Each time has its effect once, whichever worker comes to it. How far an ask is stands in its thread, which takes one write at a time.
 *   E2  An escalation adds people and takes the question from nobody.
 *   E3  Times that are over together, because no worker ran, have one reminder.
 *
 * The task is due at the next of these times, so nothing is held while it waits (use-cases/prompt-asks.ts).
 */
import type { Prompted } from "../callers/threads.ts";
import { ParleyError } from "../errors.ts";
import type { Ask, AskAbout, AskRequest, Audience, Escalation, EventRequest, Open, Violation } from "../task.ts";
import { describeViolations } from "../values/schema-violation.ts";
import { aboutOf } from "./about.ts";
import { audienceProblems } from "./ask-policy.ts";

/** Maximum number of reminders and of escalations of one question, and the shortest time until one. */
export const REMINDERS_MAX = 10;
export const ESCALATIONS_MAX = 5;
export const PROMPT_MIN_MS = 60_000;

/** When the ask's next reminder or escalation is due; Infinity if none is left. */
export function nextPromptMs(open: Open): number {
  const { reminders, escalations } = leftOf(open);
  return open.askedAtMs + Math.min(reminders[0] ?? Infinity, escalations[0]?.afterMs ?? Infinity);
}

/** Undefined if nothing is due. */
export function duePrompts(open: Open, nowMs: number): Pick<Prompted, "reminded" | "escalations"> | undefined {
  const passedMs = nowMs - open.askedAtMs;
  const { before, reminders, escalations } = leftOf(open);
  const over = reminders.filter((ms) => ms <= passedMs).length;
  const due = escalations.filter(({ afterMs }) => afterMs <= passedMs);
  if (over === 0 && due.length === 0) return undefined;
  return { reminded: over === 0 ? undefined : before + over, escalations: due };
}

/** What happens with an ask at a time, unless it is settled before. `to`: who is asked as well. */
export interface Upcoming {
  readonly what: "reminded" | "escalated";
  readonly atMs: number;
  readonly to?: Audience["to"];
}

/** What is still to come, in order. */
export function upcomingPrompts(open: Pick<Ask, "askedAtMs" | "request" | "thread">): readonly Upcoming[] {
  const { reminders, escalations } = leftOf(open);
  return [
    ...reminders.map((ms): Upcoming => ({ what: "reminded", atMs: open.askedAtMs + ms })),
    ...escalations.map(({ afterMs, to }): Upcoming => ({ what: "escalated", atMs: open.askedAtMs + afterMs, to })),
  ].toSorted((a, b) => a.atMs - b.atMs);
}

function leftOf(open: Open | Pick<Ask, "request" | "thread">) {
  const { request } = open;
  const { remindMs = [], escalate = [] } = request.type === "call" ? {} : (aboutOf(request) ?? {});
  const { reminded, escalatedTo = [] } = ("thread" in open ? open.thread : undefined) ?? {};
  const before = reminded?.count ?? 0;
  return { before, reminders: remindMs.slice(before), escalations: escalate.slice(escalatedTo.length) };
}

/** Throws INVALID_ASK. `timeoutMs`: how long after it was asked the question closes. */
export function checkPrompts(
  key: string,
  request: AskRequest | EventRequest,
  { audience, timeoutMs }: { readonly audience?: Audience | undefined; readonly timeoutMs: number },
): void {
  const { remindMs, escalate }: AskAbout = aboutOf(request) ?? {};
  const violations = [...reminderProblems(remindMs, timeoutMs), ...escalationProblems(escalate, audience?.to, timeoutMs)];
  if (violations.length > 0)
    throw new ParleyError("INVALID_ASK", `the ask "${key}" is invalid: ${describeViolations(violations)}`, { violations });
}

function reminderProblems(remindMs: readonly number[] = [], timeoutMs: number): Violation[] {
  if (remindMs.length > REMINDERS_MAX) return [{ path: "/remind", message: `must have at most ${REMINDERS_MAX} times` }];
  return remindMs.flatMap((ms, index) => {
    const message = timeProblem(ms, remindMs[index - 1], timeoutMs);
    return message === undefined ? [] : [{ path: `/remind/${index}`, message }];
  });
}

function escalationProblems(steps: readonly Escalation[] = [], asked: Audience["to"] | undefined, timeoutMs: number): Violation[] {
  if (steps.length > ESCALATIONS_MAX) return [{ path: "/escalate", message: `must have at most ${ESCALATIONS_MAX} steps` }];
  return steps.flatMap(({ afterMs, to }, index) => {
    const path = `/escalate/${index}`;
    const wrongTime = timeProblem(afterMs, steps[index - 1]?.afterMs, timeoutMs);
    const wrongPeople = peopleProblems(to).map((problem) => ({ ...problem, path: `${path}${problem.path}` }));
    const before = [...(asked === undefined ? [] : [asked]), ...steps.slice(0, index).map((step) => step.to)];
    const isNew = wrongPeople.length > 0 || hasSomebodyNew(to, before);
    return [
      ...(wrongTime === undefined ? [] : [{ path: `${path}/after`, message: wrongTime }]),
      ...wrongPeople,
      ...(isNew ? [] : [{ path: `${path}/to`, message: "must name somebody who is not asked already" }]),
    ];
  });
}

function peopleProblems(to: Audience["to"]): Violation[] {
  if (to === "tenant" || (typeof to === "object" && to !== null)) return audienceProblems({ to });
  return [{ path: "/to", message: 'must be "tenant", or an object with people, groups, roles' }];
}

function timeProblem(ms: unknown, before: number | undefined, timeoutMs: number): string | undefined {
  if (!Number.isSafeInteger(ms) || (ms as number) < PROMPT_MIN_MS) return "must be at least a minute after the question";
  if (before !== undefined && (ms as number) <= before) return "must be later than the time before it";
  if ((ms as number) < timeoutMs) return undefined;
  return `is ${String(ms)} ms after the question, and must come before its deadline, ${timeoutMs} ms (timeout)`;
}

/** Whether anyone may answer who may not already: an escalation in a circle, or to those who are asked, does nothing. */
function hasSomebodyNew(to: Audience["to"], before: readonly Audience["to"][]): boolean {
  if (before.includes("tenant")) return false;
  if (to === "tenant") return true;
  return (["people", "groups", "roles"] as const).some((kind) =>
    (to[kind] ?? []).some((name) => !before.some((each) => each !== "tenant" && each[kind]?.includes(name) === true)),
  );
}
