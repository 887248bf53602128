import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const FIXTURE = fileURLToPath(new URL("short-lives.fixture.ts", import.meta.url));

/** Full garbage collections while 20,000 runs come and go. */
async function collections(...args: string[]): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, [FIXTURE, ...args]);
  return Number(stdout);
}

test("what a run has made does not outlive it: a worker collects all of its heap less than half as often as V8 would without being told", async () => {
  const [told, untold] = [await collections("worker"), await collections()];
  expect(told).toBeLessThan(untold / 2);
});
