import { SdkError, SdkErrorCode, SdkHttpError } from "@modelcontextprotocol/client";
import { expect, test } from "vitest";
import { wordFor } from "./word-for.ts";

test("an error is described by its kind and those of its causes, not by their messages", () => {
  const refused = Object.assign(new Error("connect to https://secret.example.com"), { code: "ECONNREFUSED" });
  const failed = new TypeError("fetch failed", { cause: refused });
  expect(wordFor(failed)).toBe("TypeError, Error ECONNREFUSED");
  expect(wordFor(new SdkError(SdkErrorCode.EraNegotiationFailed, "secret", {}, { cause: failed }))).toMatch(
    /^SdkError .*, TypeError, Error ECONNREFUSED$/,
  );
  const http = new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, "secret", { status: 508, statusText: "secret" });
  expect(wordFor(http)).toMatch(/HTTP 508$/);
  expect(wordFor(undefined)).toBe("unknown");
});

test("a cycle of causes is cut at a depth", () => {
  const [one, other] = [new Error("one"), new Error("other")];
  one.cause = other;
  other.cause = one;
  expect(wordFor(one)).toBe("Error, Error, Error, Error, Error");
});
