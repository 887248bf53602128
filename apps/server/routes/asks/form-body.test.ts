/** What is filled in before a person has typed anything. */
import { expect, test } from "vitest";
import { questionForm } from "./form-body.ts";

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
