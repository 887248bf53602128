/**
 * Answers to what tools ask: from `--set field=value`, or from questions on the terminal. Both read the ask's schema, so that "4" becomes a
 * number where a number is asked for. What fits is judged by the server alone.
 */
import { cancel, confirm, isCancel, multiselect, note, select, text } from "@clack/prompts";

/** One field of a form, in the subset of JSON Schema that MCP allows. */
export interface Field {
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
  readonly default?: Value;
  readonly enum?: readonly string[];
  readonly enumNames?: readonly string[];
  readonly oneOf?: readonly Choice[];
  readonly items?: { readonly enum?: readonly string[]; readonly anyOf?: readonly Choice[] };
}

interface Choice {
  readonly const: string;
  readonly title?: string;
}

export interface Form {
  readonly mode?: "form";
  readonly message: string;
  readonly requestedSchema: { readonly properties?: Readonly<Record<string, Field>>; readonly required?: readonly string[] };
}

/** Asks the user to go to a page. */
export interface Visit {
  readonly mode: "url";
  readonly message: string;
  readonly url: string;
}

export type Elicitation = Form | Visit;

export type Value = string | number | boolean | string[];

export type Reply = { action: "accept"; content?: Record<string, Value> } | { action: "decline" } | { action: "cancel" };

export function isVisit(asked: Elicitation): asked is Visit {
  return asked.mode === "url";
}

/** `["partySize=4", "seats=inside,window"]` → the content of an answer, by the form's types. Throws an Error for what is no assignment or no field. */
export function contentOf(assignments: readonly string[], { requestedSchema: { properties = {} } }: Form): Record<string, Value> {
  const content: Record<string, Value> = {};
  for (const assignment of assignments) {
    const [name, given] = split(assignment);
    const field = properties[name];
    if (!field) throw new Error(`the question has no field ${name}; it has ${Object.keys(properties).join(", ") || "none"}`);
    const before = content[name];
    content[name] = field.type === "array" && Array.isArray(before) ? [...before, ...given.split(",")] : valueOf(given, field);
  }
  return content;
}

/** `name=value` → both. */
export function split(assignment: string): [name: string, value: string] {
  const at = assignment.indexOf("=");
  if (at < 1) throw new Error(`${assignment} is not of the form name=value`);
  return [assignment.slice(0, at), assignment.slice(at + 1)];
}

/** What does not read as the field's type stays as it was given: the server says what is wrong with it. */
function valueOf(given: string, { type }: Field): Value {
  switch (type) {
    case "number":
    case "integer":
      return given.trim() === "" || Number.isNaN(Number(given)) ? given : Number(given);
    case "boolean":
      return /^(true|yes|y|1)$/i.test(given) ? true : /^(false|no|n|0)$/i.test(given) ? false : given;
    case "array":
      return given === "" ? [] : given.split(",");
    default:
      return given;
  }
}

/** Asks on the terminal. Ctrl-C leaves the question open: `undefined`. */
export async function promptFor(asked: Elicitation): Promise<Reply | undefined> {
  note(isVisit(asked) ? `${asked.message}\n\n${asked.url}` : asked.message, "A tool asks");
  const action = await select<Reply["action"]>({
    message: isVisit(asked) ? "Go to that page?" : "Answer?",
    options: [
      { value: "accept", label: isVisit(asked) ? "I go there" : "Answer" },
      { value: "decline", label: "Decline" },
      { value: "cancel", label: "Dismiss" },
    ],
  });
  if (isCancel(action)) return left();
  if (action !== "accept") return { action };
  if (isVisit(asked)) return { action };

  const { properties = {}, required = [] } = asked.requestedSchema;
  const content: Record<string, Value> = {};
  for (const [name, field] of Object.entries(properties)) {
    const value = await promptForField(name, field, required.includes(name));
    if (typeof value === "symbol") return left();
    if (value !== undefined) content[name] = value;
  }
  return { action, content };
}

function left(): undefined {
  cancel("The question stays open.");
  return undefined;
}

async function promptForField(name: string, field: Field, required: boolean): Promise<Value | symbol | undefined> {
  const message = [field.title ?? name, field.description && `(${field.description})`, !required && "(optional)"].filter(Boolean).join(" ");
  if (field.type === "boolean") return await confirm({ message, initialValue: field.default === true });
  if (field.type === "array") {
    const initialValues = Array.isArray(field.default) ? field.default : [];
    return await multiselect({ message, options: choicesOf(field.items), required, initialValues });
  }
  const choices = choicesOf(field);
  if (choices.length > 0) {
    const initialValue = typeof field.default === "string" ? { initialValue: field.default } : {};
    const value = await select({ message, options: required ? choices : [...choices, { value: "", label: "(none)" }], ...initialValue });
    return value === "" ? undefined : value;
  }
  const preset = field.default === undefined ? {} : { initialValue: String(field.default) };
  const given = await text({
    message,
    ...preset,
    validate: (typed) =>
      required && !typed
        ? "An answer is needed."
        : numeric(field) && typed && Number.isNaN(Number(typed))
          ? "A number is needed."
          : undefined,
  });
  if (isCancel(given)) return given;
  return given === "" || given === undefined ? undefined : valueOf(given, field);
}

function numeric({ type }: Field): boolean {
  return type === "number" || type === "integer";
}

function choicesOf(
  field: { enum?: readonly string[]; enumNames?: readonly string[]; oneOf?: readonly Choice[]; anyOf?: readonly Choice[] } = {},
) {
  const titled = field.oneOf ?? field.anyOf;
  if (titled) return titled.map((choice) => ({ value: choice.const, label: choice.title ?? choice.const }));
  return (field.enum ?? []).map((value, index) => ({ value, label: field.enumNames?.[index] ?? value }));
}
