import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { PLANTS } from "./plants.ts";

test.each(PLANTS)("$name: the code that it changes is in $file exactly once", ({ file, find }) => {
  const source = readFileSync(resolve(import.meta.dirname, "../../..", file), "utf8");
  expect(source.split(find)).toHaveLength(2);
});
