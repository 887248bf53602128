import { describe, expect, test } from "vitest";
import { replyFrom, within } from "./answering.ts";

describe("a request that only a client can fulfil", () => {
  const request = { method: "sampling/createMessage", params: {} };

  test("is declined or cancelled like a question, and answered with its result", () => {
    expect(replyFrom(request, { decline: true })).toEqual({ action: "decline" });
    expect(replyFrom(request, { cancel: true })).toEqual({ action: "cancel" });
    expect(replyFrom(request, { content: '{"model":"m"}' })).toEqual({ model: "m" });
  });

  test("is not answered without a result", () => {
    expect(() => replyFrom(request, { accept: true })).toThrow("pass the result with --content, or use --decline or --cancel");
  });
});

describe("a question that is answered on a page", () => {
  const url = "https://parley.example/asks/1";
  const page = { method: "elicitation/create", params: { mode: "url", message: "Your key?", url } };

  test("is accepted without content", () => {
    expect(replyFrom(page, { accept: true })).toEqual({ action: "accept" });
  });

  test.each([{ set: ["value=hunter2"] }, { content: '{"value":"hunter2"}' }, { accept: true, set: ["value=hunter2"] }])(
    "takes no content: %j",
    (given) => {
      expect(() => replyFrom(page, given)).toThrow(`the question is answered on a page, and not with --set or --content: ${url}`);
    },
  );
});

describe("options that contradict each other", () => {
  const schema = { type: "object", properties: { size: { type: "integer" } } };
  const form = { method: "elicitation/create", params: { message: "How many?", requestedSchema: schema } };

  test.each([
    [{ accept: true, decline: true }, "--accept and --decline"],
    [{ decline: true, cancel: true }, "--decline and --cancel"],
    [{ decline: true, set: ["size=4"] }, "--decline and --set"],
    [{ cancel: true, content: "{}" }, "--cancel and --content"],
    [{ set: ["size=4"], content: '{"size":5}' }, "--set and --content"],
  ])("%j is refused", (given, options) => {
    expect(() => replyFrom(form, given)).toThrow(`${options} contradict each other: use one of them`);
  });

  test("a reason goes with a no alone", () => {
    expect(replyFrom(form, { decline: true, reason: "Not now" })).toEqual({ action: "decline", reason: "Not now" });
    for (const given of [{ accept: true }, { set: ["size=4"] }, {}])
      expect(() => replyFrom(form, { ...given, reason: "Not now" })).toThrow("use it with --decline");
  });

  test("accepting with content is no contradiction", () => {
    expect(replyFrom(form, { accept: true, set: ["size=4"] })).toEqual({ action: "accept", content: { size: 4 } });
  });
});

test.each([
  ["/party-size/content/partySize", 1, "/partySize"],
  ["/content/partySize/0", 0, "/partySize/0"],
  ["/party-size/content", 1, "/"],
  ["/party-size/action", 1, "/party-size/action"],
  ["/content/content", 0, "/content"],
] as const)("a problem at %s, below %i names, is one at %s of the form", (path, before, at) => {
  expect(within({ path, message: "is wrong" }, before)).toEqual({ path: at, message: "is wrong" });
});
