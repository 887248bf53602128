import { describe, expect, test } from "vitest";
import { isAscii } from "../scripts/encoding.ts";
import { bytesOf, DamagedContent, plainContent, textOf } from "./codec.ts";

const PLAIN = `0-${"t".repeat(22)}`;
const SEALED = `0-abcd-${"t".repeat(22)}`;

describe("plain content", () => {
  test("is read and written unchanged", () => {
    expect(plainContent.encoding).toBe("utf8");
    const content = plainContent.of(PLAIN);
    for (const through of [content.seal, content.open, content.sealWord, content.openWord]) expect(through("message", "a ☃")).toBe("a ☃");
    for (const through of [content.toStored, content.fromStored]) expect(through("a ☃")).toBe("a ☃");
  });

  test("lacks the key of a sealed task", () => {
    expect(plainContent.access(PLAIN)).toBe("open");
    expect(plainContent.access(SEALED)).toBe("key_missing");
  });

  test("has the fingerprints that Redis holds", () => {
    expect(plainContent.of(PLAIN).fingerprint("entry ask:size", "yes")).toBe("5Lbr6YRKoGspgo2nPy2H7f");
  });
});

test("content that does not open is reported with its place and without its text", () => {
  const error = new DamagedContent("message");
  expect(`${error}`).toBe('DamagedContent: the content "message" does not open');
});

test.each([
  ["", "", true],
  ["\u0000a\u007f", "\u0000a\u007f", true],
  ["\u0080", "\u00c2\u0080", false],
  ["aé", "a\u00c3\u00a9", false],
  ["☃", "\u00e2\u0098\u0083", false],
])("a text becomes a string of its bytes, and back: %j", (text, bytes, isOneByteEach) => {
  expect(bytesOf(text)).toBe(bytes);
  expect(textOf(bytes)).toBe(text);
  expect(isAscii(text)).toBe(isOneByteEach);
});
