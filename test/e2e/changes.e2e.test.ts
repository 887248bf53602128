/** From waiting tasks in a sealed deployment with several partitions to a verdict on changed code, as a platform team runs it in CI. */
import { copyFile, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient } from "../../bench/client.ts";
import { aContentKey } from "../contract/content-keys.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { parley } from "../support/parley.ts";
import { until } from "../support/until.ts";

const GREET = join(import.meta.dirname, "tools/greet.ts");
const OTHER = join(import.meta.dirname, "tools/steps.ts");
const sealing = { PARLEY_CONTENT_KEYS: aContentKey(), PARLEY_PARTITIONS: "3", PARLEY_AUDIT: "true" };
let deployment: Deployment;
let folder: string;
let changed: string;
let reworded: string;
let failing: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "parley-changes-"));
  deployment = await startDeployment({ frontEnds: 1, workers: 1, tools: [GREET], env: sealing });
  const source = await readFile(GREET, "utf8");
  [changed = "", reworded = "", failing = ""] = ["changed", "reworded", "failing"].map((name) =>
    join(import.meta.dirname, `tools/.${name}.ts`),
  );
  await copyFile(GREET, changed);
  await writeFile(changed, source.replace("const { name }", 'await ctx.step("look-up", () => 1);\n    const { name }'));
  await writeFile(failing, source.replace("const { name }", "throw new TypeError(greeting);\n    const { name }"));
  await writeFile(reworded, source.replace("Who is greeted", "Who will be greeted"));
});
afterAll(async () => {
  await deployment.close();
  await Promise.all([changed, reworded, failing].map((file) => rm(file, { force: true })));
  await rm(folder, { recursive: true });
});

const operatorWith = (env: Readonly<Record<string, string>>, ...args: string[]) =>
  parley(args, { env: { ...sealing, REDIS_URL: deployment.redis.url, PARLEY_PREFIX: deployment.redis.prefix, ...env } });
const operator = (...args: string[]) => operatorWith({}, ...args);
/** Anywhere: without Redis, and without keys. */
const inCi = (...args: string[]) => parley(["replay", ...args]);

test("waiting tasks are exported, and replayed elsewhere against changed code, redacted or not", async () => {
  const client = createClient(deployment.url, 8);
  const calls = await Promise.all(Array.from({ length: 8 }, (_, index) => client.call("greet", { greeting: `MARKER ${index}` })));
  await until(async () => {
    const states = await Promise.all(calls.map(({ taskId }) => client.get(taskId)));
    return states.every(({ status }) => status === "input_required");
  });
  await client.answer(calls[0]?.taskId ?? "", { name: { action: "accept", content: { name: "MARKER" } } });
  await until(async () => (await client.get(calls[0]?.taskId ?? "")).status === "completed");
  client.close();

  const redacted = join(folder, "redacted.jsonl");
  expect(await operator("export", "--tool", "greet", "--out", redacted)).toMatchObject({
    code: 0,
    stderr: expect.stringContaining(`7 waiting tasks written to ${redacted}, redacted`),
  });
  const text = await readFile(redacted, "utf8");
  expect(text.trimEnd().split("\n")).toHaveLength(7);
  expect(text).not.toContain("MARKER");
  expect((await stat(redacted)).mode & 0o777).toBe(0o600);
  expect(await operator("export", "--all", "--out", redacted)).toMatchObject({ code: 1, stderr: expect.stringContaining("exists") });
  expect(await operator("export", "--all", "--limit", "7")).toMatchObject({ code: 0 });
  expect(await operator("export", "--all", "--limit", "6")).toMatchObject({ code: 1, stderr: expect.stringContaining("there are more") });
  expect(await operator("export", "--tool", "unheard-of")).toMatchObject({ code: 0, stdout: "" });
  expect(await operator("export", calls[0]?.taskId ?? "")).toMatchObject({ code: 1, stderr: expect.stringContaining("it has ended") });
  expect(await operator("export")).toMatchObject({ code: 1, stderr: expect.stringContaining("specify the tasks") });

  // With content: the open question of a sealed task can be compared.
  const full = join(folder, "full.jsonl");
  expect(await operator("export", calls[1]?.taskId ?? "", "--with-content", "--out", full)).toMatchObject({ code: 0 });
  expect(await readFile(full, "utf8")).toContain("MARKER 1");
  expect(await inCi(full, "--tools", GREET)).toMatchObject({ code: 0, stdout: expect.stringContaining("waits for ask:name") });
  const diff = await inCi(full, "--tools", reworded);
  expect(diff.code).toBe(1);
  expect(diff.stdout).toContain('-   "message": "Who is greeted with MARKER 1?"');
  expect(diff.stdout).toContain('+   "message": "Who will be greeted with MARKER 1?"');
  const added = await inCi(full, "--tools", changed, "--json");
  expect(added.code).toBe(1);
  const [first = "", last = ""] = added.stdout.trimEnd().split("\n");
  expect(JSON.parse(first)).toMatchObject({
    taskId: calls[1]?.taskId,
    tool: "greet",
    verdict: "diverges",
    reason: expect.stringMatching(/^recorded ask:name \(not called again\), found new step:look-up at .*changed\.ts:9:15$/),
    recorded: ["ask:name"],
    found: ["step:look-up"],
  });
  expect(JSON.parse(last)).toEqual({ tasks: 1, continues: 0, diverges: 1, fails: 0, unknown: 0 });

  // Redacted: by the code that the tasks run on.
  expect(await inCi(redacted, "--tools", GREET)).toMatchObject({ code: 1, stdout: expect.stringContaining("7 unknown") });
  expect(await inCi(redacted, "--tools", GREET, "--baseline", GREET)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("7 tasks: 7 continue"),
  });
  expect(await inCi(redacted, "--tools", reworded, "--baseline", GREET)).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("7 diverge"),
  });

  const trail = join(folder, "audit.jsonl");
  await operator("audit", "export", "--out", trail);
  expect(await readFile(trail, "utf8")).toMatch(/"action":"export".*"taskId":".*"verdict":"1 exported with content"/);
});

test("ended tasks that keep their content are exported, and their end is replayed", async () => {
  const env = { ...sealing, PARLEY_KEEP_CONTENT: "true" };
  const keeping = await startDeployment({ frontEnds: 1, workers: 1, tools: [GREET], env });
  try {
    const at = { REDIS_URL: keeping.redis.url, PARLEY_PREFIX: keeping.redis.prefix };
    const client = createClient(keeping.url, 3);
    const [answered, cancelled, waiting] = await Promise.all(
      [1, 2, 3].map(async () => (await client.call("greet", { greeting: "KEPT" })).taskId),
    );
    const are = (status: string, ...ids: (string | undefined)[]) =>
      until(async () => (await Promise.all(ids.map((id) => client.get(id ?? "")))).every((task) => task.status === status));
    await are("input_required", answered, cancelled, waiting);
    await client.answer(answered ?? "", { name: { action: "accept", content: { name: "ADA" } } });
    await are("completed", answered);
    await client.cancel(cancelled ?? "");
    await are("cancelled", cancelled);
    client.close();

    const file = join(folder, "ended.jsonl");
    expect(await operatorWith(at, "export", "--tool", "greet", "--ended", "--with-content", "--out", file)).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("2 ended tasks written"),
    });
    const text = await readFile(file, "utf8");
    for (const each of ["KEPT", "ADA", answered, cancelled]) expect(text).toContain(each);
    expect(text).not.toContain(waiting);
    const replayed = await inCi(file, "--tools", GREET, "--baseline", GREET);
    expect(replayed.stdout).toMatch(new RegExp(`${answered} .*continues: ends`));
    expect(replayed.stdout).toMatch(new RegExp(`${cancelled} .*continues: asks ask:name`));
    expect((await inCi(file, "--tools", changed, "--baseline", GREET)).stdout).toMatch(new RegExp(`${answered} .*diverges`));
    const one = await operatorWith(at, "export", answered ?? "");
    expect(one).toMatchObject({ code: 0, stderr: expect.stringContaining("1 task written") });
    expect(one.stdout).not.toMatch(/KEPT|ADA/);
    expect(await operatorWith(at, "export", "--all", "--ended", "--limit", "2")).toMatchObject({ code: 0 });
    expect(await operatorWith(at, "export", "--all", "--ended", "--limit", "1")).toMatchObject({ code: 1 });
    expect((await operatorWith(at, "export", "--all")).stdout).toContain(waiting);
    expect(await operatorWith(at, "export", "--ended", "--tool", "other")).toMatchObject({ code: 0, stdout: "" });
    // Whoever lacks the key still knows which tool a task calls, and whether it waits.
    const keyless = (...which: string[]) => operatorWith({ ...at, PARLEY_CONTENT_KEYS: aContentKey() }, "export", ...which);
    expect((await keyless("--ended", "--tool", "greet")).stderr).toMatch(/2 ended tasks written.*\n2 of them could not be read/);
    expect((await keyless("--tool", "greet")).stderr).toMatch(/1 waiting task written.*\n1 of them could not be read/);
    expect(await keyless("--ended", "--tool", "other")).toMatchObject({
      stdout: "",
      stderr: expect.stringMatching(/^(?!.*could not be read)[^]*0 ended tasks written/s),
    });
    expect(await operatorWith(at, "export", "--ended", answered ?? "")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("--ended"),
    });
  } finally {
    await keeping.close();
  }
});

test("waiting tasks are replayed from Redis before a rollout, and the output repeats nothing that people said", async () => {
  const waiting = (tools: string, ...args: string[]) => operatorWith({ PARLEY_TOOLS: tools }, "replay", "--waiting", ...args);
  expect(await waiting(GREET)).toMatchObject({ code: 0, stdout: "7 tasks: 7 continue, 0 diverge, 0 fail, 0 unknown\n" });

  const changedQuestion = await waiting(reworded);
  expect(changedQuestion.code).toBe(1);
  expect(changedQuestion.stdout).toMatch(/^✗ \S+ {2}greet {2}diverges: the question "name" has changed$/m);
  expect(changedQuestion.stdout).toContain("7 tasks: 0 continue, 7 diverge");
  expect(changedQuestion.stdout + changedQuestion.stderr).not.toMatch(/MARKER|greeted/);
  expect((await waiting(changed)).stdout).toContain("found new step:look-up");
  const failed = await waiting(failing);
  expect(failed.stdout).toMatch(/^✗ \S+ {2}greet {2}\w+: .*with the error TypeError$/m);
  expect(failed.stdout + failed.stderr).not.toContain("MARKER");

  expect(await operatorWith({ PARLEY_TOOLS: GREET, PARLEY_CONTENT_KEYS: "" }, "replay", "--waiting")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/unknown: the task cannot be read: .*\n[^]*7 unknown/),
  });

  // An image without the tool.
  const without = await waiting(OTHER);
  expect(without).toMatchObject({ code: 1, stdout: expect.stringContaining("diverges: the modules have no tool greet") });
  const upstreams = join(folder, "upstreams.json");
  await writeFile(upstreams, JSON.stringify({ upstreams: [{ name: "hall", prefix: "gree", url: "http://127.0.0.1:1/mcp" }] }));
  expect(await operatorWith({ PARLEY_TOOLS: OTHER, PARLEY_UPSTREAMS: upstreams }, "replay", "--waiting")).toMatchObject({
    code: 0,
    stdout: "0 tasks: 0 continue, 0 diverge, 0 fail, 0 unknown\n",
    stderr: expect.stringContaining("7 tasks of upstreams"),
  });

  expect(await waiting(GREET, "--limit", "2", "--json")).toMatchObject({
    code: 0,
    stdout: `${JSON.stringify({ tasks: 2, continues: 2, diverges: 0, fails: 0, unknown: 0, ofUpstreams: 0, more: true })}\n`,
  });
  expect(await operator("replay", "waiting.jsonl", "--waiting")).toMatchObject({ code: 1, stderr: expect.stringContaining("not both") });
  expect(await operator("replay", "--waiting", "--fork-at", "name")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("need a file"),
  });
  expect(await operator("replay", "--tools", GREET)).toMatchObject({ code: 1, stderr: expect.stringContaining("use --waiting") });
  expect(await operator("replay", "waiting.jsonl")).toMatchObject({ code: 1, stderr: expect.stringContaining("--tools <module>") });
});

test("a file that is not an export, and modules that do not load, are refused with place and reason", async () => {
  const file = join(folder, "bad.jsonl");
  await writeFile(file, '{"taskId":"0-x","format":1,"unreadable":"erased"}\n{"taskId":\n');
  expect(await inCi(file, "--tools", GREET)).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("could not be read when it was exported: erased"),
    stderr: expect.stringContaining(`${file}:2: is not JSON`),
  });
  expect(await inCi(join(folder, "none.jsonl"), "--tools", GREET)).toMatchObject({ code: 1, stderr: expect.stringContaining("ENOENT") });
  expect(await inCi(file, "--tools", "./none.ts")).toMatchObject({ code: 1, stderr: expect.stringContaining("cannot be loaded") });
  await writeFile(file, "\n");
  expect(await inCi(file, "--tools", GREET)).toMatchObject({ code: 1, stderr: expect.stringContaining("contains no task") });
});
