/**
 * Fields as properties of a form, and as checks of what a form cannot express. For asks with a field see
 * shorthands.test.ts.
 */
import { describe, expect, test } from "vitest";
import { confirmField, dateField, type Field, numberField, textField, WrongOption } from "./field.ts";

const message = "?";

function wrongOption(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    if (error instanceof WrongOption) return { message: error.message, violation: error.violation };
    throw error;
  }
  throw new Error("no option was wrong");
}

/** The verdict on each value. */
function verdicts({ judge }: Field, values: readonly unknown[]): unknown {
  return values.map((value) => judge(value));
}

describe("a text", () => {
  test.each<[object, object]>([
    [{}, {}],
    [{ placeholder: "" }, {}],
    [{ placeholder: "Ada" }, { description: "Example: Ada." }],
    [
      { minLength: 0, maxLength: 0 },
      { minLength: 0, maxLength: 0 },
    ],
    [
      { minLength: 3, maxLength: 3 },
      { minLength: 3, maxLength: 3 },
    ],
    [{ pattern: "^A" }, { pattern: "^A" }],
    [{ format: "email" }, { format: "email" }],
    [{ format: "uri" }, { format: "uri" }],
  ])("with %j", (options, property) => {
    const field = textField("nick-name", { message, ...options });
    expect(field.property).toStrictEqual({ type: "string", title: "Nick name", ...property });
    expect(field.judge("anything")).toBeUndefined();
  });

  test.each<[object, string, string]>([
    [{ minLength: -1 }, "minLength", "must be a whole number from 0"],
    [{ minLength: 1.5 }, "minLength", "must be a whole number from 0"],
    [{ maxLength: -1 }, "maxLength", "must be a whole number from 0"],
    [{ minLength: 3, maxLength: 2 }, "minLength", "is 3 and more than maxLength, which is 2"],
    [{ pattern: /^A/ }, "pattern", "must be the source of a regular expression"],
    [{ format: "date" }, "format", 'must be "email" or "uri"'],
    [{ pattern: "^A", format: "uri" }, "pattern", "cannot be combined with format"],
  ])("not with %j", (options, option, problem) => {
    expect(wrongOption(() => textField("q", { message, ...options }))).toStrictEqual({
      message: problem,
      violation: { path: `/${option}`, message: problem },
    });
  });
});

describe("a number", () => {
  test.each<[object, object]>([
    [{}, { type: "number" }],
    [
      { min: 0, max: 0 },
      { type: "number", minimum: 0, maximum: 0 },
    ],
    [{ step: 1 }, { type: "integer" }],
    [{ step: 2 }, { type: "integer", description: "In steps of 2." }],
    [
      { step: 1, min: 3 },
      { type: "integer", minimum: 3 },
    ],
    [
      { step: 1, min: 0.5 },
      { type: "number", minimum: 0.5, description: "In steps of 1 from 0.5." },
    ],
    [
      { step: 0.5, min: 1 },
      { type: "number", minimum: 1, description: "In steps of 0.5 from 1." },
    ],
  ])("with %j", (options, property) => {
    expect(numberField("q", { message, ...options }).property).toStrictEqual({ title: "Q", ...property });
  });

  test.each<[object, string, string]>([
    [{ min: Number.NaN }, "min", "must be a finite number"],
    [{ max: Infinity }, "max", "must be a finite number"],
    [{ step: "1" }, "step", "must be a finite number"],
    [{ step: 0 }, "step", "must be more than 0"],
    [{ step: -1 }, "step", "must be more than 0"],
    [{ min: 3, max: 2 }, "min", "is 3 and more than max, which is 2"],
  ])("not with %j", (options, option, problem) => {
    expect(wrongOption(() => numberField("q", { message, ...options }))).toStrictEqual({
      message: problem,
      violation: { path: `/${option}`, message: problem },
    });
  });

  test("is checked for its steps, starting at its minimum", () => {
    const tens = "must be in steps of 10 from 5";
    expect(verdicts(numberField("q", { message, step: 10, min: 5 }), [5, 15, 10, 6, -5])).toStrictEqual([
      undefined,
      undefined,
      tens,
      tens,
      undefined,
    ]);
    expect(verdicts(numberField("q", { message, step: 3, min: 1 }), [4, 2])).toStrictEqual([undefined, "must be in steps of 3 from 1"]);
    const halves = "must be in steps of 0.5";
    expect(verdicts(numberField("q", { message, step: 0.5 }), [0, 0.5, 0.25, 1.4])).toStrictEqual([undefined, undefined, halves, halves]);
    // 0.3 / 0.1 is 2.9999999999999996, and a large number is off by more than that.
    const tenths = "must be in steps of 0.1";
    expect(verdicts(numberField("q", { message, step: 0.1 }), [0.3, 98_765_432.1, 0.30001, -0.25])).toStrictEqual([
      undefined,
      undefined,
      tenths,
      tenths,
    ]);
  });

  test("is checked for its steps however large it is", () => {
    const twos = "must be in steps of 2";
    expect(verdicts(numberField("q", { message, step: 2 }), [1_000_000_001, 1_000_000_002, 2 ** 45 + 1, -1_000_000_001])).toStrictEqual([
      twos,
      undefined,
      twos,
      twos,
    ]);
    const cents = "must be in steps of 0.01 from 0.01";
    const cent = numberField("q", { message, step: 0.01, min: 0.01 });
    expect(verdicts(cent, [50_000_000.005, 50_000_000.01, 9_999_999_999.99, 0.07])).toStrictEqual([cents, undefined, undefined, undefined]);
  });

  test("without steps, and values that are not numbers, are left to the form", () => {
    expect(verdicts(numberField("q", { message }), [0.1234])).toStrictEqual([undefined]);
    expect(verdicts(numberField("q", { message, step: 2 }), ["1"])).toStrictEqual([undefined]);
  });
});

test("a boolean is checked by the form alone", () => {
  const field = confirmField("are-you-sure", { message, hint: "Think" });
  expect(field.property).toStrictEqual({ type: "boolean", title: "Are you sure", description: "Think." });
  expect(verdicts(field, [true, false])).toStrictEqual([undefined, undefined]);
});

describe("a date", () => {
  const least = "2026-12-01";
  const most = "2026-12-24";

  test.each<[object, object]>([
    [{}, { format: "date" }],
    [{ includeTime: true }, { format: "date-time" }],
    [{ min: least }, { format: "date", description: "2026-12-01 or later." }],
    [{ max: most }, { format: "date", description: "2026-12-24 or earlier." }],
    [
      { min: least, max: most },
      { format: "date", description: "From 2026-12-01 to 2026-12-24." },
    ],
    [
      { min: most, max: most },
      { format: "date", description: "From 2026-12-24 to 2026-12-24." },
    ],
    [{ min: "2026-12-24T19:30Z" }, { format: "date", description: "2026-12-24T19:30Z or later." }],
    [{ min: "2026-12-24T19:30:05Z" }, { format: "date", description: "2026-12-24T19:30:05Z or later." }],
    [{ min: "2026-12-24T19:30:05.123+01:00" }, { format: "date", description: "2026-12-24T19:30:05.123+01:00 or later." }],
  ])("with %j", (options, property) => {
    expect(dateField("q", { message, ...options }).property).toStrictEqual({ type: "string", title: "Q", ...property });
  });

  const none = 'must be a day such as "2026-12-24", or a moment such as "2026-12-24T19:30:00Z"';
  test.each<[object, string, string]>([
    [{ min: "soon" }, "min", none],
    [{ max: "2026-02-31" }, "max", none],
    [{ max: "2026-12-32" }, "max", none],
    [{ max: "2026-02-31T19:30:00Z" }, "max", none],
    [{ min: "12/24/2026" }, "min", none],
    [{ min: "on 2026-12-24" }, "min", none],
    [{ min: "2026-12-24 at noon" }, "min", none],
    [{ min: "2026-12-24T19:30:00" }, "min", none],
    [{ min: 5 }, "min", none],
    [{ min: [least] }, "min", none],
    [{ min: most, max: least }, "min", "is after max, which is 2026-12-01"],
  ])("not with %j", (options, option, problem) => {
    expect(wrongOption(() => dateField("q", { message, ...options }))).toStrictEqual({
      message: problem,
      violation: { path: `/${option}`, message: problem },
    });
  });

  test("is checked for its bounds, which are inclusive", () => {
    const range = "must be from 2026-12-01 to 2026-12-24";
    expect(verdicts(dateField("q", { message, min: least, max: most }), ["2026-11-30", least, most, "2026-12-25"])).toStrictEqual([
      range,
      undefined,
      undefined,
      range,
    ]);
    expect(verdicts(dateField("q", { message, min: least }), ["2026-11-30", "2027-01-01"])).toStrictEqual([
      "must be 2026-12-01 or later",
      undefined,
    ]);
    expect(verdicts(dateField("q", { message, max: most }), ["2026-12-25", "2020-01-01"])).toStrictEqual([
      "must be 2026-12-24 or earlier",
      undefined,
    ]);
    expect(verdicts(dateField("q", { message }), ["2026-12-25"])).toStrictEqual([undefined]);
  });

  test("with a time is within its last day until midnight", () => {
    const range = "must be from 2026-12-01 to 2026-12-24";
    const field = dateField("q", { message, includeTime: true, min: least, max: most });
    expect(verdicts(field, ["2026-12-01T00:00:00+01:00", "2026-12-24T19:30:00Z", "2026-12-24T23:59:59-08:00"])).toStrictEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(verdicts(field, ["2026-11-30T23:59:59Z", "2026-12-25T00:00:00Z"])).toStrictEqual([range, range]);
  });

  test("that JavaScript cannot read is refused, with any bounds and without", () => {
    for (const bounds of [{}, { min: least }, { max: most }]) {
      expect(verdicts(dateField("q", { message, ...bounds }), ["no day"])).toStrictEqual(['must be a day such as "2026-12-24"']);
      const wrong = 'must be a moment such as "2026-12-24T19:30:00Z"';
      expect(
        verdicts(dateField("q", { message, includeTime: true, ...bounds }), ["2026-12-24T19:30:00+01", "2026-12-20T23:59:60Z"]),
      ).toStrictEqual([wrong, wrong]);
    }
  });
});
