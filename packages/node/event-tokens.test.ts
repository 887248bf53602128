import { describe, expect, test } from "vitest";
import { eventTokens } from "./event-tokens.ts";

const [first, second] = ["the first secret of a deployment, long enough", "the second secret of a deployment, long enough"] as const;
const publicUrl = "https://parley.example.com";
const here = eventTokens({ secrets: [first], publicUrl });
const [taskId, key] = ["0-AbCd-V1StGXR8V1StGXR8V1StGX", "event:alice/paid#2"];

describe("the token of an event", () => {
  test("names its task and its event, is part of an address, and is the same each time", () => {
    const { token, url } = here.tokenOf(taskId, key);
    expect(here.read(token)).toEqual({ taskId, key });
    expect(url).toBe(`https://parley.example.com/events/${token}`);
    expect(here.tokenOf(taskId, key)).toEqual({ token, url });
    expect(encodeURIComponent(token)).toBe(token);
  });

  test("has a signature of 256 bits, and is invalid if any part of it changes", () => {
    const { token } = here.tokenOf(taskId, key);
    expect(Buffer.from(token.split(".")[2] ?? "", "base64url")).toHaveLength(32);
    for (let at = 0; at < token.length; at += 1) {
      const other = token[at] === "A" ? "B" : "A";
      expect([at, here.read(token.slice(0, at) + other + token.slice(at + 1))]).toEqual([at, undefined]);
    }
  });

  test.each(["", ".", "..", "a.b.c", `${"x".repeat(8_000)}.`, "x".repeat(100_000), "__proto__", "0-x.ZXZlbnQ6cGFpZA."])(
    "is not %s",
    (token) => {
      expect(here.read(token)).toBeUndefined();
    },
  );

  test("has one spelling", () => {
    const { token } = here.tokenOf(taskId, key);
    for (const other of [`${token}=`, `${token}.`, ` ${token}`, token.replace(".", "..")]) expect(here.read(other)).toBeUndefined();
  });

  test("for one event or task is invalid for another", () => {
    const [id, name] = [here.tokenOf(taskId, key), here.tokenOf(taskId, "event:refused")].map(({ token }) => token.split("."));
    expect(here.read([id?.[0], name?.[1], id?.[2]].join("."))).toBeUndefined();
  });

  test("is accepted exactly as long as its secret is listed, in any position", () => {
    const { token } = here.tokenOf(taskId, key);
    expect(eventTokens({ secrets: [second, first], publicUrl }).read(token)).toEqual({ taskId, key });
    expect(eventTokens({ secrets: [second], publicUrl }).read(token)).toBeUndefined();
  });

  test("is not issued without a public address", () => {
    const unknown = eventTokens({ secrets: [first], publicUrl: undefined });
    expect(() => unknown.tokenOf(taskId, key)).toThrow(expect.objectContaining({ code: "EVENTS_UNAVAILABLE" }));
    expect(unknown.read(here.tokenOf(taskId, key).token)).toEqual({ taskId, key });
    expect(() => eventTokens({ secrets: [], publicUrl })).toThrow(RangeError);
  });
});
