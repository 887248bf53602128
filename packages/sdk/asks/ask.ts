/** A question as a tool asks it with `ctx.ask`, and what became of it. */
import type { Assurance, Audience, Duration, JsonObject } from "@parley/core";
import type { AboutOptions } from "./about.ts";
import type { InputOf, OutputOf, Schema } from "../schemas/schema.ts";

/** The content of a form's answer if its schema is plain JSON Schema. */
export type FormContent = { [field: string]: string | number | boolean | string[] };

/** A form: a flat object of strings, numbers, booleans, choices and lists of choices, as a Standard Schema or JSON Schema. */
export interface FormAsk<S extends Schema | JsonObject> extends AboutOptions {
  /**
   * Tells this call apart from others of its name in code that runs concurrently, such as the id of an item. Needed where such code also awaits
   * something outside `ctx`. Any text of 1 to 64 characters, the same in every run.
   */
  readonly key?: string | number;
  /** What the person reads. */
  readonly message: string;
  readonly schema: S;
  /** How long the question stays open, such as `"2 days"`. The default of the deployment is a week unless it sets another. */
  readonly timeout?: Duration;
  /**
   * What happens when the time is over: `"cancel"` (the default: `elicit` throws TimedOut), `"decline"` (it throws Declined), `"fail"` (the task
   * fails), or a default that is taken as the answer.
   */
  readonly onTimeout?: "cancel" | "decline" | "fail" | { readonly default: S extends Schema ? InputOf<S> : FormContent };
  /** Aborting it withdraws the question: clients stop showing it, an answer that still arrives is late, and `elicit` throws Withdrawn. */
  readonly signal?: AbortSignal;
  /**
   * Who may answer: `"caller"` (the default), `"tenant"` for everyone in the caller's tenant, or people, groups and roles of that tenant as the
   * identity provider names them. If others are asked, the caller's client shows that the task waits for them.
   */
  readonly to?: "caller" | Audience["to"];
  /** `"caller"`: the caller may not answer, even if `to` includes them. For approvals by a second person. */
  readonly not?: Audience["not"];
  /** Without a quorum one answer settles the question; see QuorumAsk. */
  readonly quorum?: undefined;
  /** How a client may display the question. Sent in `_meta`; clients are free to ignore it. */
  readonly hints?: JsonObject;
}

/** A form that several people must accept. It takes no default, which would count people who have not accepted. */
export interface QuorumAsk<S extends Schema | JsonObject> extends Omit<FormAsk<S>, "quorum" | "onTimeout"> {
  /**
   * How many different people of `to` must accept, at most 20. `elicit` then returns what each of them answered, in the order in which they accepted;
   * `ask` returns it as `content`. The first person who declines or dismisses the question ends it for all. Until then people may
   * answer again, and their last answer counts. Each person counts once, also through several clients. Throws INVALID_ASK if callers are not
   * identified.
   */
  readonly quorum: number;
  readonly onTimeout?: "cancel" | "decline" | "fail";
}

/** The answer of one of the people who accepted. */
export interface Accepted<T> extends Person {
  readonly content: T;
  readonly at: Date;
}

/** A page that the person visits, for data that must not pass through the client: secrets, payments, consent. */
export interface UrlAsk extends AboutOptions {
  /**
   * Tells this call apart from others of its name in code that runs concurrently, such as the id of an item. Needed where such code also awaits
   * something outside `ctx`. Any text of 1 to 64 characters, the same in every run.
   */
  readonly key?: string | number;
  readonly message: string;
  readonly url: string | URL;
  readonly timeout?: Duration;
  readonly onTimeout?: "cancel" | "decline" | "fail";
  /** As for a form; so are `to` and `not`. */
  readonly signal?: AbortSignal;
  readonly to?: "caller" | Audience["to"];
  readonly not?: Audience["not"];
  readonly hints?: JsonObject;
  /** An event reports that the person has finished there. The client only reports that they agreed to go. `ctx.url` waits for both. */
  readonly completedBy?: "event";
  /** As for `ctx.url`, which returns the query that the person came back with. */
  readonly returnTo?: string;
  /** A page has no form. */
  readonly schema?: undefined;
}

/**
 * What `elicit` and `ask` ask. One type with a union, and no overloads, because the compiler explains only why the last overload does not match: a
 * mistake in a form would be reported as a mistake in a page.
 */
export type AskOf<S extends Schema | JsonObject, Q extends number | undefined> = (UrlAsk | QuorumAsk<S> | FormAsk<S>) & {
  readonly quorum?: Q;
};

/** What `elicit` returns: the content of a form, what each person of a quorum answered, or nothing for a page. */
export type Elicited<S extends Schema | JsonObject, Q extends number | undefined, Page = void> = [S] extends [never]
  ? Page
  : Q extends number
    ? readonly Accepted<ContentOf<S>>[]
    : ContentOf<S>;

/** The type of an answer: the output of a Standard Schema, or plain content for JSON Schema. */
export type ContentOf<S extends Schema | JsonObject> = S extends Schema ? OutputOf<S> : FormContent;

/** What became of a question, as `ctx.ask` returns it. */
export type AskResult<T> =
  | { readonly action: "accept"; readonly content: T }
  /** `reason`: what the person said about it, if they did. */
  | { readonly action: "decline"; readonly reason?: string }
  | { readonly action: "cancel" }
  /** `accepted`: how many of the required `quorum` had accepted by then. Both are absent if one answer settles the question. */
  | { readonly action: "timeout"; readonly accepted?: number; readonly quorum?: number }
  /** Its `signal` was aborted. */
  | { readonly action: "withdrawn" };

/** A person who answered. */
export interface Person {
  /** As in `ctx.principal`, and in the audit. Compare people by it. */
  readonly principal: string;
  /**
   * What the identity provider called them when they answered, for people to read: several may have the same. Absent where people are not
   * identified, and for answers to earlier versions of Parley.
   */
  readonly name?: string;
  /** Whether this is the caller, who owns the task. */
  readonly isCaller: boolean;
  /**
   * How they were identified, the least certain first: `"model"` by the host of a model, which wrote their words into a call; `"token"` by a client with
   * their token, or a proxy; `"login"` by their own login in a browser. Absent where people are not identified, and for answers to earlier
   * versions of Parley.
   */
  readonly assurance?: Assurance;
  /**
   * What the provider stated of their login: when it was, its class (`acr`) and its methods (`amr`), in its own words. Absent for what it did not state, and
   * for answers to earlier versions of Parley.
   */
  readonly login?: { readonly at?: Date; readonly acr?: string; readonly amr?: readonly string[] };
  /** In whose place they answered, if that person handed their part on (`allow: ["delegate"]`). */
  readonly delegatedBy?: { readonly principal: string; readonly name?: string };
}

/** Who answered a question. With a quorum, the person whose answer settled it. */
export interface AnsweredBy extends Person {
  /** When. Absent for a reply that came with the call, and for answers to earlier versions of Parley. */
  readonly at?: Date;
  /** What the person said about it: the reason of a decline. */
  readonly comment?: string;
  /** With a quorum: everyone who had accepted, in that order, even if another person then declined. */
  readonly accepted?: readonly Person[];
}
