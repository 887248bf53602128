import { expect, test } from "vitest";
import type { AskRequest } from "@parley/core";
import { capabilityRequired, requiredCapabilities } from "./capabilities.ts";

const form: AskRequest = { type: "form", message: "?", schema: { type: "object" } };
const url: AskRequest = { type: "url", message: "?", url: "https://example.com" };
const sampling: AskRequest = { type: "sampling", params: { messages: [], maxTokens: 1 } };
const withTools: AskRequest = { type: "sampling", params: { messages: [], maxTokens: 1, toolChoice: { mode: "auto" } } };
const roots: AskRequest = { type: "roots" };

test("nothing is missing when everything that is asked was declared", () => {
  expect(
    requiredCapabilities([form, url, withTools, roots], { elicitation: { form: true, url: true }, sampling: { tools: true }, roots: true }),
  ).toBeUndefined();
  expect(requiredCapabilities([], {})).toBeUndefined();
});

test("each kind of ask needs its own capability", () => {
  expect(requiredCapabilities([form], {})).toStrictEqual({ elicitation: { form: {} } });
  expect(requiredCapabilities([form, url], { elicitation: { form: true, url: false } })).toStrictEqual({ elicitation: { url: {} } });
  expect(requiredCapabilities([form], { elicitation: { form: false, url: true } })).toStrictEqual({ elicitation: { form: {} } });
  expect(requiredCapabilities([sampling], { elicitation: { form: true, url: true } })).toStrictEqual({ sampling: {} });
  expect(requiredCapabilities([withTools], { sampling: { tools: false } })).toStrictEqual({ sampling: { tools: {} } });
  expect(requiredCapabilities([roots], {})).toStrictEqual({ roots: {} });
});

test("all that is missing is named at once", () => {
  expect(requiredCapabilities([form, url, withTools, roots], {})).toStrictEqual({
    elicitation: { form: {}, url: {} },
    sampling: { tools: {} },
    roots: {},
  });
});

test("the error carries what is missing", () => {
  expect(capabilityRequired("the question", { roots: {} })).toMatchObject({
    code: "CAPABILITY_REQUIRED",
    message: "the question needs a capability that the request did not declare",
    data: { required: { roots: {} } },
  });
});
