import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

test("the kit works under node --test", async () => {
  const file = new URL("node-test.ts", import.meta.url).pathname;
  // Not the reporter that the outer runner may have set for its own children.
  const { stdout } = await promisify(execFile)(process.execPath, ["--test", "--test-reporter=tap", file]);
  expect(stdout).toContain("# pass 2");
  expect(stdout).toContain("# fail 0");
});
