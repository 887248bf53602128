import { expect, test } from "vitest";
import { deploymentId } from "./shared-secret.ts";

test("a deployment is identified by the secret that was agreed on, which its id does not show", async () => {
  const proposed: string[] = [];
  const agreeing = (secret: string) => deploymentId({ agree: async (text) => (proposed.push(text), secret) });
  const ids = [await agreeing("one"), await agreeing("one"), await agreeing("another")];
  expect(ids).toStrictEqual(["hrt8AVVN4mDVG9I-", "hrt8AVVN4mDVG9I-", expect.stringMatching(/^[\w-]{16}$/)]);
  expect(ids[2]).not.toBe(ids[0]);
  // 32 random bytes, new ones each time.
  expect(proposed.map((text) => Buffer.from(text, "base64url").length)).toStrictEqual([32, 32, 32]);
  expect(new Set(proposed).size).toBe(3);
});
