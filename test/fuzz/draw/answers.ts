/** Valid and invalid answers to a tool's questions, drawn from the question itself. */
import fc from "fast-check";
import { REPLIES_TOO_LARGE_CHARS } from "../limits.ts";
import type { Due } from "./changes.ts";
import { breaking, breakingAtLength, fitting } from "./from-schema.ts";
import { type Drawn, isObject, type Json, type JsonObject, largeJson, longText, notOf, oddNames, someJson } from "./json.ts";

/** A question as 2026-07-28 puts it. */
export interface Question {
  readonly method: string;
  readonly params?: JsonObject;
}

export interface Answer {
  /** Tells findings apart. */
  readonly name: string;
  /** As it stands in inputResponses, or in the result that is posted. */
  readonly reply: Drawn;
  readonly due: Due;
}

const SAMPLED: JsonObject = {
  type: "object",
  properties: {
    role: { type: "string", enum: ["user", "assistant"] },
    content: {
      type: "object",
      properties: { type: { type: "string", enum: ["text"] }, text: { type: "string" } },
      required: ["type", "text"],
    },
    model: { type: "string" },
  },
  required: ["role", "content", "model"],
};

const ROOTS: JsonObject = {
  type: "object",
  properties: {
    roots: { type: "array", items: { type: "object", properties: { uri: { type: "string" } }, required: ["uri"] } },
  },
  required: ["roots"],
};

export function answersTo({ method, params = {} }: Question): fc.Arbitrary<Answer> {
  if (method === "sampling/createMessage") return fc.oneof(...resultsOf(SAMPLED, ["content"]));
  if (method === "roots/list") return fc.oneof(...resultsOf(ROOTS, []));
  const { requestedSchema } = params;
  return isObject(requestedSchema) ? fc.oneof(...answersToForm(requestedSchema)) : fc.oneof(...refusals(), ...misshapen(), plainAccept());
}

function named(name: string, due: Due, reply: fc.Arbitrary<Drawn>): fc.Arbitrary<Answer> {
  return reply.map((each) => ({ name, reply: each, due }));
}

/** No content is looked at where a page is to be visited. */
function plainAccept(): fc.Arbitrary<Answer> {
  return named("accept", "accepted", fc.constant({ action: "accept" }));
}

function refusals(): fc.Arbitrary<Answer>[] {
  return [
    named("decline", "accepted", fc.constant({ action: "decline" })),
    named("cancel", "accepted", fc.constant({ action: "cancel" })),
    named(
      "decline with odd content",
      "accepted",
      someJson().map((content) => ({ action: "decline", content })),
    ),
    named(
      "cancel with odd members",
      "accepted",
      fc
        .tuple(
          oddNames().filter((name) => name !== "action"),
          someJson(),
        )
        .map(([name, value]) => ({ [name]: value, action: "cancel" })),
    ),
  ];
}

function misshapen(): fc.Arbitrary<Answer>[] {
  const actions = ["accept", "decline", "cancel"];
  return [
    named("no action", "refused", fc.constant({ content: {} })),
    named(
      "an action that is none",
      "refused",
      someJson()
        .filter((action) => !actions.includes(action as string))
        .map((action) => ({ action, content: {} })),
    ),
    named(
      "a long action",
      "refused",
      longText(1_000, 900_000).map((action) => ({ action })),
    ),
    named("a reply of another type", "refused", notOf("object")),
  ];
}

/** An empty text or null in a field that may be left out, of any type, is the same as leaving it out. */
function leavesEmpty({ properties, required }: JsonObject, content: Drawn): boolean {
  if (!isObject(properties) || !isObject(content)) return false;
  const needed = Array.isArray(required) ? required : [];
  return Object.keys(properties).some((name) => (content[name] === "" || content[name] === null) && !needed.includes(name));
}

function answersToForm(form: JsonObject): { weight: number; arbitrary: fc.Arbitrary<Answer> }[] {
  const content = fitting(form);
  const broken = breaking(form);
  const atLength = breakingAtLength(form);
  const accept = (given: Drawn): Drawn => ({ action: "accept", content: given });
  const hasRequired = Array.isArray(form["required"]) && form["required"].length > 0;
  return [
    { weight: 5, arbitrary: named("content that fits", "accepted", content.map(accept)) },
    ...(broken
      ? [
          {
            weight: 9,
            arbitrary: broken.map(({ name, value }): Answer => ({
              name: `content: ${name}`,
              reply: accept(value),
              due: leavesEmpty(form, value) ? "any" : "refused",
            })),
          },
        ]
      : []),
    ...(atLength
      ? [
          {
            weight: 2,
            arbitrary: atLength.map(({ name, value }): Answer => ({ name: `content: ${name}`, reply: accept(value), due: "refused" })),
          },
        ]
      : []),
    { weight: 1, arbitrary: named("no content", hasRequired ? "refused" : "accepted", fc.constant({ action: "accept" })) },
    {
      weight: 1,
      arbitrary: named(
        "a field that nobody asked for",
        "accepted",
        fc
          .tuple(
            content,
            oddNames().filter((name) => !Object.hasOwn(form["properties"] as JsonObject, name)),
            someJson(),
          )
          .map(([value, name, odd]) => accept({ ...(value as JsonObject), ...ownMember(name, odd) })),
      ),
    },
    {
      weight: 1,
      arbitrary: named(
        "a large field that nobody asked for",
        "any",
        fc.tuple(content, largeJson()).map(([value, large]) => accept({ ...(value as JsonObject), surplus: large })),
      ),
    },
    {
      weight: 1,
      arbitrary: named(
        "more than may be stored",
        "refused",
        content.map((value) => accept({ ...(value as JsonObject), surplus: { large: "text", of: "x", times: REPLIES_TOO_LARGE_CHARS } })),
      ),
    },
    ...[...refusals(), ...misshapen()].map((arbitrary) => ({ weight: 1, arbitrary })),
  ];
}

/** `__proto__` too is a member like any other. */
function ownMember(name: string, value: Json): JsonObject {
  return Object.fromEntries([[name, value]]);
}

/** `open` are members whose inner shape is looked at less strictly than the schema says. */
function resultsOf(schema: JsonObject, open: readonly string[]): fc.Arbitrary<Answer>[] {
  const broken = [breaking(schema), breakingAtLength(schema)].filter((each) => each !== undefined);
  return [
    named("a result", "accepted", fitting(schema)),
    named("decline", "accepted", fc.constantFrom({ action: "decline" }, { action: "cancel" })),
    named("a result of another type", "refused", notOf("object")),
    ...broken.map((each) =>
      each.map(({ name, value }): Answer => ({
        name: `result: ${name}`,
        reply: value,
        due: open.some((member) => name.startsWith(`${member} `)) ? "any" : "refused",
      })),
    ),
  ];
}
