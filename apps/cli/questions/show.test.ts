import { expect, test } from "vitest";
import { showAsk, showError } from "./show.ts";

test.each([
  [
    { code: -32603, message: "the journal is full", data: { code: "JOURNAL_FULL", hint: "Keep large data elsewhere." } },
    "error JOURNAL_FULL: the journal is full\n    Keep large data elsewhere.",
  ],
  [{ code: 7, message: "sold out", data: { left: 0 } }, 'error 7: sold out\n    {"left":0}'],
  [{ code: -32603, message: "tool pay failed (id 1)" }, "error -32603: tool pay failed (id 1)"],
  [{ code: 7, message: "\u001b[2Jsold out" }, "error 7: sold out"],
])("the error %j is shown as %j", (error, shown) => {
  expect(showError(error)).toBe(shown);
});

test.each([
  [{ size: { type: "integer" }, note: { type: "string" } }, ["size"], "--set size=<integer> [--set note=<text>]"],
  [{ day: { type: "string", format: "date" } }, ["day"], "--set day=<YYYY-MM-DD>"],
  [{ note: { type: "string" } }, [], "--accept [--set note=<text>]"],
  [{}, [], "--accept"],
])("the command that answers a form with %j shows what may be left out", (properties, required, options) => {
  const request = { method: "elicitation/create", params: { message: "?", requestedSchema: { type: "object", properties, required } } };
  expect(showAsk("0-Yuag", "details", request)).toBe(`? details: ?\n    parley answer 0-Yuag details ${options}`);
});
