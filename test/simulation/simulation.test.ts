import { describe, expect, test } from "vitest";
import { drawChoices } from "./choices.ts";
import { describeProgram } from "./describe.ts";
import { generate } from "./generate.ts";
import { KNOWN_HANDLERS, schedulesUntilBroken } from "./known-handlers.ts";
import { SOURCES } from "./library.ts";
import { LIMITERS } from "./limiters.ts";
import { isDrawn, PARTS } from "./locks.ts";
import { BY_PLACE, isEffect, mayBeRefused, type Node, type Program, some } from "./program.ts";
import { type Rule, RULES } from "./rules.ts";
import { runCases } from "./run-cases.ts";
import { shrink } from "./shrink.ts";
import { simulate, simulateKept, simulateSeed } from "./simulate.ts";

const ALL = Object.keys(RULES) as Rule[];
/** A look only: CI runs 20,000. */
const CASES = 100;

test(`nothing is broken in ${CASES} cases`, async () => {
  const { found } = await runCases({ cases: CASES, seed: 1, threads: 1, rules: ALL, stop: false });
  expect(found).toEqual({});
});

test("a run that is stopped counts the cases that it has done, and says which", async () => {
  const request = { cases: 1_000_000, seed: 7, threads: 1, rules: ALL, stop: false };
  const { cases, seeds, runs } = await runCases(request, { signal: AbortSignal.timeout(300) });
  expect(cases).toBeGreaterThan(0);
  expect(runs).toBeGreaterThan(cases);
  expect(seeds).toEqual([`7 to ${6 + cases}`]);
  const none = await runCases(request, { signal: AbortSignal.abort() });
  expect(none).toMatchObject({ cases: 0, seeds: [] });
});

describe("handlers that replay once got wrong", () => {
  test.each(KNOWN_HANDLERS)("finding $finding, $name: holds under 50 schedules", async ({ program }) => {
    expect(await schedulesUntilBroken(program, { rules: ALL, schedules: 50 })).toBeUndefined();
  });
});

describe("a case", () => {
  test("is the same bit by bit when its seed is run again", async () => {
    const lines = async (seed: number) => {
      const told: string[] = [];
      const verdict = await simulateSeed(seed, (line) => told.push(line));
      return { verdict, told };
    };
    for (let seed = 1; seed <= 40; seed += 1) expect(await lines(seed)).toEqual(await lines(seed));
  });

  test("is the same when its choices are kept and played again", async () => {
    for (let seed = 1; seed <= 40; seed += 1) {
      const { program, choices, violations, facts } = await simulateSeed(seed);
      expect(await simulateKept(program, choices)).toEqual({ program, choices, violations, facts });
    }
  });

  test("ends when its choices run out: no further fault follows", async () => {
    for (let seed = 1; seed <= 40; seed += 1) {
      const { choices } = await simulateSeed(seed);
      const { facts } = await simulateKept(generate(String(seed)), choices.slice(0, choices.length / 2));
      expect(facts.status).not.toBe("unfinished");
    }
  });

  test("that fails is made small, and still fails by the same rule", async () => {
    // The handler fails by itself, and the engine is blamed: this breaks a rule with any engine under test.
    const program: Program = {
      kind: "pure",
      attempts: 1,
      body: [
        {
          op: "map",
          times: 3,
          body: {
            op: "seq",
            body: [
              { op: "step", name: "a" },
              { op: "ask", name: "b" },
            ],
          },
        },
        {
          op: "all",
          body: [
            { op: "step", name: "c" },
            { op: "step", name: "not a name" },
          ],
        },
        { op: "ask", name: "last" },
      ],
    };
    const failing = await simulate(program, drawChoices("any"));
    const rule: Rule = "failure";
    expect(failing.violations.map((violation) => violation.rule)).toContain(rule);
    const { verdict } = await shrink(failing, rule);
    expect(verdict.program.body).toEqual([{ op: "step", name: "not a name" }]);
    expect(verdict.choices).toEqual([]);
  });
});

test("every program can be shown as a handler", () => {
  for (let seed = 1; seed <= 500; seed += 1) expect(describeProgram(generate(String(seed)))).not.toContain("undefined");
});

describe("programs that read", () => {
  const LOCKS = Object.entries(PARTS).flatMap(([part, options]) => options.filter(isDrawn).map((option) => `${part}: ${option}`));
  const programs = Array.from({ length: 4_000 }, (_, seed) => generate(String(seed))).filter(({ kind }) => kind === "reading");
  const drawn = new Set<string>();
  for (const { body, locks = [] } of programs) {
    for (const lock of locks) for (const [part, option] of Object.entries(lock)) drawn.add(`${part}: ${option}`);
    some(body, (node) => {
      drawn.add(node.op === "read" ? node.source : node.op === "limit" ? node.limiter : node.op);
      if (isEffect(node) && node.op !== "fact" && node.key !== undefined) drawn.add("key");
      return false;
    });
  }

  test.each([...SOURCES, ...LIMITERS, ...LOCKS, "lock", "ctxMap", "retry", "pages", "once", "start", "key"])("use %s", (what) => {
    expect(drawn).toContain(what);
  });

  test("are held to the strict rule as often as to the other", () => {
    const strict = programs.filter((program) => !mayBeRefused(program)).length;
    expect(strict / programs.length).toBeGreaterThan(0.4);
    expect(strict / programs.length).toBeLessThan(0.9);
  });

  const save: Node = { op: "step", name: "save" };
  const reading = (...body: Node[]): Program => ({ kind: "reading", attempts: 1, body });
  const read: Node = { op: "read", source: "cache", row: "x" };
  const both: Node = { op: "seq", body: [read, save] };
  const failing: Node = { op: "seq", body: [read, { ...save, fails: 1 }] };
  const MAY: readonly (readonly [string, boolean, Node])[] = [
    ["a loop", false, { op: "loop", times: 2, body: both }],
    ["items of ctx.map", false, { op: "ctxMap", key: "item", times: 2, body: both }],
    ["a branch beside others", false, { op: "all", body: [{ op: "branch", key: "one", body: both }, read] }],
    ["a key beside others", false, { op: "map", times: 2, body: { ...save, key: BY_PLACE } }],
    ["chunks", false, { op: "loop", times: 2, body: { op: "map", times: 2, body: both } }],
    ["items of a map that call and then read", true, { op: "map", times: 2, body: { op: "seq", body: [read, save, read, save] } }],
    ["chunks of which one may fail", true, { op: "loop", times: 2, body: { op: "map", times: 2, body: failing } }],
    ["chunks beside others", true, { op: "all", body: [{ op: "map", times: 2, body: both }, read] }],
    ["items of a limiter", true, { op: "limit", limiter: "p-limit", concurrency: 1, times: 2, body: both }],
    ["a lock that is taken again and again", false, { op: "loop", times: 2, body: { op: "lock", lock: 0, body: save } }],
    ["a lock in items of ctx.map", true, { op: "ctxMap", key: "item", times: 2, body: { op: "lock", lock: 0, body: save } }],
    ["chunks in an item of ctx.map", false, { op: "ctxMap", key: "item", times: 2, body: { op: "map", times: 2, body: both } }],
    ["a function that nobody awaits", true, { op: "start", id: 1, body: both }],
  ];
  test.each(MAY)("%s: may be refused is %s", (_what, may, node) => {
    expect(mayBeRefused(reading(node))).toBe(may);
  });
});
