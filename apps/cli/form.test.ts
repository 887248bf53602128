import { describe, expect, test } from "vitest";
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
  test("takes the types of the form", () => {
    expect(contentOf(["size=4", "share=0.5", "window=yes", "dishes=soup,fish", "note=4=four"], FORM)).toEqual({
      size: 4,
      share: 0.5,
      window: true,
      dishes: ["soup", "fish"],
      note: "4=four",
    });
  });

  test("adds up a list that is set more than once, and can be empty", () => {
    expect(contentOf(["dishes=soup", "dishes=fish"], FORM)).toEqual({ dishes: ["soup", "fish"] });
    expect(contentOf(["dishes="], FORM)).toEqual({ dishes: [] });
  });

  test("leaves what is not of the type to the server, which says what is wrong", () => {
    expect(contentOf(["size=four", "window=perhaps", "share="], FORM)).toEqual({ size: "four", window: "perhaps", share: "" });
  });

  test("refuses what is no assignment and what is no field, naming the fields", () => {
    expect(() => contentOf(["size"], FORM)).toThrow("size does not have the form name=value");
    expect(() => contentOf(["seats=4"], FORM)).toThrow("it has size, share, window, dishes, note");
  });
});
