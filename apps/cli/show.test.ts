import { expect, test } from "vitest";
import { showError } from "./show.ts";

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
