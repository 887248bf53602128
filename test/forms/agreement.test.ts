/**
 * One form, many doors: a random form of the kinds that MCP servers publish, with random values in it, is typed in the
 * playground, on a page without script, at a prompt and as flags. Each door must make the same content of it, and the
 * server must accept that content. What is no value of a field is either a problem at every door, or the same content.
 *
 * Seeded, so that a failure is the same on every machine. `FORMS_SEED` and `FORMS_RUNS` look further.
 */
import { fieldsOf, type Json, type JsonObject } from "@parley/core";
import { createValidator } from "@parley/node";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { argumentsOf } from "../../apps/cli/call/tool-arguments.ts";
import { isBroken, readEntry, readFlag } from "../../apps/cli/questions/entry.ts";
import { contentOf as contentOfSet } from "../../apps/cli/questions/form.ts";
import { contentIn, controlName, draftIn } from "../../apps/server/routes/asks/form-body.ts";
import { contentOf, inputsOf } from "../../apps/web/form/inputs.ts";
import { type FormCase, given, isChosen, pageWithoutScript, playground, prompts, ZONE } from "./doors.ts";

const SEED = Number(process.env["FORMS_SEED"] ?? 35);
const RUNS = Number(process.env["FORMS_RUNS"] ?? 150);
const run = { seed: SEED, numRuns: RUNS };

const validate = createValidator();

interface Kind {
  readonly schema: JsonObject;
  readonly values: fc.Arbitrary<Json>;
}

// ── kinds of fields ────────────────────────────────────────────────────────────────────────────────────────────────

const word = fc.stringMatching(/^[a-zäß٣]{1,9}$/);
/** What people type in one line: spaces at the ends, commas, digits, brackets, words that mean something elsewhere. */
const oneLine = fc
  .oneof(
    fc.string({ minLength: 1, maxLength: 20, unit: "grapheme" }),
    fc.constantFrom(
      "null",
      "true",
      "5",
      "1e3",
      " a ",
      "a, b",
      "[1]",
      '{"a":1}',
      "-",
      "--no-x",
      "=",
      "a=b",
      "٣",
      "\\n",
      "C:\\new",
      '"',
      "0x10",
      "NaN",
    ),
  )
  .filter((each) => !/[\p{Cc}\u2028\u2029]/u.test(each) && each.isWellFormed());
const lines = fc.array(oneLine, { minLength: 1, maxLength: 4 }).map((each) => each.join("\n"));
const name = fc.constantFrom("title", "dueDate", "first_name", "a b", "a/b", "~x", "größe", "constructor", "no-cache", "x");

const finite = fc.double({ noNaN: true, noDefaultInfinity: true }).map((each) => each + 0);
const moment = fc
  .date({ min: new Date("1971-01-01"), max: new Date("2090-01-01"), noInvalidDate: true })
  .map((at) => `${at.toISOString().slice(0, 19)}Z`);
const day = moment.map((each) => each.slice(0, 10));

function of(schema: JsonObject, values: fc.Arbitrary<Json>): fc.Arbitrary<Kind> {
  return fc.constant({ schema, values });
}

const choices = fc.uniqueArray(oneLine, { minLength: 1, maxLength: 6 });

const KINDS: readonly fc.Arbitrary<Kind>[] = [
  of({ type: "string" }, oneLine),
  of({ type: "string", minLength: 1, maxLength: 500 }, fc.oneof(oneLine, lines)),
  of({ type: "string", format: "date" }, day),
  of({ type: "string", format: "date-time" }, moment),
  of({ type: "string", format: "email" }, fc.constant("ann@example.com")),
  of({ type: "string", format: "uri" }, fc.constantFrom("https://example.com/?a=1,2", "urn:x:y")),
  of({ type: "string", format: "uuid" }, fc.uuid()),
  of({ type: "integer" }, fc.maxSafeInteger()),
  fc
    .tuple(fc.integer({ min: -50, max: 0 }), fc.integer({ min: 1, max: 50 }))
    .map(([minimum, maximum]) => ({ schema: { type: "integer", minimum, maximum }, values: fc.integer({ min: minimum, max: maximum }) })),
  of({ type: "number" }, finite),
  of(
    { type: "number", multipleOf: 0.01 },
    fc.nat(1_000_000).map((cents) => Number((cents / 100).toFixed(2))),
  ),
  of({ type: "number", exclusiveMinimum: 0 }, fc.constantFrom(0.1, 5e-324, 1e21, 19.99)),
  of({ type: "boolean" }, fc.boolean()),
  choices.map((values) => ({ schema: { type: "string", enum: values }, values: fc.constantFrom(...values) })),
  choices.map((values) => ({
    schema: { enum: values, enumNames: values.map((each) => `The ${each}`) },
    values: fc.constantFrom(...values),
  })),
  choices.map((values) => ({
    schema: { type: "string", oneOf: values.map((each) => ({ const: each, title: `The ${each}` })) },
    values: fc.constantFrom(...values),
  })),
  choices.map((values) => ({
    schema: { type: "array", uniqueItems: true, items: { anyOf: values.map((each) => ({ const: each, title: `The ${each}` })) } },
    values: fc.subarray([...values], { minLength: 1 }),
  })),
  of({ type: "integer", enum: [5, 10, 25] }, fc.constantFrom(5, 10, 25)),
  of({ enum: ["auto", "1", 1, true, "true"] }, fc.constantFrom<Json[]>("auto", "1", 1, true, "true")),
  of({ type: "array", items: { type: "integer", enum: [1, 2, 3] } }, fc.subarray([1, 2, 3], { minLength: 1 })),
  of({ const: "only" }, fc.constant("only")),
  of({ type: "array", items: { type: "string" } }, fc.array(oneLine, { minLength: 1, maxLength: 4 })),
  of({ type: "array", items: { type: "integer" } }, fc.array(fc.maxSafeInteger(), { minLength: 1, maxLength: 4 })),
  of({ type: "array", items: { type: "number" } }, fc.array(finite, { minLength: 1, maxLength: 4 })),
  of({ type: "array", items: { type: "boolean" } }, fc.array(fc.boolean(), { minLength: 1, maxLength: 4 })),
  of({ type: "array", items: { type: "object" } }, fc.array(fc.dictionary(word, fc.integer()), { minLength: 1, maxLength: 3 })),
  of({ type: "array" }, fc.array(fc.oneof(fc.integer(), oneLine), { minLength: 1, maxLength: 3 })),
  of({ type: "object", properties: { a: { type: "integer" } } }, fc.dictionary(fc.constantFrom("a", "b"), fc.integer())),
  of({ type: "object", additionalProperties: { type: "string" } }, fc.dictionary(word, oneLine)),
  of({ anyOf: [{ type: "string" }, { type: "integer" }] }, oneLine),
  of({ type: ["string", "number"] }, oneLine),
  of({ anyOf: [{ type: "number" }, { type: "integer" }] }, finite),
  of({ anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }] }, fc.array(oneLine, { minLength: 1, maxLength: 3 })),
  of({ anyOf: [{ type: "object" }, { type: "number" }] }, fc.oneof(fc.integer(), fc.dictionary(word, fc.boolean()))),
];

// ── spellings, and forms of several fields ─────────────────────────────────────────────────────────────────────────

type Spell = (schema: JsonObject, defs: JsonObject, at: string) => JsonObject;

function referred(schema: JsonObject, defs: JsonObject, at: string): JsonObject {
  defs[at] = schema;
  return { $ref: `#/$defs/${at}` };
}

const SPELLINGS: readonly Spell[] = [
  (schema) => schema,
  referred,
  (schema, defs, at) => ({ allOf: [referred(schema, defs, at)], description: "What it is" }),
  (schema, defs, at) => ({ anyOf: [referred(schema, defs, at)] }),
];
const ORNULL: Spell = (schema, defs, at) => ({ anyOf: [referred(schema, defs, at), { type: "null" }] });

const field = fc
  .record({ kind: fc.oneof(...KINDS), spell: fc.constantFrom(...SPELLINGS, ORNULL), isRequired: fc.boolean(), isLeftOut: fc.boolean() })
  .chain(({ kind, ...facts }) =>
    kind.values
      // A flag says null in this word, where the field may be null.
      .filter((value) => facts.spell !== ORNULL || value !== "null")
      .map((value) => ({ ...facts, schema: kind.schema, value })),
  );

const forms: fc.Arbitrary<FormCase> = fc
  .uniqueArray(fc.tuple(name, field), { minLength: 1, maxLength: 4, selector: ([each]) => each })
  .map((fields) => {
    const $defs: JsonObject = {};
    const properties = fields.map(([each, { schema, spell }], index): [string, Json] => [each, spell(schema, $defs, `d${index}`)]);
    const given = fields.filter(([, { isRequired, isLeftOut }]) => isRequired || !isLeftOut);
    return {
      schema: {
        type: "object",
        properties: Object.fromEntries(properties),
        required: fields.filter(([, { isRequired }]) => isRequired).map(([each]) => each),
        $defs,
      },
      content: Object.fromEntries(given.map(([each, { value }]) => [each, value])),
    };
  });

/** One of two objects, of which the person fills in one. */
const alternatives: fc.Arbitrary<FormCase> = fc
  .record({ form: forms, isSecond: fc.boolean(), keyword: fc.constantFrom("oneOf", "anyOf"), isReferred: fc.boolean() })
  .map(({ form: { schema, content }, isSecond, keyword, isReferred }) => {
    const { properties, required, $defs } = schema as { properties: JsonObject; required: string[]; $defs: JsonObject };
    const isIn = (at: number) => (_: unknown, index: number) => index % 2 === at;
    const each = [0, 1].map((at): JsonObject => {
      const names = Object.keys(properties).filter(isIn(at));
      const own = Object.entries(properties).filter(([one]) => names.includes(one));
      return {
        type: "object",
        properties: { "the kind": { type: "string", const: `${at}` }, ...Object.fromEntries(own) },
        required: ["the kind", ...required.filter((one) => names.includes(one))],
        additionalProperties: false,
      };
    });
    const names = Object.keys(properties).filter(isIn(Number(isSecond)));
    const given = Object.entries(content).filter(([one]) => names.includes(one));
    const [first, second] = each as [JsonObject, JsonObject];
    return {
      schema: { [keyword]: [isReferred ? { $ref: "#/$defs/first" } : first, second], $defs: { ...$defs, first } },
      content: { "the kind": isSecond ? "1" : "0", ...Object.fromEntries(given) },
    };
  });

describe("a form of any fields keeps every value, which the server accepts,", () => {
  function holds(door: (form: FormCase) => unknown) {
    return fc.property(fc.oneof({ weight: 3, arbitrary: forms }, alternatives), (form) => {
      expect(validate(form.schema, form.content)).toEqual([]);
      expect(door(form)).toEqual(form.content);
    });
  }

  test("in the playground", () => {
    fc.assert(holds(playground), run);
  });

  test("on a page without script, in the person's time zone", () => {
    fc.assert(holds(pageWithoutScript), run);
  });

  test("at the prompts of a terminal", () => {
    fc.assert(holds(prompts), run);
  });

  test("as arguments of parley call", async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(forms, alternatives), async (form) => {
        expect(await argumentsOf({ arg: given(form).map((each) => each.join("=")), flags: [] }, async () => form.schema)).toEqual(
          form.content,
        );
      }),
      run,
    );
  });

  test("as flags of parley call", async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(forms, alternatives), async (form) => {
        const flags = given(form).map(([at, value]) => `--${at}=${value}`);
        expect(await argumentsOf({ arg: [], flags }, async () => form.schema)).toEqual(form.content);
      }),
      run,
    );
  });

  test("as assignments of parley answer", () => {
    fc.assert(
      holds((form) =>
        contentOfSet(
          given(form).map((each) => each.join("=")),
          { message: "", requestedSchema: form.schema },
        ),
      ),
      run,
    );
  });
});

describe("whatever is typed into a field", () => {
  const typedIn = fc.oneof(
    oneLine,
    fc.constantFrom("0", "-1", " 7 ", "1.5", "1,5", "0.29", "1e2", "12345678901234567890", "２０", "{", "[1,2]", '"a"', "2026-02-30", "ja"),
  );
  const single = fc
    .record({ kind: fc.oneof(...KINDS), spell: fc.constantFrom(...SPELLINGS), typed: typedIn })
    .map(({ kind, spell, typed }) => {
      const $defs: JsonObject = {};
      const schema: JsonObject = { type: "object", properties: { at: spell(kind.schema, $defs, "a") }, required: ["at"], $defs };
      return { schema, typed };
    });
  /** What the server takes of what a door sends: the content, or nothing. */
  const taken = (schema: JsonObject, content: JsonObject) => (validate(schema, content).length === 0 ? content : "refused");

  test("is taken alike from the playground, from a page without script and from a prompt, or refused by each", () => {
    fc.assert(
      fc.property(single, ({ schema, typed }) => {
        const [input] = inputsOf(schema);
        const [field] = fieldsOf(schema);
        if (!input || !field) throw new Error("no field");
        // These are not typed, or are typed differently on purpose: an entry a line, and a local time.
        if (isChosen(field) || input.control === "lines" || input.control === "datetime") return;
        const draft = { at: typed };
        const read = contentOf([input], draft);
        const fromPlayground = Object.keys(read.problems).length > 0 ? "refused" : taken(schema, read.content);
        const read2 = contentIn([input], draftIn([input], new URLSearchParams([[controlName(0), typed]])), {
          zone: ZONE,
          locale: "en",
          skipped: "skipped",
        });
        const fromPage = Object.keys(read2.problems).length > 0 ? "refused" : taken(schema, read2.content);
        const entry = readEntry(typed, field);
        const fromPrompt = entry === undefined || (entry === typed && isBroken(typed, field)) ? "refused" : taken(schema, { at: entry });
        expect(fromPage).toEqual(fromPlayground);
        // A prompt also takes a list without its brackets.
        if (field.kind !== "choices") expect(fromPrompt).toEqual(fromPlayground);
        if (!isBroken(typed, field)) expect(taken(schema, { at: readFlag(typed, field) })).toEqual(fromPrompt);
      }),
      { seed: SEED, numRuns: RUNS * 4 },
    );
  });
});
