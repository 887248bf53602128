import {
  aboutOf,
  CALL_REASON_CHARS_MAX,
  CONTEXT_CHARS_MAX,
  contextText,
  type Effects,
  type JsonObject,
  LAST_APPROVED_CHARS_MAX,
  type Tool,
} from "@parley/core";
import { createMemoryApprovalRecord, createMemoryLastApproved } from "@parley/core/memory";
import { defineTool } from "@parley/sdk";
import { decline, runTool, startTool, type TestOptions } from "@parley/sdk/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { aboutCall } from "./approval-message.ts";
import type { LastCall } from "./compare.ts";
import { gatedTool } from "./gate.ts";
import { createGateRecord } from "./record.ts";
import { readRules, type Rules, type RulesConfig } from "./rules.ts";

const AT_MS = Date.UTC(2026, 10, 12, 10, 3);
/** When the tasks of the test kit begin. */
const START_MS = Date.UTC(2026, 0, 1);
const APPROVAL = "parley.approval";
const OPS = {
  name: "ops",
  title: "Deploying",
  action: "approve",
  by: { groups: ["ops"] },
  diff: "caller",
} satisfies RulesConfig["rules"][number];
const BOB = { principal: "bob", groups: ["ops"] };
const rulesOf = (more: Partial<RulesConfig["rules"][number]> = {}) =>
  readRules({ default: "allow", rules: [{ ...OPS, ...more }] }) as Rules;

describe("a call beside the last one that was approved", () => {
  const tool = { kind: "tool", name: "deploy", inputSchema: { type: "object" } } as unknown as Tool;
  const lastOf = (args: JsonObject | undefined, principal = "ann"): LastCall => ({
    taskId: "0-1",
    principal,
    approvedAtMs: AT_MS,
    ...(args && { arguments: JSON.stringify(args) }),
  });
  const partOf = (last: LastCall, args: JsonObject, { redact = [] as string[], reason = undefined as string | undefined } = {}) =>
    aboutCall(tool, args, { title: "", risk: "medium", redact, reason, compared: { last, redact, principal: "ann" } }).context ?? [];
  const shown = (before: JsonObject, now: JsonObject, more?: Parameters<typeof partOf>[2]) => {
    const [title = "", ...lines] = contextText([partOf(lastOf(before), now, more).at(-1)!]).split("\n");
    return { title, lines };
  };
  const TITLE = "Changed since the last approved call, by the same caller, 12 November 2026, 10:03 UTC:";

  test.each<[string, JsonObject, JsonObject, readonly string[]]>([
    ["a value", { a: 1, b: 2 }, { a: 1, b: 3 }, ["  (1 more)", "- b: 2", "+ b: 3"]],
    ["a value of another type", { a: 1 }, { a: "1" }, ["- a: 1", '+ a: "1"']],
    ["one that is new, and one that is gone", { a: 1 }, { b: "x" }, ["- a: 1", "+ b: x"]],
    ["what is within", { a: { b: { c: 1, d: 2 } } }, { a: { b: { c: 1, d: 3 } } }, ["  a.b.c: 1", "- a.b.d: 2", "+ a.b.d: 3"]],
    ["an entry that is inserted", { a: ["x", "z"] }, { a: ["x", "y", "z"] }, ["  a[]: x", "+ a[]: y", "  a[]: z"]],
    ["a list that is emptied", { a: ["x"] }, { a: [] }, ["- a[]: x", "+ a: []"]],
    ["a line of a text", { a: "p\nq\nr" }, { a: "p\nQ\nr" }, ["  a > p", "- a > q", "+ a > Q", "  a > r"]],
    ["the order of a list", { a: ["x", "y"] }, { a: ["y", "x"] }, ["- a[]: x", "  a[]: y", "+ a[]: x"]],
    ["a name that is no word", { "a: 1\n+ b": 1 }, {}, ['- "a: 1\\n+ b": 1']],
    ["a text that looks like another line", { a: "1\n+ b: 2" }, { a: 1 }, ["- a > 1", "- a > + b: 2", "+ a: 1"]],
    ["a text that turns around", { a: "x" }, { a: "\u202ex" }, ["- a: x", '+ a: "\\u202ex"']],
    ["an end that nobody sees", { a: "x" }, { a: "x " }, ["- a: x", '+ a: "x "']],
  ])("shows %s", (_, before, now, lines) => {
    const found = shown(before, now);
    expect(found.title).toBe(TITLE);
    expect(found.lines.filter((line) => !line.startsWith("  "))).toEqual(lines.filter((line) => !line.startsWith("  ")));
  });

  test("leaves out long runs of what is equal, and says how much", () => {
    const lines = Array.from({ length: 30 }, (_, at) => `line ${at}`);
    const found = shown({ a: lines.join("\n") }, { a: lines.with(15, "another").join("\n") });
    expect(found.lines).toEqual([
      "  (13 more that are equal)",
      "  a > line 13",
      "  a > line 14",
      "- a > line 15",
      "+ a > another",
      "  a > line 16",
      "  a > line 17",
      "  (12 more that are equal)",
    ]);
  });

  test("shows a long value from shortly before it differs, and never two that look alike", () => {
    const long = "x".repeat(3_000);
    const { lines } = shown({ a: `${long}1${long}` }, { a: `${long}2${long}` });
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(/^- a: …x{35,45}1x+… \(before\)$/);
    expect(lines[1]).toMatch(/^\+ a: …x{35,45}2x+… \(now\)$/);
    // A line of a text that has moved has no line to be compared with.
    const moved = shown({ a: `${long}1\nb` }, { a: `b\nc\n${long}2` });
    expect(moved.lines.filter((line) => /^[-+] a > …?x/.test(line))).toHaveLength(2);
  });

  test("shows neither what the rule keeps back, nor that it has changed", () => {
    const redact = ["/password", "/account/iban"];
    const before = { a: 1, password: "old", account: { iban: "DE1" } };
    const { lines } = shown(before, { a: 2, password: "new", account: { iban: "DE2" } }, { redact });
    expect(lines).toEqual(["- a: 1", "+ a: 2", '  password: "(not shown)"', '  account.iban: "(not shown)"']);
  });

  test.each<[string, LastCall, JsonObject, RegExp]>([
    ["no earlier one", "none", {}, /^Compared with the last approved call:\nNo earlier approved call is known\.$/],
    ["one that cannot be read", "unknown", {}, /could not be read\.$/],
    [
      "one that was too large",
      lastOf(undefined),
      {},
      /It was too large to compare with \(by the same caller, 12 November 2026, 10:03 UTC\)\.$/,
    ],
    ["the same", lastOf({ a: 1, b: 2 }), { b: 2, a: 1 }, /The arguments are the same \(by the same caller, /],
    ["another caller's", lastOf({ a: 1 }, "eve"), { a: 2 }, /^Changed since the last approved call, by another caller, 12 November/],
    ["one that is as large as it may be", lastOf({ a: 1 }), { a: "x".repeat(LAST_APPROVED_CHARS_MAX - 8) }, /^Changed/],
    [
      "one that is larger now",
      lastOf({ a: 1 }),
      { a: "x".repeat(LAST_APPROVED_CHARS_MAX - 7) },
      /This call is too large to compare with it/,
    ],
  ])("says so of %s", (_, last, now, says) => {
    expect(contextText([partOf(last, now).at(-1)!])).toMatch(says);
  });

  test("stands between the arguments and the caller's words", () => {
    const titles = partOf(lastOf({ a: 1 }), { a: 2 }, { reason: "Room" }).map(({ title }) => title);
    expect(titles).toEqual(["Tool", "Arguments", TITLE.slice(0, -1), "Why, in the caller's own words"]);
  });

  test.each<[string, (name: string, at: number) => JsonObject]>([
    ["quotes", (name, at) => ({ [`"${name}${at}`]: '"'.repeat(60) })],
    ["escapes", (name, at) => ({ [`\u202e${name}${at}`]: "\\\u202e".repeat(10) })],
    ["lines", (name, at) => ({ [`${name}${at}`]: "a\n".repeat(30) })],
  ])("has room in its context, whatever has changed: %s", (_, each) => {
    const all = (name: string) => Object.assign({}, ...Array.from({ length: 60 }, (__, at) => each(name, at))) as JsonObject;
    const parts = partOf(lastOf(all("before")), all("now"), { reason: "\u202e".repeat(CALL_REASON_CHARS_MAX) });
    expect(JSON.stringify(parts).length).toBeLessThanOrEqual(CONTEXT_CHARS_MAX);
    const compared = parts.find(({ type }) => type === "diff");
    expect(contextText([compared!])).toContain("  (more is not shown)");
  });
});

/** A tool behind the rule, and what is kept of its calls. */
function subject(first = rulesOf(), { asks = false } = {}) {
  const stored = createMemoryLastApproved();
  const warned: string[] = [];
  const now = { ms: START_MS, rules: first, broken: false };
  const counts = { reads: 0, notes: 0 };
  const record = createGateRecord({
    approvals: createMemoryApprovalRecord(),
    lastApproved: {
      async read(of) {
        counts.reads += 1;
        if (now.broken) throw new Error("Redis is away");
        return await stored.read(of);
      },
      async note(noted) {
        counts.notes += 1;
        if (now.broken) throw new Error("Redis is away");
        await stored.note(noted);
      },
    },
    now: () => now.ms,
    log: { debug() {}, info() {}, error() {}, warn: (_: object, text: string) => void warned.push(text) },
  });
  const plain = defineTool({
    name: "deploy",
    input: z.object({ service: z.string(), replicas: z.number().default(3), token: z.string().optional() }),
    async run({ service, replicas }, ctx) {
      if (asks) await ctx.confirm("sure", { message: "Sure?" });
      return `${service} ${replicas}`;
    },
  });
  const tool = gatedTool(plain, { rules: () => now.rules, stopped: () => undefined, record });
  let tasks = 0;
  /** `recorded`: what another worker has recorded of the decision after the yes. */
  async function call(args: JsonObject, { recorded, ...options }: TestOptions & { recorded?: string } = {}) {
    const id = `0-task-${(tasks += 1)}`;
    const renamed: Tool = {
      ...tool,
      async run(given, effects) {
        const step: Effects["step"] = async (name, work, how) => {
          const own = await effects.step(name, work, how);
          return recorded !== undefined && name === "parley.still-approved" ? recorded : own;
        };
        return await tool.run(given, { ...effects, step, taskId: id });
      },
    };
    return await startTool(renamed, args, { principal: "ann", ...options });
  }
  type Started = Awaited<ReturnType<typeof call>>;
  const comparison = ({ asks: [ask] }: Started) =>
    contextText((ask && aboutOf(ask.request)?.context?.slice(-1)) ?? [])
      .split("\n")
      .slice(1);
  const approve = async (started: Started, content: JsonObject = {}) => {
    now.ms += 1_000;
    await started.answer({ [APPROVAL]: content }, BOB);
    return started;
  };
  return { now, counts, warned, tool, call, approve, comparison };
}

describe("an approval", () => {
  test("is compared with the last call that was approved, whatever was refused in between", async () => {
    const { call, approve, comparison, counts } = subject();
    const first = await call({ service: "web" });
    expect(comparison(first)).toEqual(["No earlier approved call is known."]);
    expect((await approve(first)).text).toBe("web 3");
    const refused = await call({ service: "web", replicas: 300 });
    expect(comparison(refused)).toEqual(["  service: web", "- replicas: 3", "+ replicas: 300"]);
    await refused.answer({ [APPROVAL]: decline }, BOB);
    const third = await call({ service: "web", replicas: 4 });
    expect(comparison(third)).toEqual(["  service: web", "- replicas: 3", "+ replicas: 4"]);
    expect(counts).toEqual({ reads: 3, notes: 1 });
  });

  test("is compared with what ran, if the approver changed it, and keeps no secret that the rule does not show", async () => {
    const { call, approve, comparison } = subject(rulesOf({ edit: ["replicas"], redact: ["/token"] }));
    const first = await approve(await call({ service: "web", token: "one" }), { replicas: 5 });
    expect(first.text).toContain("web 5");
    expect(comparison(await call({ service: "web", replicas: 6, token: "two" })).slice(1)).toEqual([
      "- replicas: 5",
      "+ replicas: 6",
      '  token: "(not shown)"',
    ]);
  });

  test("of another caller, rule, audience or tool is compared with none of these, unless the rule says anyone", async () => {
    const { now, call, approve, comparison } = subject();
    await approve(await call({ service: "web" }));
    expect(comparison(await call({ service: "x" }, { principal: "eve" }))).toEqual(["No earlier approved call is known."]);
    now.rules = rulesOf({ by: { groups: ["ops", "all"] } });
    expect(comparison(await call({ service: "x" }))).toEqual(["No earlier approved call is known."]);
    now.rules = rulesOf({ name: "another" });
    expect(comparison(await call({ service: "x" }))).toEqual(["No earlier approved call is known."]);
    now.rules = rulesOf({ diff: "anyone" });
    await approve(await call({ service: "web" }));
    expect(comparison(await call({ service: "x" }, { principal: "eve" }))[0]).toBe("- service: web");
  });

  test("shows another caller's call to those who are asked, and not to whoever made this one", async () => {
    const { call, approve } = subject(rulesOf({ diff: "anyone" }));
    const hidden = ({ asks: [ask] }: Awaited<ReturnType<typeof call>>) => {
      const { context = [], notForOwner } = (ask && aboutOf(ask.request)) ?? {};
      return notForOwner === undefined ? undefined : contextText([context[notForOwner]!]);
    };
    const first = await call({ service: "web" });
    expect(hidden(first)).toBeUndefined();
    await approve(first);
    expect(hidden(await call({ service: "x" }))).toBeUndefined();
    expect(hidden(await call({ service: "x" }, { principal: "eve" }))).toContain("- service: web");
    // That nothing differs says what it was, too.
    expect(hidden(await call({ service: "web" }, { principal: "eve" }))).toContain("The arguments are the same");
  });

  test("that does not count is none to compare with", async () => {
    const { now, call, approve, comparison, counts } = subject();
    const first = await call({ service: "web" });
    now.rules = rulesOf({ title: "Other" });
    expect((await approve(first)).text).toContain("changed since");
    expect(counts.notes).toBe(0);
    expect(comparison(await call({ service: "web" }))).toEqual(["No earlier approved call is known."]);
  });

  test("is kept once, however often the tool is run afterwards, and not by a worker that decided otherwise than what was recorded", async () => {
    const { call, approve, counts } = subject(rulesOf(), { asks: true });
    const first = await approve(await call({ service: "web" }));
    await first.answer({ sure: true });
    expect([first.text, counts.notes]).toEqual(["web 3", 1]);
    const second = await call({ service: "web" }, { recorded: "the rule has changed since" });
    await approve(second);
    expect([second.text?.includes("changed since"), counts.notes]).toEqual([true, 1]);
  });

  test("runs without a comparison while Redis cannot be reached, and the log says so", async () => {
    const { now, call, approve, comparison, warned } = subject();
    now.broken = true;
    const first = await call({ service: "web" });
    expect(comparison(first)).toEqual(["The last approved call could not be read."]);
    expect((await approve(first)).text).toBe("web 3");
    expect(warned).toEqual(["the last approved call was not read", "the last approved call was not written"]);
  });

  test("by a rule that compares nothing reads and writes nothing", async () => {
    const { call, approve, counts } = subject(rulesOf({ diff: undefined }));
    await approve(await call({ service: "web" }));
    expect(counts).toEqual({ reads: 0, notes: 0 });
  });

  test("that is killed after every write asks once, with its comparison, and runs once", async () => {
    const { tool, call, approve } = subject();
    await approve(await call({ service: "web" }));
    const run = await runTool(tool, { service: "web", replicas: 9 }, { principal: "ann", answers: { [APPROVAL]: {} }, crashAt: "every" });
    expect(run.text).toBe("web 9");
    expect(run.asks).toHaveLength(1);
    expect(JSON.stringify(run.asks[0])).toContain("replicas: 9");
  });
});

test.each<[string, object, RegExp]>([
  ["another word", { diff: "everyone" }, /diff/],
  [
    "a rule that does not ask",
    { action: "deny", by: undefined, diff: "caller" },
    /^rules\[0\]\.diff \(ops\): belongs to `action: "approve"`/,
  ],
])("a rule cannot compare with %s", (_, more, problem) => {
  const read = readRules({ default: "allow", rules: [{ ...OPS, ...more }] } as RulesConfig);
  expect("problems" in read ? read.problems[0] : "").toMatch(problem);
});
