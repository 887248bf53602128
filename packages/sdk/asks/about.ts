/** What a tool says about a question besides asking it: its urgency, and what the person should see to decide. */
import { type Allowance, type AskAbout, type ContextPart, type Duration, type Json, parseDuration, type Priority } from "@parley/core";
import { plainJson } from "../values/plain-data.ts";

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
   * What those who are asked may do besides answering. `"delegate"`: hand their part on to other people, with a reason. Nothing by default.
   */
  readonly allow?: readonly Allowance[];
}

/** Empty if there is nothing to say. Core checks it when the question is asked. */
export function aboutFrom(name: string, { priority, due, context, allow }: AboutOptions): { readonly about?: AskAbout } {
  const about = {
    ...(priority !== undefined && priority !== "normal" && { priority }),
    ...(due !== undefined && { dueMs: parseDuration(due) }),
    ...(allow !== undefined && { allow: [...allow] }),
    ...(context !== undefined && { context: plainJson(`the context of the ask "${name}"`, context as unknown as Json) as never }),
  };
  return Object.keys(about).length === 0 ? {} : { about };
}
