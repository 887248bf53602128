import { describe, expect, test } from "vitest";
import { replyFrom } from "./answering.ts";

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
