import { describe, expect, test } from "vitest";
import { hasEventToken, withoutEventTokens } from "./event-token.ts";

const taskId = "0-AbCd-V1StGXR8";
const signature = "aB3_-".repeat(8);
const token = `${taskId}.ZXZlbnQ6cGFpZA.${signature}`;

describe("a token of an event", () => {
  test("is found anywhere in a text of its task", () => {
    for (const text of [token, `https://example.com/events/${token}?x=1`, `"${token}"`, `${taskId}. ${token}`, `x${token}`])
      expect(hasEventToken(taskId, text), text).toBe(true);
  });

  test.each([
    ["the task's id", taskId],
    ["the id at the end of a sentence", `see ${taskId}.`],
    ["an id and a key", `${taskId}.ZXZlbnQ6cGFpZA`],
    ["an id and a key that is empty", `${taskId}..${signature}`],
    ["other characters between the dots", `${taskId}.a b.${signature}`],
    ["nothing", ""],
    ["a token of another task", token.replace(taskId, "1-other")],
    ["the rest of a token alone", `.ZXZlbnQ6cGFpZA.${signature}`],
  ])("is not %s", (_, text) => {
    expect(hasEventToken(taskId, text)).toBe(false);
  });

  test("ends in at least as many characters as the shortest signature has", () => {
    expect(hasEventToken(taskId, `${taskId}.a.${"s".repeat(20)}`)).toBe(true);
    expect(hasEventToken(taskId, `${taskId}.a.${"s".repeat(19)}`)).toBe(false);
  });

  test("is found for an id with any characters", () => {
    const odd = "a.b+(c)[d]{2}|^$\\";
    expect(hasEventToken(odd, `${odd}.key.${signature}`)).toBe(true);
    expect(hasEventToken("a.b", `a.b. axb.key.${signature}`)).toBe(false);
    expect(hasEventToken("a+b", `a+b. aab.key.${signature}`)).toBe(false);
  });
});

describe("for logs and errors", () => {
  test("all tokens of the task are removed, at any depth, and nothing else", () => {
    const value = {
      url: `https://example.com/events/${token}`,
      list: [token, `${token} and ${token}`, 5, null],
      [token]: "a name",
      text: 'a "b" \n',
    };
    expect(withoutEventTokens(taskId, value)).toStrictEqual({
      url: "https://example.com/events/[event token]",
      list: ["[event token]", "[event token] and [event token]", 5, null],
      "[event token]": "a name",
      text: 'a "b" \n',
    });
    expect(withoutEventTokens(taskId, token)).toBe("[event token]");
  });

  test("a value without tokens is returned as it is, even if JSON cannot represent it", () => {
    const value = { at: new Date(0), id: taskId, absent: undefined };
    expect(withoutEventTokens(taskId, value)).toBe(value);
    expect(withoutEventTokens(taskId, undefined)).toBeUndefined();
    const other = { token: token.replace(taskId, "1-other") };
    expect(withoutEventTokens(taskId, other)).toBe(other);
  });
});
