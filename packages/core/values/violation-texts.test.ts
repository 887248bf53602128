import { createValidator } from "@parley/node";
import { describe, expect, test } from "vitest";
import { describeProblems } from "./schema-violation.ts";
import type { Json, JsonObject } from "./json.ts";
import { problemAt } from "./violation-texts.ts";

const validate = createValidator();

describe("what a person reads about a value", () => {
  test.each<[JsonObject, Json, string]>([
    [{ type: "integer", minimum: 1, maximum: 20 }, 40, "must be between 1 and 20"],
    [{ type: "integer", minimum: 1, maximum: 20 }, 0, "must be between 1 and 20"],
    [{ minimum: 3, maximum: 3 }, 4, "must be exactly 3"],
    [{ maximum: 20 }, 40, "must be at most 20"],
    [{ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }, 0, "must be at least 1"],
    [{ exclusiveMinimum: 0 }, 0, "must be more than 0"],
    [{ exclusiveMaximum: 1 }, 1, "must be less than 1"],
    [{ multipleOf: 0.05 }, 0.07, "must be a multiple of 0.05"],
    [{ multipleOf: 1 }, 0.5, "must be a whole number"],
    [{ minLength: 1 }, "", "must have at least 1 character"],
    [{ minLength: 2 }, "a", "must have at least 2 characters"],
    [{ maxLength: 1 }, "ab", "must have at most 1 character"],
    [{ minLength: 2, maxLength: 4 }, "a", "must have between 2 and 4 characters"],
    [{ minLength: 6, maxLength: 6 }, "a", "must have exactly 6 characters"],
    [{ maxLength: 0 }, "a", "must be empty"],
    [{ minItems: 1 }, [], "must have at least 1 entry"],
    [{ maxItems: 2 }, [1, 2, 3], "must have at most 2 entries"],
    [{ minProperties: 1 }, {}, "must have at least 1 field"],
    [{ uniqueItems: true }, [1, 1], "must not hold the same item twice"],
    [{ pattern: "^[A-Z]{3}$" }, "a", "is not written as expected"],
    [{ pattern: "^[A-Z]{3}$", examples: ["FRA"] }, "a", "is not written as expected, such as FRA"],
    [{ format: "email" }, "a", "must be an e-mail address, such as ann@example.com"],
    [{ format: "date" }, "2026-02-31", "must be a date that exists, such as 2026-12-24"],
    [{ type: ["integer", "null"] }, "a", "must be a whole number or null"],
    [{ type: "string" }, 4, "must be a text"],
    [{ enum: ["a", 1] }, "b", 'must be one of "a", 1'],
    [{ enum: Array.from({ length: 30 }, (_, index) => index) }, "b", "must be one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, and 20 more"],
    [{ const: "a" }, "b", 'must be "a"'],
    [{ not: { type: "string" } }, "b", "is not allowed here"],
  ])("%j of %j is a sentence: %s", (schema, value, text) => {
    expect(validate({ properties: { field: schema } }, { field: value }).at(-1)?.message).toBe(text);
  });

  test("names fields by their titles or names, never by a pointer", () => {
    expect(
      describeProblems([
        { path: "/party-size/content/n", message: "must be at most 20", label: "Party size" },
        { path: "/party-size/content/a~1b", message: "is required" },
        { path: "/content/guests/0/name", message: "is required" },
        { path: "", message: "Choose one" },
      ]),
    ).toBe("Party size must be at most 20; a/b is required; Guests 1 name is required; the answer: Choose one");
  });

  test("continues with a text of ours, and separates an author's sentence", () => {
    expect(problemAt("Party size", "must be at most 20")).toBe("Party size must be at most 20");
    expect(problemAt("Return", "the return must not be before the start")).toBe("Return: the return must not be before the start");
    expect(problemAt("Return", "isolated sites have no return")).toBe("Return: isolated sites have no return");
  });
});
