import type { Ask, JsonObject } from "@parley/core";
import { expect, test } from "vitest";
import { isForModel } from "./asks-for-models.ts";

const text = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
const yes = { type: "object", properties: { yes: { type: "boolean" } }, required: ["yes"] };
const form = (schema: JsonObject, hints?: JsonObject) => ({ request: { type: "form", message: "", schema, ...(hints && { hints }) } });

test.each<[string, object, object | undefined, boolean]>([
  ["a plain question to the caller", form(text), {}, true],
  ["a question with words for its buttons", form(text, { submitLabel: "Send" }), {}, true],
  ["one about what cannot be undone", form(text, { destructive: true }), {}, false],
  ["one about what is dangerous", form(text, { dangerous: true }), {}, false],
  ["one whose fields show what will be done", form(text, { destructive: true, filledIn: true }), {}, false],
  ["one of a tool that destroys", form(text), { annotations: { destructiveHint: true } }, false],
  ["one of a tool that is not offered any more", form(text), undefined, false],
  ["one to others", { ...form(text), audience: { to: "tenant" } }, {}, false],
  ["a yes or no", form(yes), {}, false],
  ["nothing to fill in", form({ type: "object", properties: {} }), {}, false],
  ["a page", { request: { type: "url", message: "", url: "https://example.com" } }, {}, false],
])("%s: whether a model may pass its answer on", (_, ask, tool, isFor) => {
  expect(isForModel(ask as Ask, tool as never)).toBe(isFor);
});
