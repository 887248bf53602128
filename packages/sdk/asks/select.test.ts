/** A choice as a property of a form. For asks with one see shorthands.test.ts. */
import { describe, expect, test } from "vitest";
import { WrongOption } from "./field.ts";
import type { SelectOption, SelectOptions } from "./options.ts";
import { OPTIONS_MAX, selectField } from "./select.ts";

const choose = (options: readonly unknown[], more: object = {}) =>
  selectField("q", { message: "?", options: options as readonly SelectOption[], ...more } as SelectOptions);

const many = (count: number) => Array.from({ length: count }, (_, index) => String(index));

describe("a choice", () => {
  test.each<[string, readonly unknown[], object, object]>([
    ["of texts", ["a", "b"], {}, { type: "string", enum: ["a", "b"] }],
    ["of values without titles", [{ value: "a" }, "b"], {}, { type: "string", enum: ["a", "b"] }],
    ["of titles that are the values", [{ value: "a", title: "a" }], {}, { type: "string", enum: ["a"] }],
    [
      "of titles",
      [{ value: "a", title: "A", label: "not shown" }, { value: "b", label: "B" }, "c"],
      {},
      {
        type: "string",
        oneOf: [
          { const: "a", title: "A" },
          { const: "b", title: "B" },
          { const: "c", title: "c" },
        ],
      },
    ],
    [
      "of options with all that is said of them",
      [
        { value: "a", description: "one", category: "c", price: "1 €", quantity: 2, badge: "new" },
        { value: "b", description: "", category: "", quantity: 0 },
        { value: "c", badge: "old" },
      ],
      {},
      {
        type: "string",
        oneOf: [
          { const: "a", title: "a – one (c, 1 €, 2, new)" },
          { const: "b", title: "b (0)" },
          { const: "c", title: "c (old)" },
        ],
      },
    ],
    [
      "some of which are not available",
      [
        "a",
        { value: "b", disabled: true, disabledReason: "sold out" },
        { value: "c", label: "C", disabled: true, disabledReason: "" },
        { value: "d", disabled: true },
      ],
      { hint: "Take one" },
      { type: "string", description: "Take one. Not available: b (sold out), C, d.", enum: ["a"] },
    ],
    ["of several", ["a"], { multi: true }, { type: "array", items: { type: "string", enum: ["a"] } }],
    [
      "of as many as there are",
      ["a", { value: "b", title: "B" }],
      { multi: true, minItems: 2, maxItems: 3, default: ["a", "b"] },
      {
        type: "array",
        minItems: 2,
        maxItems: 3,
        items: {
          anyOf: [
            { const: "a", title: "a" },
            { const: "b", title: "B" },
          ],
        },
      },
    ],
    ["of none", ["a"], { multi: true, minItems: 0, maxItems: 0 }, expect.objectContaining({ minItems: 0, maxItems: 0 })],
  ])("%s", (_what, options, more, property) => {
    const made = choose(options, more).property;
    expect(made).toStrictEqual(typeof (property as { type?: unknown }).type === "string" ? { title: "Q", ...property } : property);
  });

  const some = "must be a string, or an object with a value that is a string";
  const listed = "must be a list of at least one option";
  const whole = "must be a whole number from 0";
  test.each<[string, readonly unknown[], object, string, string]>([
    ["no options", [], {}, "options", listed],
    ["a text in place of options", "ab" as never, {}, "options", listed],
    ["too many", many(OPTIONS_MAX + 1), {}, "options", "are 1001, and may be 1000: ask for a text instead"],
    ["none that can be chosen", [{ value: "a", disabled: true }], {}, "options", "are all disabled: there is nothing to choose"],
    ["a number", ["a", 1], {}, "options/1", some],
    ["null", [null], {}, "options/0", some],
    ["nothing", [undefined], {}, "options/0", some],
    ["an option without a value", ["a", {}], {}, "options/1", some],
    ["one value twice", ["a", { value: "a" }], {}, "options/1", 'has the value "a" of another option'],
    ["one long value twice", ["x".repeat(41), "x".repeat(41)], {}, "options/1", `has the value "${"x".repeat(40)}" of another option`],
    ["a least number of one", ["a"], { minItems: 1 }, "minItems", "goes with multi"],
    ["a most number of one", ["a"], { maxItems: 1 }, "maxItems", "goes with multi"],
    ["a least number that is negative", ["a"], { multi: true, minItems: -1 }, "minItems", whole],
    ["a most number that is not whole", ["a"], { multi: true, maxItems: 0.5 }, "maxItems", whole],
    [
      "more than there are",
      ["a", { value: "b", disabled: true }],
      { multi: true, minItems: 2 },
      "minItems",
      "is 2, and at most 1 can be chosen",
    ],
    ["more than may be", ["a", "b"], { multi: true, minItems: 2, maxItems: 1 }, "minItems", "is 2, and at most 1 can be chosen"],
    ["one default of several", ["a"], { multi: true, default: "a" }, "default", "must be a list of values"],
    ["several defaults of one", ["a"], { default: ["a"] }, "default", "must be one value"],
    ["a default that is not an option", ["a"], { default: "b" }, "default", "is not among the options"],
    ["a default that is not an option, of several", ["a"], { multi: true, default: ["a", "b"] }, "default", "is not among the options"],
    ["a default that is disabled", ["a", { value: "b", disabled: true }], { default: "b" }, "default", "is a disabled option"],
  ])("cannot have %s", (_what, options, more, option, message) => {
    let thrown: unknown;
    try {
      choose(options, more);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(WrongOption);
    expect((thrown as WrongOption).violation).toStrictEqual({ path: `/${option}`, message });
  });

  test("may have a maximum number of options", () => {
    expect(choose(many(OPTIONS_MAX)).property["enum"]).toHaveLength(OPTIONS_MAX);
  });

  test("is checked for duplicates", () => {
    const { judge } = choose(["a", "b"], { multi: true });
    expect([["a", "b"], [], ["a", "a"], "a"].map(judge)).toStrictEqual([
      undefined,
      undefined,
      "must not hold the same option twice",
      undefined,
    ]);
  });
});
