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
    hint: expect.stringContaining("`requiredCapabilities`"),
    data: { requiredCapabilities: { roots: {} } },
  });
});

test.each([
  [{ elicitation: { form: {} } }, "show forms to its user", "elicitation.form"],
  [{ elicitation: { url: {} } }, "send its user to a page", "elicitation.url"],
  [{ sampling: {} }, "lend its model to servers", "sampling"],
  [{ sampling: { tools: {} } }, "lend its model to servers, with tools", "sampling.tools"],
  [{ roots: {} }, "name its user's folders", "roots"],
  [{ extensions: { "io.modelcontextprotocol/tasks": {} } }, "follow tasks", "the extension io.modelcontextprotocol/tasks"],
  [
    { elicitation: { form: {}, url: {} }, roots: {} },
    "show forms to its user and send its user to a page and name its user's folders",
    "elicitation.form, elicitation.url, roots",
  ],
])("the message alone says what is missing and what to do, for clients that show nothing else: %j", (required, ability, name) => {
  expect(capabilityRequired("the tool pay", required).message).toBe(
    `the tool pay needs a client that can ${ability}, and this client did not declare ${name}. Turn that on in the client's settings, or use a client that has it.`,
  );
});
