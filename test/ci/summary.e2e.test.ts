/** What a reader of the last 200 lines of .ci/run's log learns about failures. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");
const VITEST = join(ROOT, "node_modules/vitest/vitest.mjs");
const TOTALS = { numPassedTests: 10, numFailedTests: 0 };

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parley-ci-"));
});
afterAll(() => rm(directory, { recursive: true }));

function run(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<{ code: number; stdout: string }> {
  return new Promise((done) => {
    execFile(process.execPath, args, { env: { PATH: process.env["PATH"], ...env } }, (error, stdout) =>
      done({ code: error ? Number(error.code ?? -1) : 0, stdout }),
    );
  });
}

/** The lines of a run in which one suite ran this file, all others passed, and these steps failed. */
async function summarized(file: string, steps: Readonly<Record<string, string>> = {}): Promise<{ code: number; lines: string[] }> {
  const reports = await mkdtemp(join(directory, "reports-"));
  await writeFile(join(reports, "some.test.ts"), file);
  await run([VITEST, "run", "--root", reports, "--globals", "--reporter", join(import.meta.dirname, "reporter.ts")], {
    REPORT: join(reports, "e2e.json"),
  });
  for (const suite of "kubernetes test simulation new-cases fuzz attack cluster chaos guarded-chaos approval-chaos races soak flat events newcomer servers conformance".split(
    " ",
  ))
    await writeFile(join(reports, `${suite}.json`), JSON.stringify(TOTALS));
  for (const [step, log] of Object.entries(steps)) await writeFile(join(reports, `${step}.log`), log);
  await writeFile(join(reports, "failed-steps"), Object.keys(steps).join("\n"));
  await writeFile(join(reports, "seconds"), "5 s set-up\n600 s end to end\n70 s test\n");
  const { code, stdout } = await run([join(import.meta.dirname, "summary.ts"), reports]);
  return { code, lines: stdout.trimEnd().split("\n") };
}

describe("the summary", () => {
  test("of a run in which nothing fails has the times and the totals alone", async () => {
    expect(await summarized(`test("one", () => undefined); test.skip("two", () => undefined);`)).toEqual({
      code: 0,
      lines: ["longest: 600 s end to end, 70 s test, 5 s set-up", "171 passed, 0 failed"],
    });
  });

  test("shows how two lists differ, and where they were compared", async () => {
    const { code, lines } = await summarized(`
      const list = (more) => Array.from({ length: 200 }, (_, index) => ({ id: index, text: index === 150 ? more : "same" }));
      describe("a list", () => void test("is compared", () => expect(list("is")).toEqual(list("was"))));
    `);
    expect(code).toBe(1);
    expect(lines[0]).toBe("✗ e2e: some.test.ts > a list > is compared");
    expect(lines[1]).toMatch(/^AssertionError: expected \[/);
    expect(lines[2]).toMatch(/some\.test\.ts:3:/);
    expect(lines).toEqual(
      expect.arrayContaining([expect.stringMatching(/^- +"text": "was",/), expect.stringMatching(/^\+ +"text": "is",/)]),
    );
    expect(lines.length).toBeLessThan(40);
    expect(lines.at(-1)).toBe("170 passed, 1 failed");
  });

  test("shows errors outside of tests, tests that passed when they were repeated, and the end of a failed step", async () => {
    const { code, lines } = await summarized(
      `
        let attempts = 0;
        test("late", { retry: 1 }, () => expect(++attempts).toBe(2));
        test("drops a promise", () => void Promise.reject(new Error("nobody hears this", { cause: new Error("the cause") })));
        describe("a suite", () => {
          beforeAll(() => { throw new Error("not ready"); });
          test("never runs", () => undefined);
        });
      `,
      { check: `${"fine\n".repeat(1_000)}a.ts(1,1): error` },
    );
    expect(code).toBe(1);
    const text = lines.join("\n");
    for (const part of [
      "↻ e2e: some.test.ts > late passed when it was repeated",
      "✗ e2e: some.test.ts > a suite\nError: not ready",
      "✗ e2e: outside of any test\nError: nobody hears this",
      "caused by Error: the cause",
      '✗ the step "check" failed; the end of what it printed:\n  fine',
      "  a.ts(1,1): error",
    ])
      expect(text).toContain(part);
    expect(lines.at(-1)).toBe("172 passed, 2 failed");
  });

  test("is at most 200 lines long, and has something of each failure", async () => {
    const { lines } = await summarized(`
      for (let n = 0; n < 25; n += 1) test("fails " + n, () => expect(Array(100).fill(n)).toEqual(Array(100).fill("x".repeat(2_000))));
    `);
    expect(lines.length).toBeLessThan(200);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(1_100);
    for (let n = 0; n < 25; n += 1) expect(lines).toContain(`✗ e2e: some.test.ts > fails ${n}`);
  });

  test("counts a suite without a report, and a file that cannot be loaded, as failed", async () => {
    const { lines } = await summarized(`import "./nowhere.ts";`);
    expect(lines[0]).toBe("✗ e2e: some.test.ts");
    expect(lines[1]).toContain("nowhere.ts");
    const { code, stdout } = await run([join(import.meta.dirname, "summary.ts"), directory]);
    expect(code).toBe(1);
    expect(stdout).toContain("✗ chaos: no report\n");
    expect(stdout.trimEnd()).toMatch(/\n0 passed, 18 failed$/);
  });
});
