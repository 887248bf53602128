/**
 * Arguments that an approver may change, where the rule allows it. The question's form has a field for each, filled in with what the tool will get.
 *
 *   D1  An approver changes only what they see whole: no lists or objects, nothing that the rule keeps back, nothing that looks like a secret, no text
 *       with more than one line or with characters that nobody sees. An argument is neither added nor left out.
 *   D2  An answer gives every field. One that is missing would be taken for unchanged, though the person may have emptied it.
 *   D3  The tool reads the changed arguments as those of a call, and the rules decide about them (gate.ts, G5).
 */
import { type ArgumentsRead, checkAsk, fieldsOf, type Field, type Json, type JsonObject, ParleyError, type Tool } from "@parley/core";
import { isObject } from "./arguments.ts";
import { withDefaults } from "./defaults.ts";
import { inOneLine } from "./visible.ts";

/** Of a text. A longer one is no field. */
const TEXT_CHARS_MAX = 1_000;
/** Of a text that has no more now: its field is one line, as it is. */
const LINE_CHARS_MAX = 150;
const FIELDS_MAX = 20;
const CHOICES_MAX = 50;
const NAME = /^[A-Za-z][\w-]{0,63}$/;

export interface MayEdit {
  /** Names of arguments, or all. */
  readonly edit: true | readonly string[];
  readonly redact: readonly string[];
}

/** What an approver changed. Recorded, so it is plain JSON. */
export type Edited = {
  /** All arguments, as the tool runs with them. */
  readonly arguments: JsonObject;
  /** The changed ones, as the approver gave them. */
  readonly changed: JsonObject;
  readonly by: string;
};

/** In `_meta` of the result. */
export const EDITED = "parley/edited";

/** The schema of the form. Without fields if nothing can be changed. `message` is what the person reads above it. */
export function editForm(
  tool: Tool,
  args: JsonObject,
  { edit, redact, message, secretNames }: MayEdit & { readonly message: string; readonly secretNames: readonly string[] },
): JsonObject {
  const whole = withDefaults(tool, args) ?? args;
  const isShown = (name: string) => !redact.some((pointer) => pointer.slice(1).split("/", 1)[0] === name);
  const isAllowed = (properties: JsonObject) => isAskable(formOf(properties), { message, secretNames });
  const properties = fieldsOf(tool.inputSchema)
    .filter(({ name }) => NAME.test(name) && Object.hasOwn(whole, name) && (edit === true || edit.includes(name)) && isShown(name))
    .flatMap((field) => {
      const property = propertyOf(field, whole[field.name] as Json);
      return property && isAllowed({ [field.name]: property }) ? [[field.name, property] as const] : [];
    })
    .slice(0, FIELDS_MAX);
  const form = Object.fromEntries(properties);
  return formOf(isAllowed(form) ? form : {});
}

function formOf(properties: JsonObject): JsonObject {
  const required = Object.keys(properties);
  return { type: "object", properties, ...(required.length > 0 && { required }) };
}

function isAskable(
  schema: JsonObject,
  { message, secretNames }: { readonly message: string; readonly secretNames: readonly string[] },
): boolean {
  try {
    checkAsk("", { request: { type: "form", message, schema } }, { askUrlSchemes: [], secretNames, oauthScopes: {} });
    return true;
  } catch (error) {
    if (error instanceof ParleyError) return false;
    throw error;
  }
}

/** The name is the title: the argument has it in the table above. */
function propertyOf({ name, kind, choices, schema }: Field, value: Json): JsonObject | undefined {
  const common = { title: name, default: value };
  switch (kind) {
    case "text": {
      if (typeof value !== "string" || !isSeen(value)) return undefined;
      const { minLength = 0, maxLength = TEXT_CHARS_MAX } = schema;
      const most = Math.min(numberOr(maxLength, TEXT_CHARS_MAX), value.length > LINE_CHARS_MAX ? TEXT_CHARS_MAX : LINE_CHARS_MAX);
      if (value.length > most) return undefined;
      return { type: "string", ...common, ...(minLength !== 0 && { minLength }), maxLength: most };
    }
    case "choice": {
      const values = choices.map((choice) => choice.value);
      if (typeof value !== "string" || !values.includes(value)) return undefined;
      if (values.length > CHOICES_MAX || choices.some((choice) => choice.json !== undefined || !isSeen(choice.value))) return undefined;
      return { type: "string", ...common, enum: values };
    }
    case "boolean":
      return typeof value === "boolean" ? { type: "boolean", ...common } : undefined;
    case "number":
    case "integer": {
      const isExact = typeof value === "number" && Math.abs(value) <= Number.MAX_SAFE_INTEGER;
      if (!isExact || (kind === "integer" && !Number.isInteger(value))) return undefined;
      const { minimum, maximum } = schema;
      return { type: kind, ...common, ...(typeof minimum === "number" && { minimum }), ...(typeof maximum === "number" && { maximum }) };
    }
    case "choices":
      return undefined;
  }
}

/** Whether the text in a field of one line is the text. */
function isSeen(text: string): boolean {
  return (
    text === text.trim() && !/[\r\n]/.test(text) && inOneLine(`a${text.replaceAll(/["|\\]/g, "")}`) === `a${text.replaceAll(/["|\\]/g, "")}`
  );
}

function numberOr(value: unknown, other: number): number {
  return typeof value === "number" ? value : other;
}

/**
 * What the answer changes. Undefined if its fields are not those of the form: an older process may have asked with others, and what somebody changed in
 * a field that is gone must not be taken for unchanged.
 */
export function changedBy(content: Readonly<Record<string, unknown>> = {}, form: JsonObject): JsonObject | undefined {
  const fields = form["properties"] as Readonly<Record<string, JsonObject>>;
  const given = Object.entries(content) as [string, Json][];
  if (given.length !== Object.keys(fields).length || !given.every(([name]) => Object.hasOwn(fields, name))) return undefined;
  return Object.fromEntries(given.filter(([name, value]) => value !== fields[name]?.["default"]));
}

/** As the tool reads a call. */
export async function readEdited(tool: Tool, args: JsonObject, changed: JsonObject): Promise<ArgumentsRead> {
  return await tool.readArguments(Object.fromEntries([...Object.entries(args), ...Object.entries(changed)]));
}

/** The result says what it is the result of. */
export function withEdit(result: JsonObject, { changed, by }: Edited): JsonObject {
  const { content, _meta: meta } = result;
  const names = Object.keys(changed);
  const text = `The approver changed ${names.length === 1 ? "an argument" : "arguments"} of this call: ${JSON.stringify(changed)}.`;
  return {
    ...result,
    content: [...(Array.isArray(content) ? content : []), { type: "text", text }],
    _meta: { ...(isObject(meta) && meta), [EDITED]: { by, arguments: changed } },
  };
}
