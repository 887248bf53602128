import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { LEAST_RIGHTS } from "./acl.ts";

test("docs/redis.md names the commands that a user needs, those and no others", () => {
  const page = readFileSync(new URL("../../docs/redis.md", import.meta.url), "utf8");
  const [, rule = ""] = /ACL SETUSER([^`]*)```/.exec(page) ?? [];
  expect(rule.match(/\+[a-z|]+/g)?.toSorted()).toEqual(LEAST_RIGHTS.toSorted());
});
