import { expect, test } from "vitest";
import { cpuMs } from "../../test/support/cpu-ms.ts";
import { decodeHeaderValue } from "./header-value.ts";
import { headerValue } from "./index.ts";

test("a header is read without the blanks around it, and the blanks within stay", () => {
  expect(headerValue({ "mcp-name": " \ta b\t " }, "mcp-name")).toBe("a b");
  expect(headerValue({ "mcp-name": "" }, "mcp-name")).toBe("");
});

test("a header that came twice is joined as HTTP says", () => {
  expect(headerValue({ "mcp-name": ["a", "b"] }, "mcp-name")).toBe("a, b");
});

test("a header that did not come is not found among what objects inherit", () => {
  expect(headerValue({}, "constructor")).toBeUndefined();
  expect(headerValue({ "mcp-name": undefined }, "mcp-name")).toBeUndefined();
});

test("a value that HTTP cannot carry is encoded as its bytes, even if empty", () => {
  expect(decodeHeaderValue("=?base64?a8Okc2U=?=")).toBe("käse");
  expect(decodeHeaderValue("=?base64??=")).toBe("");
  // A byte order mark is part of a name that begins with one.
  expect(decodeHeaderValue("=?base64?77u/YQ==?=")).toBe("\uFEFFa");
});

test("a header that is full of blanks is read at once", async () => {
  const blanks = `a${" ".repeat(16_000)}b`;
  const read = () => headerValue({ "mcp-name": blanks }, "mcp-name");
  expect(await cpuMs(() => expect(read()).toBe(blanks))).toBeLessThan(50);
});
