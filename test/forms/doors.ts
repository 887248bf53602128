/**
 * The doors through which a person fills in a form: what each makes of a content that is typed there, as a browser or a terminal sends it. A door that
 * finds problems returns these.
 */
import { type Field, fieldsOf, isAny, type Json, type JsonObject, valueOf } from "@parley/core";
import { entryOf, readEntry } from "../../apps/cli/questions/entry.ts";
import { contentIn, controlName, draftIn, localMoment, questionForm } from "../../apps/server/routes/asks/form-body.ts";
import { contentOf, type Draft, type Input, inputsOf, type Typed, untouched } from "../../apps/web/form/inputs.ts";

export interface FormCase {
  readonly schema: JsonObject;
  readonly content: JsonObject;
}

/** The person's, unlike that of any machine. */
export const ZONE = "Pacific/Chatham";

const valueIn = (content: JsonObject, { name: at }: Field): Json | undefined => (Object.hasOwn(content, at) ? content[at] : undefined);
const asText = (value: Json) => (typeof value === "string" ? value : JSON.stringify(value));
/** What a control has that shows this value. */
export const shown = (input: Input, value: Json): Typed =>
  typeof value === "boolean" && input.control === "tristate" ? `${value}` : untouched({ ...input, default: value });

/** Many contents go through one form, whose schema is read once. */
function once<T>(read: (schema: JsonObject) => T): (schema: JsonObject) => T {
  const known = new WeakMap<JsonObject, { readonly value: T }>();
  return (schema) => {
    const { value } = known.get(schema) ?? { value: read(schema) };
    known.set(schema, { value });
    return value;
  };
}
const inputsIn = once(inputsOf);
const fieldsIn = once(fieldsOf);
const formIn = once((schema) => questionForm({ schema, quorum: undefined }));

/** A form of the playground. */
export function playground({ schema, content }: FormCase, beside: Draft = {}): unknown {
  const inputs = inputsIn(schema);
  const draft: Draft = Object.fromEntries(
    inputs.flatMap((input) => (Object.hasOwn(content, input.name) ? [[input.name, shown(input, content[input.name] ?? null)]] : [])),
  );
  const read = contentOf(inputs, { ...draft, ...beside });
  return Object.keys(read.problems).length > 0 ? read.problems : read.content;
}

/** A page without script: as a browser sends it, and in the zone of the person. */
export function pageWithoutScript({ schema, content }: FormCase): unknown {
  const { inputs } = formIn(schema);
  const body = new URLSearchParams();
  for (const [index, input] of inputs.entries()) {
    const isGiven = Object.hasOwn(content, input.name);
    const value = content[input.name] ?? null;
    const typed: Typed = !isGiven
      ? input.control === "checks"
        ? []
        : ""
      : input.control === "datetime"
        ? localMoment(asText(value), ZONE)
        : shown(input, value);
    if (Array.isArray(typed)) for (const each of typed as readonly string[]) body.append(controlName(index), each);
    else if (typed !== false) body.append(controlName(index), String(typed).replaceAll("\n", "\r\n"));
  }
  const draft = draftIn(inputs, new URLSearchParams(body.toString()));
  const read = contentIn(inputs, draft, { zone: ZONE, locale: "en", skipped: "skipped" });
  return Object.keys(read.problems).length > 0 ? read.problems : read.content;
}

export const isChosen = ({ kind, choices: offered }: Field) => kind === "boolean" || offered.length > 0;

function throughPrompt(each: Field, value: Json): Json | undefined {
  // A prompt has line breaks only in a text that had some.
  const withDefault = { ...each, default: value };
  return readEntry(entryOf(withDefault), withDefault);
}

/** The prompts. Choices are chosen there, so that nothing is read. */
export function prompts({ schema, content }: FormCase): unknown {
  return Object.fromEntries(
    fieldsIn(schema).flatMap((each): [string, Json | undefined][] => {
      const value = valueIn(content, each);
      if (value === undefined) return [];
      return [[each.name, isChosen(each) ? value : throughPrompt(each, value)]];
    }),
  );
}

/** As a person writes it: a choice as it is listed, JSON for what is no text, and quotes around a text that looks like something else. */
export function given({ schema, content }: FormCase): [name: string, value: string][] {
  return fieldsIn(schema).flatMap((each): [string, string][] => {
    const value = valueIn(content, each);
    if (value === undefined) return [];
    const choice = each.choices.find((one) => valueOf(one) === value);
    if (choice) return [[each.name, choice.value]];
    if (typeof value !== "string") return [[each.name, JSON.stringify(value)]];
    return [[each.name, isAny(each) ? entryOf({ ...each, default: value }) : value]];
  });
}
