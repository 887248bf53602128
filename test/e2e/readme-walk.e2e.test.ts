/** Runs each command of README's walkthrough as it is printed there, and compares the output except for ids and numbers. */
import { readFile } from "node:fs/promises";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parley, startParley, type Started } from "../support/parley.ts";
import { until } from "../support/until.ts";

const README = new URL("../../README.md", import.meta.url);
const PREFIX = "$ npm run --silent parley -- ";

let cwd: string;
let started: Started;
beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), "parley-readme-"));
  started = await startParley([], { cwd, env: { PARLEY_GALLERY_DIR: join(cwd, "gallery") } });
});
afterAll(async () => {
  await started?.kill();
  await rm(cwd, { recursive: true, force: true, maxRetries: 5 });
});

interface Step {
  readonly args: readonly string[];
  /** What stands below the command. */
  readonly says: string;
}

/** The console blocks below "Try it". */
async function walk(): Promise<{ readonly steps: readonly Step[]; readonly end: string }> {
  const [, section = ""] = (await readFile(README, "utf8")).split("## Try it\n");
  const blocks = [...(section.split("\n## ")[0] ?? "").matchAll(/```console\n(.*?)```/gs)].map(([, text = ""]) => text);
  const steps = blocks.flatMap((block) =>
    block.split(PREFIX).flatMap((part) => {
      const [command = "", ...rest] = part.split("\n");
      return part === "" || !block.startsWith(PREFIX) ? [] : [{ args: command.split(" "), says: rest.join("\n") }];
    }),
  );
  return { steps, end: blocks.find((block) => !block.startsWith(PREFIX)) ?? "" };
}

const TASK_ID = /0-[\w-]{22}/g;
const shape = (text: string) => text.replaceAll(TASK_ID, "0-task").replaceAll(/number [0-9A-F]{6}/g, "number 000000");

test("README's walk says what it says there", async () => {
  const { steps, end } = await walk();
  const [call, wrong, right] = steps;
  if (!call || !wrong || !right) throw new Error("README's walk is a call and two answers");
  const env = { PARLEY_URL: started.url };
  let asked = "";
  const called = parley(call.args, { env });
  const taskId = await until(async () => {
    const { stdout } = await parley(["inbox", "--json"], { env });
    return (JSON.parse(stdout) as { questions: { taskId: string }[] }).questions[0]?.taskId;
  });
  const [given = ""] = wrong.args.join(" ").match(TASK_ID) ?? [];
  const answer = (step: Step) =>
    parley(
      step.args.map((arg) => arg.replace(given, taskId)),
      { env },
    );

  const refused = await answer(wrong);
  expect({ code: refused.code, says: shape(refused.stdout + refused.stderr) }).toEqual({ code: 1, says: shape(wrong.says) });
  const taken = await answer(right);
  expect({ code: taken.code, says: shape(taken.stdout + taken.stderr) }).toEqual({ code: 0, says: shape(right.says) });
  const result = await called;
  asked = result.stderr;
  expect(shape(asked)).toBe(shape(call.says));
  expect(shape(result.stdout)).toBe(shape(end));
});
