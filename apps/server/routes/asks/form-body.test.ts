/** What is filled in before a person has typed anything, and what is read of a moment that they typed. */
import { expect, test } from "vitest";
import { inputsOf } from "@parley/web/form";
import { contentIn, questionForm } from "./form-body.ts";

const schema = {
  type: "object",
  properties: { to: { type: "string", default: "/tmp/b" }, force: { type: "boolean", default: true } },
  required: ["to"],
};

test.each([
  ["a question", {}, true],
  ["a risky one", { destructive: true }, false],
  ["a risky one whose fields show what will be done", { destructive: true, filledIn: true }, true],
  ["a risky one that was answered, and found wrong", { dangerous: true, problems: { to: "is no address" } }, true],
])("%s has its defaults: %s", (_what, hints, isFilled) => {
  const { inputs } = questionForm({ schema, hints, quorum: undefined });
  expect(inputs.map(({ name, default: preset, isRequired }) => [name, preset, isRequired])).toEqual([
    ["to", isFilled ? "/tmp/b" : undefined, true],
    ["force", isFilled ? true : undefined, !isFilled],
  ]);
});

const moment = inputsOf({ type: "object", properties: { at: { type: "string", format: "date-time" } } });
const SKIPPED = "skipped";

test.each([
  ["2026-12-24T19:30", "2026-12-24T18:30:00Z"],
  ["2026-12-24T19:30:05", "2026-12-24T18:30:05Z"],
  // Browsers without the control send what was typed, with a space, or with a zone.
  ["2026-12-24 19:30", "2026-12-24T18:30:00Z"],
  ["2026-12-24T19:30Z", "2026-12-24T19:30:00Z"],
  ["2026-12-24T19:30+02:00", "2026-12-24T17:30:00Z"],
  ["", undefined],
  ["2026-03-29T02:30", SKIPPED],
  ["2026-03-29 02:30", SKIPPED],
  ["soon", "must be a date and a time"],
])("a moment sent as %j is %s", (typed, read) => {
  const { content, problems } = contentIn(moment, { at: typed }, { zone: "Europe/Berlin", locale: "en", skipped: SKIPPED });
  expect(problems["at"] ?? content["at"]).toBe(read);
});
