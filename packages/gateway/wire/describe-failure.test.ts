import { SdkError, SdkErrorCode, SdkHttpError } from "@modelcontextprotocol/client";
import { expect, test } from "vitest";
import { describeFailure } from "./describe-failure.ts";

test("an error is described by what it or one of its causes means, never by their messages", () => {
  const refused = Object.assign(new Error("connect to https://secret.example.com"), { code: "ECONNREFUSED" });
  const failed = new TypeError("fetch failed", { cause: refused });
  for (const error of [refused, failed, new SdkError(SdkErrorCode.EraNegotiationFailed, "secret", {}, { cause: failed })])
    expect(describeFailure(error)).toBe("it refuses connections (ECONNREFUSED)");
  expect(describeFailure(new SdkError(SdkErrorCode.RequestTimeout, "secret"))).toBe(
    "it did not answer within its `connectTimeout` (REQUEST_TIMEOUT)",
  );
});

test.each([
  [302, "it redirects to another address, which is not followed"],
  [401, "it does not accept the credentials"],
  [418, "it refuses the request"],
  [503, "it has failed, or is not available"],
  [508, "it leads back to this gateway"],
])("an HTTP status is described by what it means: %i", (status, meaning) => {
  const http = new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, "secret", { status, statusText: "secret" });
  expect(describeFailure(http)).toBe(`${meaning} (HTTP ${status})`);
});

test("an error of which nothing is known is described by its kind and those of its causes", () => {
  const odd = Object.assign(new Error("secret"), { code: "EODD" });
  expect(describeFailure(new TypeError("secret", { cause: odd }))).toBe("TypeError, Error EODD");
  expect(describeFailure(Object.assign(new Error("secret"), { code: "constructor" }))).toBe("Error constructor");
  expect(describeFailure(undefined)).toBe("unknown");
});

test("a cycle of causes is cut at a depth", () => {
  const [one, other] = [new Error("one"), new Error("other")];
  one.cause = other;
  other.cause = one;
  expect(describeFailure(one)).toBe("Error, Error, Error, Error, Error");
});
