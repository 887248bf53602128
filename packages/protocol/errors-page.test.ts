import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ERRORS, type ErrorCode } from "@parley/core";
import { SESSION_ERROR_CODES } from "./sessions/index.ts";
import { ERROR_CODES } from "./stateless/index.ts";

test("docs/errors.md says where the codes of sessions differ from those of 2026-07-28", () => {
  const page = readFileSync(new URL("../../docs/errors.md", import.meta.url), "utf8");
  const listed = [...page.matchAll(/^\| `([A-Z_]+)` \| −(\d+) \|$/gm)].map(([, code, digits]) => [code, -Number(digits)]);
  const different = (Object.keys(ERRORS) as ErrorCode[]).filter((code) => SESSION_ERROR_CODES[code] !== ERROR_CODES[code].code);
  expect(listed).toStrictEqual(different.map((code) => [code, SESSION_ERROR_CODES[code]]));
});
