/** What a person typed into a form that came without script: from the body of the request to the content of the answer. */
import { isFilledIn, isRisky, type JsonObject } from "@parley/core";
import { contentOf, type Draft, type Input, inputsOf, isMoment, type Problems, type Typed } from "@parley/web/form";
import { inZone, toZone } from "./wall-clock.ts";

/** How a question is shown: with which controls, and how carefully. */
export interface QuestionForm {
  readonly inputs: readonly Input[];
  /** It cannot be undone: nothing is chosen in advance, unless the fields show what will be done. */
  readonly isRisky: boolean;
  readonly isFilledIn: boolean;
  /** One yes or no, which is answered with two buttons. */
  readonly isConfirm: boolean;
  readonly hints: JsonObject;
}

export interface Asked {
  readonly schema: JsonObject;
  readonly hints?: JsonObject;
  /** Several people must accept. Each of them accepts or declines, and a "no" would be counted as an acceptance. */
  readonly quorum: number | undefined;
}

export function questionForm({ schema, hints = {}, quorum }: Asked): QuestionForm {
  const inputs = inputsOf(schema, hints);
  const [only, ...others] = inputs;
  const isOne = others.length === 0 && only?.control === "tristate" && only.isRequired && quorum === undefined;
  // Two buttons leave no room for the way back of a wizard's page.
  const isConfirm = isOne && hints["back"] !== true;
  return { inputs, isRisky: isRisky({ hints }), isFilledIn: isFilledIn({ hints }), isConfirm, hints };
}

/** Name of a field's control. Names of fields are any text. */
export function controlName(index: number): string {
  return `f${index}`;
}

/** Everything that was typed. */
export function draftIn(inputs: readonly Input[], body: URLSearchParams): Draft {
  return Object.fromEntries(inputs.map((input, index) => [input.name, typedIn(input, controlName(index), body)]));
}

function typedIn(input: Input, name: string, body: URLSearchParams): Typed {
  if (input.control === "checks") return body.getAll(name);
  if (input.control === "checkbox") return isTicked(body.get(name));
  // Browsers end the lines of a form with both characters.
  return (body.get(name) ?? "").replaceAll("\r\n", "\n");
}

/** A box that is not ticked sends nothing. Anything but its value is kept as it came, and refused. */
function isTicked(sent: string | null): Typed {
  return sent === null || sent === "true" ? sent !== null : sent;
}

export interface ReadForm {
  readonly content: JsonObject;
  readonly problems: Problems;
}

/** `zone` is where the person's clock is, and `locale` how they write numbers. `skipped` says that the clock never shows the time. */
export function contentIn(
  inputs: readonly Input[],
  draft: Draft,
  { zone, locale, skipped }: { readonly zone: string; readonly locale: string; readonly skipped: string },
): ReadForm {
  const wrong: [string, string][] = [];
  const read = inputs.map((input): [string, Typed] => {
    const typed = draft[input.name] ?? "";
    if (input.control === "datetime" && typeof typed === "string" && typed !== "") {
      const moment = inZone(typed, zone);
      // Read as it is, it would be a time of this server's zone.
      if (moment === undefined && isMoment(`${typed}Z`)) wrong.push([input.name, skipped]);
      return [input.name, moment ?? typed];
    }
    return [input.name, typed];
  });
  const { content, problems } = contentOf(inputs, Object.fromEntries(read), locale);
  return { content, problems: { ...problems, ...Object.fromEntries(wrong) } };
}

/** What the control of a moment shows for a default. */
export function localMoment(iso: string, zone: string): string {
  const at = Date.parse(iso);
  return Number.isNaN(at) ? "" : toZone(at, zone);
}
