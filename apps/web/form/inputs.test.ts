import type { Choice, JsonObject } from "@parley/core/form";
import { describe, expect, test } from "vitest";
import { contentOf, fewChoices, inputsOf, noteOf, problemsIn, untouched } from "./inputs.ts";

const field = (schema: JsonObject, isRequired = true) => {
  const [input] = inputsOf({ type: "object", properties: { it: schema }, ...(isRequired && { required: ["it"] }) });
  if (!input) throw new Error("no field");
  return input;
};

const of = (schema: JsonObject, typed: string | boolean | string[], isRequired = true) => {
  const { content, problems } = contentOf([field(schema, isRequired)], { it: typed });
  return problems["it"] ?? content;
};

const OTHER = "is none of the choices";
const NO_NUMBER = "must be a number, such as 1234.5";
const TWO_WAYS = "can be read in two ways: no points between thousands, please";

describe("a control", () => {
  test.each<[JsonObject, string]>([
    [{ type: "string" }, "text"],
    [{ type: "string", maxLength: 150 }, "text"],
    [{ type: "string", maxLength: 151 }, "area"],
    [{ type: "string", format: "email" }, "email"],
    [{ type: "string", format: "uri" }, "url"],
    [{ type: "string", format: "date" }, "date"],
    [{ type: "string", format: "date-time" }, "datetime"],
    [{ type: "string", enum: ["a"] }, "select"],
    [{ type: "string", oneOf: [{ const: "a", title: "A" }] }, "select"],
    [{ type: "integer" }, "number"],
    [{ type: "boolean" }, "tristate"],
    [{ type: "boolean", default: false }, "checkbox"],
    [{ type: "array", items: { type: "string", enum: ["a"] } }, "checks"],
    [{ type: "array", items: { type: "string" } }, "lines"],
    [{ type: "array", items: { type: "number" } }, "lines"],
    [{ anyOf: [{ enum: ["a", "b"] }, { type: "string" }] }, "text"],
    [{ anyOf: [{ type: "integer" }, { type: "string", const: "auto" }] }, "text"],
    [{ anyOf: [{ type: "boolean" }, { type: "string", const: "auto" }] }, "select"],
    [{ type: ["integer", "string"], format: "date-time" }, "text"],
    [{ type: ["boolean"] }, "tristate"],
    [{ type: "array", items: { type: "object" } }, "json"],
    [{ type: "object", properties: {} }, "json"],
    [{ anyOf: [{ type: "string" }, { type: "number" }] }, "text"],
    [{ anyOf: [{ type: "object" }, { type: "number" }] }, "json"],
    [{ type: "string", default: "Dear Ann,\n\nBo" }, "area"],
    [{ type: "integer", enum: [5, 10] }, "select"],
    [{ anyOf: [{ type: "string" }, { type: "null" }] }, "text"],
    [{ type: ["integer", "null"] }, "number"],
    [{ anyOf: [{ type: "boolean" }, { type: "null" }] }, "tristate"],
    [{ anyOf: [{ enum: ["a"] }, { type: "null" }], default: null }, "select"],
    [{}, "json"],
  ])("for %j is %s", (schema, control) => {
    expect(field(schema).control).toBe(control);
  });

  test("of a few choices shows all of them, with the one to leave it empty, and nothing chosen for a yes or no", () => {
    const words = { yes: "Yes", no: "No", none: "none", titleOf: ({ value, title = value }: Choice) => title };
    const few = (schema: JsonObject, isRequired = true) =>
      fewChoices(field(schema, isRequired), words)?.map(([value, title]) => `${value}:${title}`);
    const letters = (count: number) => ({ type: "string", enum: ["a", "b", "c", "d", "e", "f"].slice(0, count) });
    expect(few({ type: "boolean" })).toEqual(["true:Yes", "false:No"]);
    expect(few({ type: "boolean" }, false)).toEqual([":none", "true:Yes", "false:No"]);
    expect(
      few(
        {
          oneOf: [
            { const: "a", title: "A" },
            { const: 2, title: "B" },
          ],
        },
        false,
      ),
    ).toEqual([":none", "0:A", "1:B"]);
    expect([few(letters(5))?.length, few(letters(5), false)?.length, few(letters(6))]).toEqual([5, 6, undefined]);
    for (const schema of [{ type: "boolean", default: true }, { type: "array", items: letters(2) }, { type: "string" }])
      expect(few(schema)).toBeUndefined();
    expect([of({ type: "boolean" }, ""), of({ type: "boolean" }, "", false), of({ type: "boolean" }, "false")]).toEqual([
      "is required",
      {},
      { it: false },
    ]);
  });

  test("has nothing chosen where it cannot be undone, whatever the default is", () => {
    const schema = {
      type: "object",
      properties: { all: { type: "boolean", default: true }, of: { type: "string", enum: ["a"], default: "a" } },
    };
    const shown = inputsOf(schema, { destructive: true });
    expect(shown.map(({ control, isRequired }) => [control, isRequired])).toEqual([
      ["tristate", true],
      ["select", true],
    ]);
    expect(contentOf(shown, {}).problems).toEqual({ all: "is required", of: "is required" });
    expect(inputsOf(schema).map(({ control }) => control)).toEqual(["checkbox", "select"]);
  });

  test("describes its limits, except those of JavaScript's numbers", () => {
    expect(field({ type: "integer", minimum: 1, maximum: 20 }).hint).toBe("a whole number, 1 to 20");
    expect(field({ type: "integer", minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }).hint).toBe("a whole number");
    expect(field({ type: "string", minLength: 3, pattern: "^a" }).hint).toBe("at least 3 characters");
    expect(field({ type: "string", pattern: "^[A-Z]{3}$", examples: ["FRA"] }).hint).toBe("such as FRA");
    expect(field({ type: "string", format: "date", pattern: "^long$" }).hint).toBe("");
    expect(field({ type: ["integer", "string"], format: "date-time" }).hint).toBe("");
    expect(field({ type: "array", items: { type: "string", enum: ["a", "b"] }, minItems: 2, maxItems: 2 }).hint).toBe("exactly 2 of these");
    expect(field({ type: "number", exclusiveMinimum: 0, multipleOf: 0.5 }).hint).toBe("more than 0, in steps of 0.5");
  });

  test("starts with its default", () => {
    expect(untouched(field({ type: "string", default: "a" }))).toBe("a");
    expect(untouched(field({ type: "number", default: 0 }))).toBe("0");
    expect(untouched(field({ type: "boolean", default: true }))).toBe(true);
    expect(untouched(field({ type: "array", items: { type: "string", enum: ["a"] }, default: ["a"] }))).toEqual(["a"]);
    expect(untouched(field({ type: "object", default: { a: 1 } }))).toBe('{\n  "a": 1\n}');
  });
});

describe("content", () => {
  test("has the default of a moment as it is unless it was changed, and a moment in whole seconds otherwise", () => {
    const at = "2026-10-25T01:30:00.123Z";
    const moment = field({ type: "string", format: "date-time", default: at });
    expect(contentOf([moment], {}).content).toEqual({ it: at });
    expect(contentOf([moment], { it: untouched(moment) }).content).toEqual({ it: at });
    const typed = "2026-12-24T19:30:05";
    const changed = new Date(typed).toISOString().replace(".000Z", "Z");
    expect([changed, contentOf([moment], { it: typed }).content]).toEqual([expect.stringMatching(/:05Z$/), { it: changed }]);
  });

  test("may be a number beside a moment, and its default is sent as it is", () => {
    const either = field({ type: ["integer", "string"], format: "date-time", default: 5 });
    expect([untouched(either), contentOf([either], {}).content]).toEqual(["5", { it: 5 }]);
    expect(contentOf([either], { it: "1766601000" }).content).toEqual({ it: 1_766_601_000 });
  });

  test("has the types of its fields", () => {
    expect(of({ type: "integer" }, "4")).toEqual({ it: 4 });
    expect(of({ type: "number" }, " 1.5 ")).toEqual({ it: 1.5 });
    expect(of({ type: "boolean" }, false)).toEqual({ it: false });
    expect(of({ type: "boolean" }, "false", false)).toEqual({ it: false });
    expect(of({ type: "array", items: { type: "string" } }, " one \n\ntwo")).toEqual({ it: [" one ", "two"] });
    expect(of({ type: "object" }, '{"a":[1]}')).toEqual({ it: { a: [1] } });
    expect(of({ type: "string", format: "date-time" }, "2026-12-24T19:30:00")).toEqual({
      it: new Date("2026-12-24T19:30:00").toISOString().replace(".000", ""),
    });
  });

  test("omits empty optional fields, and reports missing required fields", () => {
    for (const schema of [{ type: "string" }, { type: "number" }, { type: "string", enum: ["a"] }, { type: "object" }]) {
      expect(of(schema, "", false)).toEqual({});
      expect(of(schema, "")).toBe("is required");
    }
    expect(of({ type: "array", items: { type: "string", enum: ["a"] } }, [], false)).toEqual({});
    expect(of({ type: "array", items: { type: "string", enum: ["a"] } }, [])).toEqual({ it: [] });
    // The default of this field is the empty string.
    expect(of({ type: "string", default: "" }, "")).toEqual({ it: "" });
  });

  test("has an empty list where a person has emptied one that had a default", () => {
    const days = { type: "array", items: { type: "string", enum: ["mon", "tue"] }, default: ["tue"] };
    expect([of(days, [], false), of({ ...days, default: [] }, [], false)]).toEqual([{ it: [] }, {}]);
    expect(of({ type: "array", items: { type: "string" }, default: ["a", "b"] }, " \n", false)).toEqual({ it: [] });
  });

  test("has null where a field that may be null is required and empty", () => {
    for (const type of ["string", "integer", "boolean"]) {
      const schema = { anyOf: [{ type }, { type: "null" }], default: null };
      expect([of(schema, ""), of(schema, "", false)]).toEqual([{ it: null }, {}]);
    }
    expect(of({ type: ["integer", "null"] }, "4")).toEqual({ it: 4 });
    expect(of({ type: ["string", "null"] }, "four")).toEqual({ it: "four" });
  });

  test("of a choice is the choice with that position, also if it is the empty string", () => {
    for (const isRequired of [true, false]) {
      expect(of({ type: "string", enum: ["", "a"] }, "0", isRequired)).toEqual({ it: "" });
      expect(of({ type: "string", enum: ["", "a"] }, "1", isRequired)).toEqual({ it: "a" });
    }
    expect(untouched(field({ type: "string", enum: ["a", ""], default: "" }))).toBe("1");
    expect(untouched(field({ type: "string", enum: ["a"], default: "not a choice" }))).toBe("");
  });

  test("reports values that cannot be read as their type", () => {
    expect(of({ type: "integer" }, "four")).toBe("must be a whole number, in digits only");
    expect(of({ type: "integer" }, "1.000")).toBe("must be a whole number, in digits only");
    expect(of({ type: "number" }, "1,500")).toBe("must be a number, such as 1234.5");
    expect(of({ type: "integer" }, "123456789012345678")).toBe("has more digits than a number can have");
    expect(of({ type: "object" }, "{")).toMatch(/^is not JSON: /);
    expect(of({ type: "string", format: "date-time" }, "soon")).toBe("must be a date and a time");
  });

  test.each<[locale: string, typed: string, read: number | string]>([
    ["en", "1,5", 1.5],
    ["en", "-0,25", -0.25],
    ["en", "10.000", 10],
    ["en", "10,000", NO_NUMBER],
    ["de", "1,5", 1.5],
    ["de", "1,125", 1.125],
    ["de", "1.5", 1.5],
    ["de", "0.125", 0.125],
    ["de", "1234.567", 1234.567],
    ["de", "10.000", TWO_WAYS],
    ["de", "-1.000.000", TWO_WAYS],
    ["de", "1.234,5", NO_NUMBER],
    ["de", "1,2,3", NO_NUMBER],
    ["de-CH", "10.000", 10],
  ])("of a number is read as a person of %s writes %s, or not at all", (locale, typed, read) => {
    const number = field({ type: "number" });
    const list = field({ type: "array", items: { type: "number" } });
    const ofNumber = contentOf([number], { it: typed }, locale);
    const ofList = contentOf([list], { it: `7\n${typed}` }, locale);
    expect(ofNumber.problems["it"] ?? ofNumber.content["it"]).toBe(read);
    // In a list, what is no number is the server's to refuse.
    const expected = read === TWO_WAYS ? { problems: { it: read } } : { content: { it: [7, read === NO_NUMBER ? typed : read] } };
    expect(ofList).toMatchObject(expected);
  });

  test.each<[JsonObject, string, string]>([
    ...["maybe", "yes", "TRUE", "0", "on"].map((typed): [JsonObject, string, string] => [{ type: "boolean" }, typed, OTHER]),
    ...["on", "false", "", "1"].map((typed): [JsonObject, string, string] => [{ type: "boolean", default: true }, typed, OTHER]),
    ...["1", "-1", "0.0", "0x0", " 0", "a"].map((typed): [JsonObject, string, string] => [{ enum: ["a"] }, typed, OTHER]),
    ...["1", "2026", "2026-02-30T10:00", "2026-04-31T10:00:00", "12/24/2026 10:00", "2026-12-24", "24:00"].map(
      (typed): [JsonObject, string, string] => [{ type: "string", format: "date-time" }, typed, "must be a date and a time"],
    ),
  ])("of %j is refused if its control does not offer it, such as %j", (schema, typed, problem) => {
    for (const isRequired of [true, false]) expect(of(schema, typed, isRequired)).toBe(problem);
  });

  test.each(["2026-12-24T19:30", "2026-12-24T19:30:00", "2026-12-24 19:30", "2026-12-24 19:30:00.5"])(
    "of a moment is what a control sends and what people type where there is none, such as %s",
    (typed) => {
      expect(of({ type: "string", format: "date-time" }, typed)).toEqual({ it: new Date(typed).toISOString().replace(".000Z", "Z") });
    },
  );

  test.each([
    ["Europe/Berlin", "2026-10-25T02:30", true],
    ["Europe/Berlin", "2026-10-25T03:00", false],
    ["Europe/Berlin", "2026-10-25T01:59", false],
    // Set back by half an hour, at two.
    ["Australia/Lord_Howe", "2026-04-05T01:45", true],
    ["Australia/Lord_Howe", "2026-04-05T01:15", false],
    ["Australia/Lord_Howe", "2026-04-05T02:00", false],
  ])("of a moment that a clock in %s shows at %s is said to be meant the first time: %s", (zone, typed, isSaid) => {
    const { TZ } = process.env;
    try {
      process.env["TZ"] = zone;
      expect(noteOf(field({ type: "string", format: "date-time" }), typed) !== "").toBe(isSaid);
    } finally {
      if (TZ === undefined) delete process.env["TZ"];
      else process.env["TZ"] = TZ;
    }
  });

  test("may have fields of any name", () => {
    const inputs = inputsOf(JSON.parse('{"properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"}}}') as JsonObject);
    const draft = JSON.parse('{"__proto__":"a"}') as Record<string, string>;
    expect(JSON.stringify(contentOf(inputs, draft).content)).toBe('{"__proto__":"a"}');
  });
});

test("violations are assigned to their fields in every dialect's notation, and those without a field are kept", () => {
  const inputs = inputsOf({ properties: { size: { type: "integer" }, "a/b": { type: "string" } } });
  const at = (path: string) => problemsIn([{ path, message: "is wrong" }], inputs);
  expect(at("/content/size")).toEqual({ size: "is wrong" });
  expect(at("/party-size/content/size")).toEqual({ size: "is wrong" });
  expect(at("/size")).toEqual({ size: "is wrong" });
  expect(at("/content/a~1b")).toEqual({ "a/b": "is wrong" });
  expect(at("/size/0/name")).toEqual({ size: "entry 1: name: is wrong" });
  expect(at("/content")).toEqual({ "": "is wrong" });
  expect(at("/content/other~1one")).toEqual({ "": "other/one: is wrong" });
  expect(at("")).toEqual({ "": "is wrong" });
});
