/** What can be wrong with the params of methods that both families have. */
import fc from "fast-check";
import type { AnyChange, Due } from "../draw/changes.ts";
import { breaking, breakingAtLength, type BrokenValue, fitting } from "../draw/from-schema.ts";
import { type Json, type JsonObject, longText, oddNames } from "../draw/json.ts";
import { drop, type Field, set } from "../draw/rpc.ts";

export interface Params {
  readonly params: fc.Arbitrary<JsonObject>;
  readonly fields: readonly Field[];
  readonly changes?: fc.Arbitrary<AnyChange>;
}

export const INVALID_PARAMS = [-32_602];
/** In sessions a resource that is not there has a code of its own. */
const NOT_FOUND = [-32_602, -32_002];

/** `renamed` changes the member that names what is meant, wherever the family repeats it. */
export type Renamed = (
  what: string,
  member: "name" | "uri" | "taskId",
  to: fc.Arbitrary<string>,
  codes: readonly number[],
) => fc.Arbitrary<AnyChange>;

/** Names of nothing. */
export const nobody = (): fc.Arbitrary<string> =>
  fc.constantFrom("nobody", "__proto__", "constructor", "x".repeat(5_000), "é💥", "a\nb", "");

export const LIST: Params = {
  params: fc.constant({}),
  fields: [{ path: ["params", "cursor"], is: "string" }],
  changes: fc.oneof(
    set("a cursor that is none", ["params", "cursor"], fc.oneof(oddNames(), fc.base64String()), { due: "refused", codes: INVALID_PARAMS }),
    set("cursor of another type", ["params", "cursor"], fc.constantFrom<Json>(1, [], {}), { due: "refused", codes: INVALID_PARAMS }),
  ),
};

export function getPrompt(renamed: Renamed): Params {
  return {
    params: fc.constantFrom<JsonObject>(
      { name: "greeting" },
      { name: "letter", arguments: { to: "Ada" } },
      { name: "letter", arguments: { to: "Ada", tone: "stern" } },
    ),
    fields: [{ path: ["params", "name"], is: "string", required: true }],
    changes: fc.oneof(
      renamed("another name", "name", nobody(), INVALID_PARAMS),
      set("arguments of another type", ["params", "arguments"], fc.constantFrom<Json>(1, "x", [], true), {
        due: "refused",
        codes: INVALID_PARAMS,
      }),
      set("an argument of another type", ["params", "arguments"], fc.constantFrom<Json>({ to: 1 }, { to: null }, { to: {} }), {
        due: "refused",
        codes: INVALID_PARAMS,
      }),
    ),
  };
}

export function readResource(renamed: Renamed): Params {
  return {
    params: fc.constantFrom<JsonObject>({ uri: "fuzz://text" }, { uri: "fuzz://item/7" }, { uri: "fuzz://item/%20" }),
    fields: [{ path: ["params", "uri"], is: "string", required: true }],
    changes: fc.oneof(
      renamed("another uri", "uri", nobody(), NOT_FOUND),
      // In the body alone: a header cannot carry it.
      set("a long uri", ["params", "uri"], longText(10_000, 900_000, "u"), {
        due: "refused",
      }),
    ),
  };
}

export const COMPLETE: Params = {
  params: fc.record({
    ref: fc.constantFrom<JsonObject>({ type: "ref/prompt", name: "letter" }, { type: "ref/resource", uri: "fuzz://item/{id}" }),
    argument: fc.record({ name: fc.oneof(fc.constantFrom("to", "id", "tone"), oddNames()), value: oddNames() }),
  }),
  fields: [
    { path: ["params", "ref"], is: "object", required: true },
    { path: ["params", "ref", "type"], is: "string", required: true },
    { path: ["params", "argument"], is: "object", required: true },
    { path: ["params", "argument", "name"], is: "string", required: true },
    { path: ["params", "argument", "value"], is: "string", required: true },
    { path: ["params", "context"], is: "object" },
  ],
  changes: fc.oneof(
    set(
      "a reference to nothing",
      ["params", "ref"],
      fc.constantFrom<Json>({ type: "ref/prompt", name: "nobody" }, { type: "ref/resource", uri: "no" }),
      {
        due: "refused",
        codes: NOT_FOUND,
      },
    ),
    set("a reference to a long uri", ["params", "ref", "uri"], longText(10_000, 900_000, "u"), {
      due: "any",
    }),
    set("a reference of another kind", ["params", "ref", "type"], fc.constantFrom("ref/tool", "", "__proto__"), {
      due: "refused",
      codes: INVALID_PARAMS,
    }),
  ),
};

export function callTool(name: string, schema: JsonObject, renamed: Renamed): Params {
  // null stands for no arguments at all, which is a change of its own below.
  const broken = breaking(schema)?.filter(({ value }) => value !== null);
  const atLength = breakingAtLength(schema);
  const asArguments = ({ name: how, value }: BrokenValue): AnyChange => ({
    name: `arguments: ${how}`,
    set: ["params", "arguments"],
    to: value,
    due: "refused",
  });
  return {
    params: fitting(schema).map((args): JsonObject => ({ name, arguments: name === "research" ? { word: "elicit" } : args })),
    fields: [{ path: ["params", "name"], is: "string", required: true }],
    changes: fc.oneof(
      { weight: 1, arbitrary: renamed("another name", "name", nobody(), INVALID_PARAMS) },
      ...(broken ? [{ weight: 4, arbitrary: broken.map(asArguments) }] : []),
      ...(atLength ? [{ weight: 1, arbitrary: atLength.map(asArguments) }] : []),
      // null where everything may be absent: clients in Go send it for an empty map.
      set("arguments: null", ["params", "arguments"], fc.constant(null), { due: hasRequired(schema) ? "any" : "accepted" }),
      drop("no arguments", ["params", "arguments"], { due: hasRequired(schema) ? "refused" : "accepted" }),
      set("arguments of another type", ["params", "arguments"], fc.constantFrom<Json>(1, "x", [], true), {
        due: "refused",
        codes: INVALID_PARAMS,
      }),
      ...(schema["additionalProperties"] === false
        ? []
        : [
            set("an argument that nobody knows", ["params", "arguments", "surplus"], fc.constantFrom<Json>(1, {}, null), {
              due: "accepted",
            }),
            // Whether so much may be stored is the settings' affair.
            set("a large argument that nobody knows", ["params", "arguments", "surplus"], longText(1_000, 900_000, "x"), {
              due: "any",
            }),
          ]),
    ),
  };
}

function hasRequired({ required }: JsonObject): boolean {
  return Array.isArray(required) && required.length > 0;
}

/** What becomes of a right call of a tool, by what its client can be asked and whether it gets a task. */
export function dueOfTool(name: string, { asTask, canBeAsked }: { readonly asTask: boolean; readonly canBeAsked: boolean }): Due {
  if (!canBeAsked) return "any";
  if (asTask) return "accepted";
  // Tools that say no, or may: no table is left, the call itself fails, a client cannot be sent to a page, no provider is set up here, and two people
  // cannot be told apart.
  return ["stumbles", "refuses", "book_dinner", "collect_payment", "find_evening", "release_payment"].includes(name) ? "any" : "accepted";
}
