import { describe, expect, test } from "vitest";
import { formatHint } from "./entry.ts";
import { contentOf, type Form } from "./form.ts";

const FORM: Form = {
  message: "?",
  requestedSchema: {
    properties: {
      size: { type: "integer" },
      share: { type: "number" },
      window: { type: "boolean" },
      dishes: { type: "array", items: { enum: ["soup", "fish"] } },
      note: { type: "string" },
    },
  },
};

describe("an answer from --set", () => {
  test("has the types of the form", () => {
    expect(contentOf(["size=4", "share=0.5", "window=yes", "dishes=soup,fish", "note=4=four"], FORM)).toEqual({
      size: 4,
      share: 0.5,
      window: true,
      dishes: ["soup", "fish"],
      note: "4=four",
    });
  });

  test("collects a list that is set more than once, and can be empty", () => {
    expect(contentOf(["dishes=soup", "dishes=fish"], FORM)).toEqual({ dishes: ["soup", "fish"] });
    expect(contentOf(["dishes="], FORM)).toEqual({ dishes: [] });
  });

  test("passes values of another type on to the server, which reports the problem", () => {
    expect(contentOf(["size=four", "window=perhaps", "share="], FORM)).toEqual({ size: "four", window: "perhaps", share: "" });
  });

  test("refuses an item that is not an assignment or names no field, and lists the fields", () => {
    expect(() => contentOf(["size"], FORM)).toThrow("size does not have the form name=value");
    expect(() => contentOf(["seats=4"], FORM)).toThrow("it has size, share, window, dishes, note");
  });
});

test("dates and times are asked for with how to write them", () => {
  const hints = ["date", "date-time", "time", "email", "toString"].map((format) => formatHint({ schema: { type: "string", format } }));
  expect(hints).toEqual(["YYYY-MM-DD", "such as 2026-12-24T19:30:00Z", "such as 19:30:00", undefined, undefined]);
  expect(formatHint({ schema: { type: "string" } })).toBeUndefined();
});
