import { describe, expect, test } from "vitest";
import { descriptionOf, hintsOf, messageOf, titleOf } from "./wording.ts";

const message = "Send?";

test.each<[object, string]>([
  [{}, "Send?"],
  [{ dangerous: true }, "⚠️ Send?"],
  [{ destructive: true }, "⚠️ Send?"],
  [{ destructive: true, dangerous: true, icon: "📨" }, "⚠️ 📨 Send?"],
  [{ destructive: false, dangerous: false, preview: "" }, "Send?"],
  [{ preview: "Dear Ada" }, "Send?\n\nDear Ada"],
  [{ icon: "mail.png" }, "Send?"],
  [{ icon: "📨.png" }, "Send?"],
  [{ icon: "x📨" }, "Send?"],
  [{ icon: "" }, "Send?"],
  [{ icon: "📨".repeat(8) }, `${"📨".repeat(8)} Send?`],
  [{ icon: "📨".repeat(9) }, "Send?"],
])("the message of an ask with %j", (options, said) => {
  expect(messageOf({ message, ...options })).toBe(said);
});

describe("the description", () => {
  test.each<[object, readonly string[], object]>([
    [{}, [], {}],
    [{ description: "", hint: "" }, [""], {}],
    [
      { description: "As on the passport", hint: "Ask your mother!" },
      ["At most 40"],
      { description: "As on the passport. Ask your mother! At most 40." },
    ],
    [{ submitLabel: "Go", cancelLabel: "Stay" }, [], { description: "Accept: “Go”. Decline: “Stay”." }],
    [{ submitLabel: "Go" }, [], { description: "Accept: “Go”." }],
    [{ cancelLabel: "Stay" }, [], { description: "Decline: “Stay”." }],
    [{ hint: "  Is it?  " }, [], { description: "Is it?" }],
    [{ hint: " so " }, [], { description: "so." }],
    [{ hint: " And more… " }, ["what. then"], { description: "And more… what. then." }],
  ])("of %j and %j", (options, notes, description) => {
    expect(descriptionOf({ message, ...options }, notes)).toStrictEqual(description);
  });
});

test.each<[string, object, string]>([
  ["party-size", {}, "Party size"],
  ["party-size", { label: "How many" }, "How many"],
  ["party-size", { label: "" }, ""],
  ["partySize2Max", {}, "Party size2 max"],
  ["a.b_c d--e", {}, "A b c d e"],
  ["-x-", {}, "X"],
  ["ask_0", {}, "Answer"],
  ["ask_12_3_45", {}, "Answer"],
  ["ask_0_", {}, "Ask 0"],
  ["ask_x", {}, "Ask x"],
  ["task_0", {}, "Task 0"],
  ["ask_0_more", {}, "Ask 0 more"],
])("the title of %s with %j", (name, options, title) => {
  expect(titleOf(name, { message, ...options })).toStrictEqual({ title });
});

describe("hints", () => {
  test("are what the form does not express already", () => {
    const said = {
      ask: "text",
      id: "q",
      elicitationId: "q",
      message,
      schema: {},
      url: "https://pay.example",
      returnTo: "back",
      timeout: "1 day",
      expires: "1 day",
      signal: new AbortController().signal,
      to: "tenant",
      not: "caller",
      required: true,
      default: "x",
      onDecline: "default",
      onCancel: "default",
      onInvalid: "default",
      onTimeout: "default",
      min: 1,
      max: 2,
      minLength: 1,
      maxLength: 2,
      minItems: 1,
      maxItems: 2,
      pattern: "^A",
      format: "uri",
      label: "Q",
      description: "A question",
      multi: true,
      includeTime: true,
    };
    expect(hintsOf(said)).toBeUndefined();
    expect(hintsOf({ icon: undefined })).toBeUndefined();
    expect(hintsOf({ ...said, icon: "📨", hint: undefined, step: 0 })).toStrictEqual({ icon: "📨", step: 0 });
  });

  test("include options if these have more than strings", () => {
    expect(hintsOf({ options: ["a", "b"] })).toBeUndefined();
    expect(hintsOf({ options: ["a", { value: "b" }] })).toStrictEqual({ options: ["a", { value: "b" }] });
    expect(hintsOf({ options: "a" })).toStrictEqual({ options: "a" });
    expect(hintsOf({ rows: ["a"] })).toStrictEqual({ rows: ["a"] });
  });

  test("are plain data", () => {
    expect(() => hintsOf({ icon: new Map() })).toThrow("the options of the ask is not plain data: /icon is a Map");
  });
});
