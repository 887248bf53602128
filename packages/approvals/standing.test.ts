import type { AuditFact, JsonObject, Tool } from "@parley/core";
import { createMemoryApprovalRecord, createMemoryStandingApprovals } from "@parley/core/memory";
import { defineTool } from "@parley/sdk";
import { decline, runTool, startTool, type TestOptions } from "@parley/sdk/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { gatedTool } from "./gate.ts";
import { createGateRecord } from "./record.ts";
import { readRules, type Rules, type RulesConfig } from "./rules.ts";
import { approvalForm, standingMs } from "./standing.ts";

const START_MS = Date.UTC(2026, 0, 1);
const APPROVAL = "parley.approval";
const DAY_MS = 86_400_000;
const OPS = {
  name: "ops",
  action: "approve",
  by: { groups: ["ops"] },
  standing: { for: "7d", uses: 2 },
} satisfies RulesConfig["rules"][number];
const BOB = { principal: "bob", groups: ["ops"] };
const ARGS = { iban: "DE1" };
const rulesOf = (rule: RulesConfig["rules"][number] = OPS) => readRules({ default: "allow", rules: [rule] }) as Rules;

/** A tool behind a rule that allows standing approvals, and those in memory. */
function subject(first = rulesOf()) {
  const standing = createMemoryStandingApprovals();
  const facts: AuditFact[] = [];
  const warned: string[] = [];
  const now = { ms: START_MS, rules: first, broken: false };
  const uses: string[] = [];
  const effects: string[] = [];
  const record = createGateRecord({
    approvals: createMemoryApprovalRecord(),
    standing: {
      ...standing,
      async use(use) {
        uses.push(use.id);
        if (now.broken) throw new Error("Redis is away");
        return await standing.use(use);
      },
    },
    audit: { note: async (fact) => void facts.push(fact) },
    now: () => now.ms,
    log: { debug() {}, info() {}, error() {}, warn: (_: object, text: string) => void warned.push(text) },
  });
  const plain = defineTool({
    name: "wire",
    description: "Sends money.",
    input: z.object({ iban: z.string(), amount: z.number().default(1) }),
    run: async (_, ctx) => {
      await ctx.step("wire", ({ idempotencyKey }) => effects.push(idempotencyKey));
      return "done";
    },
  });
  const behind = (tool: Tool) => gatedTool(tool, { rules: () => now.rules, stopped: () => undefined, record });
  const tool = behind(plain);
  let tasks = 0;
  /** Calls in a task of its own: the test kit gives every task the same id. */
  async function call(args: JsonObject = ARGS, { of = tool, ...options }: TestOptions & { of?: Tool } = {}) {
    tasks += 1;
    const id = `0-task-${tasks}`;
    const renamed: Tool = { ...of, run: async (given, effects) => await of.run(given, { ...effects, taskId: id }) };
    return await startTool(renamed, args, { principal: "ada", ...options });
  }
  async function passes(...of: Parameters<typeof call>): Promise<boolean> {
    const task = await call(...of);
    return task.asks.length === 0 && task.text === "done";
  }
  async function grant(choice: string, ...of: Parameters<typeof call>) {
    const task = await call(...of);
    await task.answer({ [APPROVAL]: { standing: choice } }, BOB);
    expect(task.text).toBe("done");
  }
  const list = () => standing.list({ tenant: "default", nowMs: now.ms });
  const did = () => facts.map((fact) => `${fact.did} ${fact.principal}`);
  return { standing, now, facts, did, warned, uses, effects, plain, behind, call, passes, grant, list };
}

describe("an approver who lets the same call pass for a while", () => {
  test("is asked again when the uses are spent, and each use is recorded", async () => {
    const { grant, passes, list, did, facts } = subject();
    await grant("7 days");
    expect(await list()).toMatchObject([
      { rule: "ops", tool: "wire", principal: "ada", by: "bob", uses: 2, left: 2, grantedAtMs: START_MS, untilMs: START_MS + 7 * DAY_MS },
    ]);
    expect([await passes(), await passes(), await passes()]).toEqual([true, true, false]);
    expect(did()).toEqual(["asked ada", "approved bob", "spent ada", "granted bob", "used ada", "used ada", "asked ada"]);
    const [{ id } = { id: "" }] = await list();
    expect(facts.filter(({ standing }) => standing === id).map((fact) => fact.did)).toEqual(["granted", "used", "used"]);
    expect(JSON.stringify([facts, await list()])).not.toContain("DE1");
  });

  test("is asked again when the time is over, and not before", async () => {
    const { grant, passes, now } = subject();
    await grant("1 day");
    now.ms += DAY_MS - 1;
    expect(await passes()).toBe(true);
    now.ms += 1;
    expect(await passes()).toBe(false);
  });

  test("is asked again after it was revoked", async () => {
    const { grant, passes, list, standing } = subject();
    await grant("7 days");
    for (const { id } of await list()) await standing.revoke({ tenant: "default", id });
    expect(await passes()).toBe(false);
  });

  test.each<[string, object]>([
    ["nothing", {}],
    ["this call only", { standing: "once" }],
  ])("gives none with %s", async (_, content) => {
    const { call, passes, list } = subject();
    const task = await call();
    await task.answer({ [APPROVAL]: content as JsonObject }, BOB);
    expect([task.text, await list(), await passes()]).toEqual(["done", [], false]);
  });

  test("gives none by a refusal, and none if the rules have changed meanwhile", async () => {
    const { call, list, now } = subject();
    await (await call()).answer({ [APPROVAL]: decline }, BOB);
    const late = await call();
    now.rules = rulesOf({ ...OPS, by: { groups: ["board"] } });
    await late.answer({ [APPROVAL]: { standing: "7 days" } }, BOB);
    expect(late.text).toMatch(/has changed since/);
    expect(await list()).toEqual([]);
  });

  test("cannot give more than the rule allows", async () => {
    const { call, list } = subject(rulesOf({ ...OPS, standing: { for: "1h", uses: 2 } }));
    const task = await call();
    for (const standing of ["7 days", "1 day", "100 days", "2"])
      await expect(task.answer({ [APPROVAL]: { standing } }, BOB), standing).rejects.toThrow();
    await task.answer({ [APPROVAL]: { standing: "1 hour" } }, BOB);
    expect(await list()).toMatchObject([{ untilMs: START_MS + 3_600_000 }]);
  });
});

describe("a standing approval does not let pass", () => {
  test.each<[string, JsonObject, TestOptions]>([
    ["other arguments", { iban: "DE2" }, {}],
    ["one argument more", { iban: "DE1", amount: 2 }, {}],
    ["arguments in other case", { iban: "de1" }, {}],
    ["arguments that only look alike", { iban: "DE1\u200b" }, {}],
    ["another caller", ARGS, { principal: "eve" }],
  ])("%s", async (_, args, options) => {
    const { grant, passes, list } = subject();
    await grant("7 days");
    expect(await passes(args, options)).toBe(false);
    expect(await list()).toMatchObject([{ left: 2 }]);
  });

  test.each<[string, Partial<Tool>]>([
    ["another tool", { name: "wire_all" }],
    ["a tool that says something else of itself", { description: "Sends money twice." }],
    ["a tool that says that it is not to be repeated", { annotations: { idempotentHint: false } }],
    ["a new version", { version: "2" }],
    ["a tool that takes something else", { inputSchema: { type: "object", properties: { iban: {}, amount: {}, all: {} } } }],
  ])("%s", async (_, change) => {
    const { grant, passes, plain, behind } = subject();
    await grant("7 days");
    expect(await passes(ARGS, { of: behind({ ...plain, ...change }) })).toBe(false);
  });

  test.each<[string, Partial<RulesConfig["rules"][number]>]>([
    ["another rule", { name: "other" }],
    ["a rule that asks others", { by: { groups: ["board"] } }],
    ["a rule that allows more", { standing: { for: "30d", uses: 1_000 } }],
    ["a rule that allows none any more", { standing: undefined }],
  ])("a call under %s", async (_, change) => {
    const { grant, passes, now } = subject();
    await grant("7 days");
    const changed = { ...OPS, ...change };
    now.rules = rulesOf(Object.fromEntries(Object.entries(changed).filter(([, value]) => value !== undefined)) as typeof OPS);
    expect(await passes()).toBe(false);
  });

  test("a call that a rule refuses now", async () => {
    const { grant, call, now } = subject();
    await grant("7 days");
    now.rules = rulesOf({ name: "no", action: "deny" });
    expect((await call()).text).toMatch(/refused/);
  });

  test("a second one of two calls at once that find one use left", async () => {
    const { grant, passes } = subject(rulesOf({ ...OPS, standing: { for: "7d", uses: 1 } }));
    await grant("7 days");
    const all = await Promise.all([passes(), passes(), passes()]);
    expect(all.filter(Boolean)).toHaveLength(1);
  });

  test("a call while it cannot be read: a person is asked", async () => {
    const { grant, passes, now, warned } = subject();
    await grant("7 days");
    now.broken = true;
    expect(await passes()).toBe(false);
    expect(warned).toEqual(["standing approval was not read or written"]);
  });
});

test("a call whose worker dies after every write spends one use, and acts once", async () => {
  const { grant, passes, list, effects, behind, plain } = subject();
  await grant("7 days");
  const before = effects.length;
  await runTool(behind(plain), ARGS, { principal: "ada", crashAt: "every" });
  expect(await list()).toMatchObject([{ left: 1 }]);
  expect(new Set(effects.slice(before)).size).toBe(1);
  expect(await passes()).toBe(true);
});

test("nothing is looked up for a call that a rule allows, refuses, or may only approve once", async () => {
  const { passes, call, uses, now } = subject(rulesOf({ ...OPS, when: "args.iban == 'DE9'" }));
  expect(await passes()).toBe(true);
  now.rules = rulesOf({ name: "no", action: "deny" });
  await call();
  now.rules = rulesOf({ name: "ops", action: "approve", by: { groups: ["ops"] } });
  await call();
  expect(uses).toEqual([]);
});

test.each<[string, number, number, string[]]>([
  ["1 minute", 60_000, 1, ["once", "1 minute"]],
  ["1 hour", 3_600_000, 5, ["once", "1 hour"]],
  ["36 hours", 129_600_000, 5, ["once", "1 hour", "1 day", "36 hours"]],
  ["31 days", 31 * DAY_MS, 5, ["once", "1 hour", "1 day", "7 days", "31 days"]],
])("a rule that allows %s offers shorter times, and what it offers is read as it is meant", (_, forMs, uses, choices) => {
  const { properties } = approvalForm({ forMs, uses }) as { properties: { standing: { oneOf: { const: string }[] } } };
  expect(properties.standing.oneOf.map((each) => each.const)).toEqual(choices);
  expect(standingMs({ standing: choices.at(-1) }, { forMs, uses })).toBe(forMs);
  expect(standingMs({ standing: "once" }, { forMs, uses })).toBeUndefined();
});

test.each<[string, object, RegExp]>([
  ["too long", { for: "32d" }, /standing\.for \(ops\): must be from 1m to 31d/],
  ["too short", { for: "59s" }, /standing\.for \(ops\): must be from 1m to 31d/],
  ["no time", { for: "soon" }, /standing\.for \(ops\): .*is not a duration/],
  ["no uses", { for: "1d", uses: 0 }, /standing\.uses/],
  ["too many uses", { for: "1d", uses: 10_001 }, /standing\.uses/],
  ["a quorum", { for: "1d", quorum: 2 }, /standing \(ops\): cannot be combined with `quorum`/],
])("a rule with %s is a problem of the file", (_, { quorum, ...standing }: { quorum?: number }, problem) => {
  const read = readRules({ default: "allow", rules: [{ ...OPS, standing, ...(quorum && { quorum }) }] });
  expect("problems" in read && read.problems.join("\n")).toMatch(problem);
});

test("the longest time and the most uses are accepted", () => {
  const read = readRules({ default: "allow", rules: [{ ...OPS, standing: { for: "31d", uses: 10_000 } }] });
  expect("problems" in read).toBe(false);
});
