/** Which questions a terminal answers in one step. */
import { expect, test } from "vitest";
import { confirmOf } from "./prompts.ts";

const asked = (properties: object, hints?: object) =>
  ({
    message: "Agree?",
    requestedSchema: { type: "object", properties, required: Object.keys(properties) },
    ...(hints && { _meta: { "parley/hints": hints } }),
  }) as unknown as Parameters<typeof confirmOf>[0];
const YES_OR_NO = { agree: { type: "boolean" } };

test.each([
  ["one yes or no", YES_OR_NO, undefined, { name: "agree", yes: "Yes", no: "No" }],
  ["one with words of its own", YES_OR_NO, { submitLabel: "Ship it" }, { name: "agree", yes: "Ship it", no: "No" }],
  ["a page of a wizard that has one before it, which needs a third way", YES_OR_NO, { back: true }, undefined],
  ["a text", { name: { type: "string" } }, undefined, undefined],
])("%s", (_what, properties, hints, confirm) => {
  expect(confirmOf(asked(properties, hints))).toEqual(confirm);
});
