import type { AuditFact, Effects, JsonObject, Tool } from "@parley/core";
import { createMemoryApprovalRecord } from "@parley/core/memory";
import { defineTool } from "@parley/sdk";
import { cancel, decline, type Reply, runTool, startTool, timeout } from "@parley/sdk/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { gatedTool, withTests } from "./gate.ts";
import { type PlantTest, TESTS_A_DAY_MAX } from "./planted.ts";
import { createGateRecord, type Did } from "./record.ts";
import { approvalReport } from "./report.ts";
import { readRules, type Rules, type RulesConfig } from "./rules.ts";

const APPROVAL = "parley.approval";
const START_MS = Date.UTC(2026, 0, 1, 12);
const BOB = { principal: "bob", groups: ["ops"] };
const OPS = {
  name: "ops",
  title: "Wiring money",
  action: "approve",
  by: { groups: ["ops"] },
  not: "caller",
  tests: { share: 0.1, change: [{ iban: "XX00" }] },
} satisfies RulesConfig["rules"][number];
const rulesOf = (more: object = {}, ...before: RulesConfig["rules"]) =>
  readRules({ default: "allow", rules: [...before, { ...OPS, ...more }] } as RulesConfig) as Rules;

/** A tool behind the rule, and the tests that were made. `random`: what is drawn next, 0 for a test. */
function subject(first = rulesOf()) {
  const approvals = createMemoryApprovalRecord();
  const ran: string[] = [];
  const planted: PlantTest[] = [];
  const facts: AuditFact[] = [];
  const counted: Did[] = [];
  const logged: string[] = [];
  const now = { ms: START_MS, rules: first, random: 0, plantFails: false, plantTakesMs: 0 };
  const record = createGateRecord({
    approvals,
    audit: { note: async (fact) => void facts.push(fact) },
    plant: async (test) => {
      now.ms += now.plantTakesMs;
      if (now.plantFails) throw new Error("Redis is away");
      planted.push(test);
    },
    random: () => now.random,
    now: () => now.ms,
    count: ({ did }) => void counted.push(did),
    log: {
      debug() {},
      info: (_: object, text: string) => void logged.push(text),
      error() {},
      warn: (_: object, text: string) => void logged.push(text),
    },
  });
  const plain = defineTool({
    name: "wire",
    title: "Wire money",
    input: z.object({ iban: z.string().max(10), amount: z.number().default(1) }),
    run: async ({ iban }, ctx) => {
      await ctx.step("wire", () => ran.push(iban));
      return "done";
    },
  });
  const options = { rules: () => now.rules, stopped: () => undefined, record };
  const tool = gatedTool(plain, options);
  let tasks = 0;
  const named = (of: Tool): Tool => {
    const taskId = `0-task-${(tasks += 1)}`;
    return { ...of, run: async (args, effects) => await of.run(args, { ...effects, taskId }) };
  };
  const call = async (args: JsonObject = { iban: "DE1" }) => await startTool(named(tool), args, { principal: "ann" });
  /** What a worker runs for the test that was made last. */
  const testOf = (effects: (before: Effects) => Partial<Effects> = () => ({})): Tool => {
    const [runs] = [...withTests({ tools: new Map([["wire", tool]]), prompts: new Map() } as never, options).tools.values()].slice(-1);
    // It waits for some minutes, which the test kit would have to be told.
    const of = {
      ...runs!,
      run: (args: JsonObject, given: Effects) => runs!.run(args, { ...given, sleep: async () => undefined, ...effects(given) }),
    };
    return named(of);
  };
  const startTest = async () => await startTool(testOf(), planted.at(-1)!.arguments, { principal: "ann" });
  const report = async () =>
    (await approvalReport({ approvals, load: async () => undefined }, { tenant: "default", days: 1, nowMs: now.ms })).rules;
  const did = () => facts.map((fact) => `${fact.did} ${fact.principal}`);
  return { approvals, now, ran, planted, did, facts, counted, logged, call, testOf, startTest, report };
}

describe("a call of a rule with tests", () => {
  test("is followed by a copy with other arguments, as often as the rule says, and waits for none", async () => {
    const { now, call, planted, ran } = subject();
    now.random = 0.1;
    await call();
    expect(planted).toEqual([]);
    now.random = 0.099;
    const real = await call({ iban: "DE1", amount: 5 });
    expect(planted).toMatchObject([
      {
        tool: { name: "wire#test", title: "Wire money" },
        caller: { principal: "ann", tenant: "default" },
        arguments: { of: "0-task-2", rule: "ops", arguments: { iban: "XX00", amount: 5 }, changed: ["iban"] },
        idempotencyKey: "test\nof 0-task-2",
        retentionMs: real.task.call.retentionMs,
      },
    ]);
    await real.answer({ [APPROVAL]: {} }, BOB);
    expect([real.text, ran]).toEqual(["done", ["DE1"]]);
  });

  test.each<[string, object, JsonObject]>([
    ["that has the arguments of the test itself", {}, { iban: "XX00" }],
    ["whose tool does not take them", { tests: { share: 0.1, change: [{ iban: "longer than ten" }] } }, { iban: "DE1" }],
  ])("%s is followed by none", async (_, more, args) => {
    const { call, planted, logged } = subject(rulesOf(more));
    await call(args);
    expect([planted, logged]).toEqual([[], ["a test of a rule was not made"]]);
  });

  test("goes on if no test can be made", async () => {
    const { now, call, ran, logged } = subject();
    now.plantFails = true;
    const real = await call();
    await real.answer({ [APPROVAL]: {} }, BOB);
    expect([ran, logged]).toEqual([["DE1"], ["a test of a rule was not made"]]);
  });

  test("leaves nothing behind if its test cannot be made", async () => {
    const { now, call, approvals, report } = subject();
    now.plantFails = true;
    await call();
    expect((await report())[0]?.tests).toEqual({ asked: 0, caught: 0, missed: 0, missedBy: [] });
    // Nothing is open, so nothing is settled again.
    await approvals.settled({
      tenant: "default",
      rule: "+ops",
      taskId: "0-task-1",
      askedAtMs: now.ms,
      end: "approved",
      atMs: now.ms,
      by: ["bob"],
    });
    expect((await report())[0]?.tests).toMatchObject({ missed: 0 });
  });

  test("leaves nothing behind either if that is known only on the next day", async () => {
    const { now, call, report } = subject();
    now.plantFails = true;
    now.plantTakesMs = 86_400_000;
    await call();
    expect((await report())[0]?.tests ?? { asked: 0 }).toMatchObject({ asked: 0 });
  });

  test("has its test made under a key that no door takes, so its caller can neither find the test nor keep it from being made", async () => {
    const { call, planted } = subject();
    await call();
    const key = planted[0]?.idempotencyKey ?? "";
    // MCP takes printable ASCII without spaces, and HTTP no line break in a header.
    expect(key).not.toMatch(/^[\x21-\x7e]*$/);
    expect(() => new Headers({ "idempotency-key": key })).toThrow(TypeError);
  });

  test("is followed by at most so many a day", async () => {
    const { now, call, planted } = subject();
    for (let calls = 0; calls < TESTS_A_DAY_MAX; calls += 1) await call();
    expect(planted).toHaveLength(TESTS_A_DAY_MAX);
    await call();
    expect(planted).toHaveLength(TESTS_A_DAY_MAX);
    now.ms += 86_400_000;
    await call();
    expect(planted).toHaveLength(TESTS_A_DAY_MAX + 1);
  });
});

describe("a test", () => {
  test("asks what the call would ask, of the same people", async () => {
    const { call, startTest } = subject();
    const real = await call({ iban: "XX01" });
    const asked = await startTest();
    const [one, other] = [real.asks[0]!, asked.asks[0]!];
    expect(JSON.stringify(other.request)).toBe(JSON.stringify(one.request).replaceAll("XX01", "XX00"));
    expect([other.key, other.audience, other.deadlineMs - other.askedAtMs]).toEqual([
      one.key,
      one.audience,
      one.deadlineMs - one.askedAtMs,
    ]);
  });

  test.each<[string, Reply, "caught" | "missed" | undefined, object]>([
    ["refused", decline, "caught", { caught: 1, missed: 0, missedBy: [] }],
    ["approved", {}, "missed", { caught: 0, missed: 1, missedBy: [{ principal: "bob", missed: 1 }] }],
    ["left until its deadline", timeout, undefined, { caught: 0, missed: 0, missedBy: [] }],
    ["closed", cancel, undefined, { caught: 0, missed: 0, missedBy: [] }],
  ])("that is %s runs nothing, and is counted apart from calls, once", async (_, reply, outcome, tests) => {
    const { call, planted, testOf, ran, report, did, counted } = subject();
    const real = await call();
    await runTool(testOf(), planted[0]!.arguments, {
      principal: "ann",
      answers: { [APPROVAL]: reply as never },
      people: { [APPROVAL]: BOB } as never,
      crashAt: "every",
    } as never);
    expect(ran).toEqual([]);
    const [rule] = await report();
    expect(rule).toMatchObject({
      rule: "ops",
      asked: 1,
      approved: 0,
      refused: 0,
      tests: { asked: 1, ...tests, ...(outcome === "missed" && { missedBy: expect.any(Array) }) },
    });
    expect(new Set(did().map((each) => each.split(" ")[0]))).toEqual(new Set(["asked", "tested", ...(outcome ? [outcome] : [])]));
    expect(counted.includes("missed")).toBe(outcome === "missed");
    await real.answer({ [APPROVAL]: {} }, BOB);
    expect(ran).toEqual(["DE1"]);
  });

  test("that is still to be asked is no call that waits, and a report takes nothing of it away", async () => {
    const { call, startTest, report } = subject();
    await call();
    expect((await report()).map(({ rule, waiting, tests }) => [rule, waiting, tests?.asked])).toEqual([["ops", 0, 1]]);
    await (await startTest()).answer({ [APPROVAL]: decline }, BOB);
    expect((await report())[0]?.tests).toMatchObject({ asked: 1, caught: 1 });
  });

  test("of several people is caught by the one who refuses it", async () => {
    const { call, startTest, did } = subject(rulesOf({ quorum: 2 }));
    await call();
    const asked = await startTest();
    await asked.answer({ [APPROVAL]: {} }, BOB);
    await asked.answer({ [APPROVAL]: decline }, { principal: "cem", groups: ["ops"] });
    expect(did().at(-1)).toBe("caught cem");
  });

  test("names who approved it", async () => {
    const { call, startTest, report, did } = subject();
    await call();
    const asked = await startTest();
    await asked.answer({ [APPROVAL]: {} }, BOB);
    expect((await report())[0]?.tests?.missedBy).toEqual([{ principal: "bob", missed: 1 }]);
    expect(did().at(-1)).toBe("missed bob");
  });

  test.each<[string, JsonObject, object]>([
    ["changes what was planted has seen it", { iban: "DE1", amount: 1 }, { caught: 1, missed: 0 }],
    ["changes something else has not", { iban: "XX00", amount: 9 }, { caught: 0, missed: 1 }],
  ])("whose approver %s", async (_, content, tests) => {
    const { call, startTest, report, ran } = subject(rulesOf({ edit: true }));
    await call();
    await (await startTest()).answer({ [APPROVAL]: content }, BOB);
    expect((await report())[0]?.tests).toMatchObject(tests);
    expect(ran).toEqual([]);
  });

  test("gives no standing approval", async () => {
    const { call, startTest, ran } = subject(rulesOf({ standing: { for: "1h" } }));
    await call();
    await (await startTest()).answer({ [APPROVAL]: { standing: "1 hour" } }, BOB);
    const next = await call({ iban: "XX00" });
    expect([next.asks.length, ran]).toEqual([1, []]);
  });

  test.each<[string, (now: { rules: Rules }) => void]>([
    ["another rule refuses", (now) => (now.rules = rulesOf({}, { name: "no", when: "args.iban == 'XX00'", action: "deny" }))],
    [
      "another rule asks about",
      (now) => (now.rules = rulesOf({}, { ...OPS, name: "board", by: { groups: ["board"] }, when: "args.iban == 'XX00'" })),
    ],
    ["the rule has no tests any more", (now) => (now.rules = rulesOf({ tests: undefined }))],
    ["the rule is gone", (now) => (now.rules = readRules({ default: "allow", rules: [] }) as Rules)],
    ["rules only record", (now) => (now.rules = readRules({ dryRun: true, default: "allow", rules: [OPS] }) as Rules)],
  ])("that %s asks nobody", async (_, change) => {
    const { approvals, now, call, startTest, report, ran } = subject();
    await call();
    change(now);
    const asked = await startTest();
    expect([asked.asks, asked.task.status, ran]).toEqual([[], "completed", []]);
    expect((await report())[0]?.tests).toMatchObject({ asked: 1, caught: 0, missed: 0 });
    // Otherwise it would take a place among those that a report reads, for a month.
    const { open } = await approvals.read({ tenant: "default", days: 1, nowMs: now.ms });
    expect(open.filter((each) => each.rule.startsWith("+"))).toEqual([]);
  });
});

test.each<[string, object, RegExp]>([
  ["more than a fifth", { tests: { share: 0.21, change: [{ a: 1 }] } }, /rules\[0\]\.tests\.share/],
  ["none", { tests: { share: 0, change: [{ a: 1 }] } }, /rules\[0\]\.tests\.share/],
  ["nothing to change", { tests: { share: 0.1, change: [] } }, /rules\[0\]\.tests\.change/],
  ["a change of nothing", { tests: { share: 0.1, change: [{}] } }, /rules\[0\]\.tests\.change \(ops\): has an entry that changes nothing/],
  ["what nobody sees", { redact: ["/iban"] }, /rules\[0\]\.tests\.change \(ops\): changes "iban", which `redact` hides/],
  ["prompts", { prompts: ["p"] }, /rules\[0\]\.tests \(ops\): is about arguments of tools/],
  [
    "a rule that does not ask",
    { action: "deny", by: undefined, not: undefined },
    /rules\[0\]\.tests \(ops\): belongs to `action: "approve"`/,
  ],
])("a rule cannot have tests with %s", (_, more, problem) => {
  const read = readRules({ default: "allow", rules: [{ ...OPS, ...more }] } as RulesConfig);
  expect("problems" in read ? read.problems.join() : "").toMatch(problem);
});

test("a rule may have tests for a fifth of its calls", () => {
  expect(rulesOf({ tests: { share: 0.2, change: [{ a: 1 }] } }).tests("ops")).toEqual({ share: 0.2, change: [{ a: 1 }] });
  expect(rulesOf().tests("another")).toBeUndefined();
});
