/** What a tool says about a question besides asking it: its urgency, and what the person should see to decide. */
import {
  type Allowance,
  type AskAbout,
  type Audience,
  type ContextPart,
  type Duration,
  type Escalation,
  type Json,
  parseDuration,
  type Priority,
} from "@parley/core";
import { plainJson } from "../values/plain-data.ts";
import { wrongAsk } from "./wrong-ask.ts";

/** Options of every question. */
export interface AboutOptions {
  /** How soon people should answer; `"normal"` by default. Lists show it, and can be ordered by it. */
  readonly priority?: Priority;
  /**
   * When an answer is wanted, such as `"4 hours"`, counted from the question. Lists and pages show it, and nothing happens then: `timeout` is the
   * end of the question, and must not come before.
   */
  readonly due?: Duration;
  /**
   * What the person should see to decide, above the form: texts, tables, links, pictures, and diffs of two texts. It is part of what was asked, as
   * the message is. At most 20 parts, and 20,000 characters as JSON. Clients that show only a message get it as text.
   */
  readonly context?: readonly ContextPart[];
  /**
   * What those who are asked may do besides answering. `"delegate"`: hand their part on to other people, with a reason. `"askBack"`: ask the
   * person who made the call something first, who replies in words. `"pause"`, beside it: until the reply the deadline stands still, all in all at most
   * as long as `timeout`. Nothing by default.
   */
  readonly allow?: readonly Allowance[];
  /**
   * When those who have not answered are reminded, counted from the question: `"1 day"`, or up to ten times such as `["4 hours", "1 day"]`. Each is at
   * least a minute, and before `timeout`. Who hears of it: docs/events.md.
   */
  readonly remind?: Duration | readonly Duration[];
  /**
   * Who is asked as well if nobody has answered so long after the question, beside those of `to`: `{ after: "2 days", to: { groups: ["leads"] } }`, or up
   * to five such steps. Times as for `remind`.
   */
  readonly escalate?: Escalate | readonly Escalate[];
}

/** One step of `escalate`. */
export interface Escalate {
  readonly after: Duration;
  readonly to: Audience["to"];
}

/** Empty if there is nothing to say. Core checks it when the question is asked. */
export function aboutFrom(name: string, { priority, due, context, allow, remind, escalate }: AboutOptions): { readonly about?: AskAbout } {
  const about = {
    ...(priority !== undefined && priority !== "normal" && { priority }),
    ...(due !== undefined && { dueMs: parseDuration(due) }),
    ...(allow !== undefined && { allow: [...allow] }),
    ...(remind !== undefined && { remindMs: listOf(remind).map((time, index) => timeOf(name, `/remind/${index}`, time)) }),
    ...(escalate !== undefined && { escalate: listOf(escalate).map((step, index) => stepOf(name, index, step)) }),
    ...(context !== undefined && { context: plainJson(`the context of the ask "${name}"`, context as unknown as Json) as never }),
  };
  return Object.keys(about).length === 0 ? {} : { about };
}

function listOf<T>(given: T | readonly T[]): readonly T[] {
  return Array.isArray(given) ? (given as readonly T[]) : [given as T];
}

function timeOf(name: string, path: string, time: Duration): number {
  try {
    return parseDuration(time);
  } catch (error) {
    throw wrongAsk(name, path, (error as Error).message);
  }
}

/** Tools may be written without types. */
function stepOf(name: string, index: number, step: Escalate): Escalation {
  const path = `/escalate/${index}`;
  if (typeof step !== "object" || step === null)
    throw wrongAsk(name, path, 'must be an object such as { after: "2 days", to: { groups: ["leads"] } }');
  const to = plainJson(`the escalation of the ask "${name}"`, (step.to ?? null) as unknown as Json) as never;
  return { afterMs: timeOf(name, `${path}/after`, step.after), to };
}
