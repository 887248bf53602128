/**
 * Translates forms to revisions before 2025-11-25, and their answers back.
 *
 *   string oneOf const + title       →  enum + enumNames
 *   default of anything but boolean  →  named in the description
 *   array of choices                 →  one boolean for each choice      ← the list of those that are true
 *
 * The answer is validated against the schema of the ask. The names of the booleans follow from that schema alone, so that any front end can
 * translate the answer back.
 */
import { type AskRequest, choicesOf, type Field, fieldsOf, type Json, type JsonObject, valueOf } from "@parley/core";
import { isObject, own, type Wire } from "../json-rpc.ts";

export function olderForm(schema: JsonObject): JsonObject {
  const choices = choiceFields(schema);
  const required = texts(schema["required"]).filter((name) => !choices.has(name));
  return {
    type: "object",
    properties: Object.fromEntries(
      fieldsOf(schema).flatMap((field) => {
        const options = choices.get(field.name);
        return options ? options.map((option) => [option.key, boolean(field, option)]) : [[field.name, olderField(field.schema)]];
      }),
    ),
    ...(required.length > 0 ? { required } : {}),
  };
}

/** Translates the reply to a form of `olderForm` to the schema of the ask. */
export function readOlderReply(request: AskRequest, reply: unknown): unknown {
  if (request.type !== "form" || !isObject(reply)) return reply;
  const content = own(reply, "content");
  if (!isObject(content)) return reply;
  const choices = choiceFields(request.schema);
  if (choices.size === 0) return reply;
  const asked = new Set([...choices.values()].flat().map(({ key }) => key));
  const rest = Object.entries(content).filter(([name]) => !asked.has(name));
  const chosen = [...choices].flatMap(([name, options]) => {
    if (Object.hasOwn(content, name)) return [];
    const value = chosenOf(content, options, { schema: request.schema, name });
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...reply, content: Object.fromEntries([...rest, ...chosen]) };
}

/** The list of chosen values; undefined if the field was left out. A value that is not a boolean is returned unchanged, for the schema to refuse. */
function chosenOf(content: Wire, options: readonly Option[], { schema, name }: { schema: JsonObject; name: string }): unknown {
  const given = options.filter(({ key }) => Object.hasOwn(content, key));
  const wrong = given.find(({ key }) => typeof content[key] !== "boolean");
  if (wrong) return content[wrong.key];
  const values = given.filter(({ key }) => content[key] === true).map(({ value }) => value);
  if (values.length > 0 || texts(schema["required"]).includes(name)) return values;
  // An optional field without a choice is left out if the form left it untouched, or if the schema does not allow an empty list.
  const least = fieldsOf(schema).find((field) => field.name === name)?.schema["minItems"];
  return given.length === 0 || (typeof least === "number" && least > 0) ? undefined : values;
}

interface Option {
  /** The boolean's name in the form. */
  readonly key: string;
  readonly value: Json;
  readonly title: string;
}

/** The options of every multiple-choice field, by the field's name. */
function choiceFields(schema: JsonObject): ReadonlyMap<string, readonly Option[]> {
  const fields = fieldsOf(schema);
  const taken = new Set(fields.map(({ name }) => name));
  return new Map(
    fields
      .filter(({ kind, choices }) => kind === "choices" && choices.length > 0)
      .map(({ name, choices }) => [
        name,
        choices.map((choice) => ({
          value: valueOf(choice),
          title: choice.title ?? choice.value,
          key: free(name, choice.value),
        })),
      ]),
  );

  // Some clients turn names into identifiers, and all show them if a title is missing.
  function free(name: string, value: string): string {
    const wanted = `${name}_${value.replaceAll(/[^A-Za-z0-9]+/g, "_").slice(0, 40)}`;
    let key = wanted;
    for (let count = 2; taken.has(key); count += 1) key = `${wanted}_${count}`;
    taken.add(key);
    return key;
  }
}

function boolean({ label, schema, default: defaults }: Field, { title, value }: Option): JsonObject {
  return {
    type: "boolean",
    title: `${label}: ${title}`,
    ...described(schema, howMany(schema)),
    ...(Array.isArray(defaults) ? { default: defaults.includes(value) } : {}),
  };
}

function howMany({ minItems, maxItems }: JsonObject): string | undefined {
  const least = typeof minItems === "number" && minItems > 0 ? minItems : undefined;
  const most = typeof maxItems === "number" ? maxItems : undefined;
  if (least !== undefined && most !== undefined) return least === most ? `Choose ${least}.` : `Choose ${least} to ${most}.`;
  if (least !== undefined) return `Choose at least ${least}.`;
  return most === undefined ? undefined : `Choose at most ${most}.`;
}

function olderField(field: JsonObject): JsonObject {
  const { oneOf, default: preset, ...rest } = field;
  const choices = oneOf === undefined ? [] : (choicesOf({ oneOf }) ?? []).map(({ value, title = value }) => ({ value, title }));
  const options = choices.length > 0 ? { enum: choices.map(({ value }) => value), enumNames: choices.map(({ title }) => title) } : {};
  if (preset === undefined) return { ...rest, ...options };
  if (typeof preset === "boolean") return { ...rest, ...options, default: preset };
  const shown = choices.find(({ value }) => value === preset)?.title ?? preset;
  return { ...rest, ...options, ...described(field, `Default: ${typeof shown === "string" ? shown : JSON.stringify(shown)}.`) };
}

function described({ description }: JsonObject, note: string | undefined): JsonObject {
  const said = [description, note].filter((text): text is string => typeof text === "string" && text !== "");
  return said.length > 0 ? { description: said.join(" ") } : {};
}

function texts(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}
