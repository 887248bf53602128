import { expect, test } from "vitest";
import { SESSION_VERSIONS } from "../versions.ts";
import { SESSION_DIALECTS, sessionDialect } from "./index.ts";

test("each version with sessions has its dialect", () => {
  expect(SESSION_DIALECTS.map(({ version }) => version)).toStrictEqual(SESSION_VERSIONS);
  for (const version of SESSION_VERSIONS) expect(sessionDialect(version)?.version).toBe(version);
  expect(sessionDialect("2026-07-28")).toBeUndefined();
});
