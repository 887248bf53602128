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
  type RequiredAssurance,
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
   * How somebody must be identified for their answer to count. `"login"`: by their own login in a browser, so on the question's page or in the
   * inbox, and not through a client. `"token"`: by any client, but not by a model that passes on what they said. An object asks for a login, and
   * says more about it, as the identity provider states it: `within`, how long ago at most, `acr`, one of these classes, `amr`, all of these
   * methods. It is part of what was asked. Throws INVALID_ASK if callers are not identified.
   */
  readonly assurance?: "token" | "login" | LoginNeeded;
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

/** What a login must be, such as `{ within: "15 minutes", amr: ["mfa"] }`. At least one of them. */
export interface LoginNeeded {
  /** From `"1 minute"` to `"31 days"` ago. A person who logged in before that logs in again, on the page. */
  readonly within?: Duration;
  /** At most 10, as the provider writes them. */
  readonly acr?: readonly string[];
  readonly amr?: readonly string[];
}

/** One step of `escalate`. */
export interface Escalate {
  readonly after: Duration;
  readonly to: Audience["to"];
}

/** Empty if there is nothing to say. Core checks it when the question is asked. */
export function aboutFrom(
  name: string,
  { priority, due, context, allow, assurance, remind, escalate }: AboutOptions,
): { readonly about?: AskAbout } {
  const about = {
    ...(priority !== undefined && priority !== "normal" && { priority }),
    ...(due !== undefined && { dueMs: parseDuration(due) }),
    ...(allow !== undefined && { allow: [...allow] }),
    ...(assurance !== undefined && { assurance: requiredFrom(name, assurance) }),
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

/** Tools may be written without types: what is none of these is refused by core. */
function requiredFrom(name: string, given: NonNullable<AboutOptions["assurance"]>): RequiredAssurance {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return { by: given as never };
  const unknown = Object.keys(given).find((key) => !LOGIN_NEEDED.includes(key));
  if (unknown !== undefined) throw wrongAsk(name, `/assurance/${unknown.slice(0, 40)}`, `is not one of ${LOGIN_NEEDED.join(", ")}`);
  const { within, acr, amr } = given;
  if (within === undefined && acr === undefined && amr === undefined)
    throw wrongAsk(name, "/assurance", 'must have within, acr or amr; for any login, "login"');
  return {
    by: "login",
    ...(within !== undefined && { withinMs: timeOf(name, "/assurance/within", within) }),
    ...(acr !== undefined && { acr: plainJson(`the assurance of the ask "${name}"`, acr as unknown as Json) as never }),
    ...(amr !== undefined && { amr: plainJson(`the assurance of the ask "${name}"`, amr as unknown as Json) as never }),
  };
}

const LOGIN_NEEDED: readonly string[] = ["within", "acr", "amr"];

/** Tools may be written without types. */
function stepOf(name: string, index: number, step: Escalate): Escalation {
  const path = `/escalate/${index}`;
  if (typeof step !== "object" || step === null)
    throw wrongAsk(name, path, 'must be an object such as { after: "2 days", to: { groups: ["leads"] } }');
  const to = plainJson(`the escalation of the ask "${name}"`, (step.to ?? null) as unknown as Json) as never;
  return { afterMs: timeOf(name, `${path}/after`, step.after), to };
}
