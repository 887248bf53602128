/**
 * The ladder: by which door the questions of a call reach a person, chosen for each request from what its client declared.
 *
 *   task            the client gets a handle, and the questions with it
 *   input_required  the reply to the call has the questions, and the client calls again with the answers (2026-07-28)
 *   held            the call stays open, and the questions come on its stream (sessions)
 *   apps            the same words as below, and the host of the client shows the questions in a view of this server (MCP Apps)
 *   text            the result of the call says in words what is open, until when, and where to answer
 *
 * The first rung that the client can use and the deployment allows is taken. Nothing else decides it. A client that shows pages and no forms is sent to
 * the page of a form. One on `input_required` or `held` that shows forms and no pages, or pages and no forms, is told in words, too, once a question comes
 * that it cannot be asked.
 */
import type { ClientCapabilities } from "@parley/core";

/** From the best to the last. */
export const RUNGS = ["task", "input_required", "held", "apps", "text"] as const;
export type Rung = (typeof RUNGS)[number];

export interface Climber {
  /** The client wants a handle, and what it calls can give one. */
  readonly takesTask: boolean;
  /** How its revision asks during a call. */
  readonly asksBy: "input_required" | "held";
  /** The questions to people that it declared it can show, in its revision. */
  readonly shows: { readonly form: boolean; readonly url: boolean };
  /** Its host shows views of servers. */
  readonly showsViews: boolean;
  /** Only the result of a tool is read by a model that can act on it. */
  readonly calls: "tool" | "prompt";
}

/** How the questions of a request reach a person. */
export interface Step {
  /** Undefined if none is left: then a question to this client ends at once, and its call fails. */
  readonly rung: Rung | undefined;
  /** What cannot be asked on the rung is told in words, and the call goes on as a task that its client polls. */
  readonly fallsToText: boolean;
  /** What has a form is asked by its page: the client shows pages, and no forms. */
  readonly formsByPage: boolean;
}

export function stepOf(climber: Climber, allowed: ReadonlySet<Rung>): Step {
  const { shows, calls } = climber;
  const rung = rungOf(climber, allowed);
  const isDuringCall = rung === "input_required" || rung === "held";
  return {
    rung,
    fallsToText: isDuringCall && calls === "tool" && shows.form !== shows.url && allowed.has("text"),
    formsByPage: (isDuringCall || rung === "task") && shows.url && !shows.form,
  };
}

/** See Step.rung. */
function rungOf({ takesTask, asksBy, shows, showsViews, calls }: Climber, allowed: ReadonlySet<Rung>): Rung | undefined {
  if (takesTask && allowed.has("task")) return "task";
  if ((shows.form || shows.url) && allowed.has(asksBy)) return asksBy;
  if (calls !== "tool") return undefined;
  if (showsViews && allowed.has("apps")) return "apps";
  return allowed.has("text") ? "text" : undefined;
}

/** Whether the result of a call says in words what is open, while its task goes on. */
export function isInWords(rung: Rung | undefined): rung is "apps" | "text" {
  return rung === "apps" || rung === "text";
}

/** What the client can be asked during its call. Questions to people take the rung; its model and its folders have no other way. */
export function askableOn(rung: Rung | undefined, capabilities: ClientCapabilities): ClientCapabilities {
  if (rung !== undefined && !isInWords(rung)) return capabilities;
  const { elicitation: _people, ...rest } = capabilities;
  return rest;
}
