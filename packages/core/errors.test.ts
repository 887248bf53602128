import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ERRORS } from "./errors.ts";

test("docs/errors.md lists the catalogue, code by code, with the same hint", () => {
  const page = readFileSync(new URL("../../docs/errors.md", import.meta.url), "utf8");
  const listed = [...page.matchAll(/^\| `([A-Z_]+)` \| (.+) \| .+ \|$/gm)].map(([, code, hint]) => [code, hint]);
  expect(listed).toEqual(Object.entries(ERRORS));
});
