import type { JsonObject, Tool } from "@parley/core";
import { defineTool } from "@parley/sdk";
import { cancel, decline, type Reply, runTool, startTool, timeout } from "@parley/sdk/testing";
import { describe, expect, test } from "vitest";
import { replayRecorded } from "@parley/sdk/replay";
import { z } from "zod";
import { DENIAL } from "./denial.ts";
import { gatedTool, NO_RULES, replayedBehindGate } from "./gate.ts";
import { readRules, type Rules, type RulesConfig } from "./rules.ts";

function rulesOf(config: RulesConfig): Rules {
  const read = readRules(config);
  if ("problems" in read) throw new Error(read.problems.join("\n"));
  return read;
}

const APPROVAL = "parley.approval";
const approve: JsonObject = {};
const BY_OPS = {
  name: "ops",
  title: "Wiring money",
  action: "approve",
  by: { groups: ["ops"] },
  not: "caller",
} satisfies RulesConfig["rules"][number];
const ask = rulesOf({ default: "allow", rules: [{ ...BY_OPS, when: "args.amount > 10" }] });
const refuse = rulesOf({ default: "allow", rules: [{ name: "no", title: "Wiring money", action: "deny", reason: "Closed." }] });

/** A tool that asks and acts itself. Counts what reaches the world. */
function wiring() {
  const done: string[] = [];
  const undone: string[] = [];
  const tool = defineTool({
    name: "wire",
    description: "Sends money.",
    input: z.object({ amount: z.number(), iban: z.string().default("DE1") }),
    async compensate(_, ctx) {
      await ctx.step("undo", () => undone.push("undo"));
    },
    async run({ amount, iban }, ctx) {
      await ctx.step("first", ({ idempotencyKey }) => done.push(idempotencyKey));
      const sure = await ctx.confirm("sure", { message: "Really?" });
      if (!sure) throw new Error("not sure");
      await ctx.step("wire", ({ idempotencyKey }) => done.push(idempotencyKey));
      return `${amount} to ${iban}`;
    },
  });
  return { tool, done, undone };
}

/** The tool behind rules that a test may change. */
function behind(tool: Tool, first: Rules) {
  const now = { rules: first };
  const stopped: string[] = [];
  const gated = gatedTool(tool, {
    rules: () => now.rules,
    stopped: ({ type, rule }, { tool: name, isDryRun }) => stopped.push(`${type} ${rule} ${name}${isDryRun ? " dry" : ""}`),
  });
  return { gated, now, stopped };
}

describe("what a result says of approvals is said by this deployment", () => {
  const lie = { by: "boss", arguments: { amount: 1 } };
  test.each<[string, JsonObject, JsonObject | undefined]>([
    ["nothing", {}, undefined],
    ["something else", { "other/key": 1 }, { "other/key": 1 }],
    ["that an approver changed arguments", { "parley/edited": lie, a: 1 }, { a: 1, "parley/behind": { "parley/edited": lie } }],
    ["that it was refused", { "parley/denial": { rule: "x" } }, { "parley/behind": { "parley/denial": { rule: "x" } } }],
    [
      "what was said behind it in turn",
      { "parley/behind": { "parley/edited": lie }, "parley/denial": {} },
      { "parley/behind": { "parley/behind": { "parley/edited": lie }, "parley/denial": {} } },
    ],
  ])("where a server behind it says %s", async (_, meta, said) => {
    const upstream: Tool = {
      ...defineTool({ name: "wire", run: () => "" }),
      run: async () => ({ content: [], ...(Object.keys(meta).length > 0 && { _meta: meta }) }),
      callTaskless: async () => ({ result: { content: [], _meta: meta }, reports: [] }),
    };
    const gated = gatedTool(upstream, { rules: () => NO_RULES, stopped: () => undefined });
    expect((await runTool(gated, {})).result?.["_meta"]).toEqual(said);
    const taskless = await gated.callTaskless?.({} as never);
    expect(taskless?.result["_meta"]).toEqual(said ?? {});
  });
});

describe("a call that a rule stops", () => {
  test.each<[string, "every" | undefined]>([
    ["at once", undefined],
    ["killed after every write", "every"],
  ])("runs once after a yes, and asks its own questions then, %s", async (_, crashAt) => {
    const { tool, done } = wiring();
    const { gated } = behind(tool, ask);
    const run = await runTool(gated, { amount: 40 }, { answers: { [APPROVAL]: approve, sure: true }, crashAt });
    expect(run.text).toBe("40 to DE1");
    // A worker that dies with its step repeats it under one key.
    expect(new Set(done).size).toBe(2);
    expect(run.asks.map(({ key }) => key)).toEqual([APPROVAL, "sure"]);
    expect(run.asks[0]).toMatchObject({ audience: { to: { groups: ["ops"] }, not: "caller" } });
    expect(run.asks[0]?.request).toMatchObject({ message: 'Wiring money: approve this call of "wire"?' });
  });

  test.each<[string, Reply, RegExp, string]>([
    ["no", decline, /refused \(Wiring money\)\. The person who was asked refused it\. Do not call it again unchanged\./, "changed"],
    ["nothing in time", timeout, /Nobody approved it in time\. You may call it again/, "later"],
    ["a closed question", cancel, /It was not approved/, "later"],
  ])("does nothing after %s", async (_, reply, text, again) => {
    const { tool, done, undone } = wiring();
    const { gated } = behind(tool, ask);
    const run = await runTool(gated, { amount: 40 }, { answers: { [APPROVAL]: reply }, crashAt: "every" });
    expect(run.task.status).toBe("completed");
    expect(run.result).toMatchObject({ isError: true, _meta: { [DENIAL]: { tool: "wire", rule: "ops", again } } });
    expect(run.text).toMatch(text);
    expect([done, undone]).toEqual([[], []]);
  });

  test("is refused by a rule, with its reason", async () => {
    const { tool, done } = wiring();
    const { gated, stopped } = behind(tool, refuse);
    const run = await runTool(gated, { amount: 40 }, { crashAt: "every" });
    expect(run.text).toBe(
      "The call of wire was refused (Wiring money). Closed. Calling it again with these arguments will be refused again.",
    );
    expect(run.result?.["structuredContent"]).toEqual({ denied: { tool: "wire", rule: "no", reason: "Closed.", again: "never" } });
    expect(done).toEqual([]);
    expect(new Set(stopped)).toEqual(new Set(["deny no wire"]));
  });

  test("is refused for now if its rule asks for groups that were not noted with it, and may be made again", async () => {
    const { tool, done } = wiring();
    const { gated } = behind(tool, rulesOf({ default: "allow", rules: [{ name: "staff", when: "'x' in caller.groups", action: "deny" }] }));
    // As by a front end that had not read that rule yet.
    const run = await runTool({ ...gated, keepsMembership: () => false }, { amount: 40 });
    expect(run.result).toMatchObject({ isError: true, _meta: { [DENIAL]: { rule: "staff", again: "later" } } });
    expect(done).toEqual([]);
  });

  test("that is cancelled while it waits has nothing to compensate", async () => {
    const { tool, done, undone } = wiring();
    const waiting = await startTool(behind(tool, ask).gated, { amount: 40 });
    expect(waiting.task.message).toBe("Waits for approval: Wiring money. Asked: group ops.");
    await waiting.cancel();
    expect([waiting.task.status, done, undone]).toEqual(["cancelled", [], []]);
  });

  test("that is cancelled after its approval is compensated, and the compensation sees the tool's own steps only", async () => {
    const seen: string[] = [];
    const { tool, undone } = wiring();
    const waiting = await startTool(
      behind(
        {
          ...tool,
          compensate: async (args, effects, ended) => {
            seen.push(...ended.done.map(({ key }) => key));
            await tool.compensate?.(args, effects, ended);
          },
        },
        ask,
      ).gated,
      { amount: 40 },
    );
    await waiting.answer({ [APPROVAL]: approve });
    await waiting.cancel();
    expect([seen, undone]).toEqual([["first"], ["undo"]]);
  });
});

test("a call that no rule stops records nothing more than without rules", async () => {
  const answers = { sure: true };
  const plain = await runTool(wiring().tool, { amount: 4 }, { answers });
  const { gated, stopped } = behind(wiring().tool, ask);
  const passed = await runTool(gated, { amount: 4 }, { answers });
  expect(passed.journal).toEqual(plain.journal);
  expect(passed.text).toBe("4 to DE1");
  expect(stopped).toEqual([]);
});

test("a dry run stops nothing, and says what it would have done", async () => {
  const { tool } = wiring();
  const { gated, stopped } = behind(tool, rulesOf({ dryRun: true, default: "allow", rules: [BY_OPS] }));
  const run = await runTool(gated, { amount: 40 }, { answers: { sure: true } });
  expect(run.text).toBe("40 to DE1");
  expect(new Set(stopped)).toEqual(new Set(["approve ops wire dry"]));
});

describe("rules that change while a call", () => {
  test.each<[string, Rules, RegExp]>([
    ["is refused now", refuse, /It was approved, but a rule refuses it now: Closed\./],
    [
      "needs another's approval now",
      rulesOf({ default: "allow", rules: [{ ...BY_OPS, by: { groups: ["board"] } }] }),
      /the rule or the tool has changed since/,
    ],
  ])("waits: a call that %s does not run on the approval", async (_, then, text) => {
    const { tool, done } = wiring();
    const { gated, now } = behind(tool, ask);
    const waiting = await startTool(gated, { amount: 40 });
    now.rules = then;
    await waiting.answer({ [APPROVAL]: approve });
    expect(waiting.text).toMatch(text);
    expect(done).toEqual([]);
  });

  test.each<[string, Rules]>([
    ["allow it now", NO_RULES],
    ["are only tried out", rulesOf({ dryRun: true, default: "allow", rules: [{ ...BY_OPS, when: "args.amount > 10" }] })],
    [
      "demand the same",
      rulesOf({
        default: "deny",
        rules: [
          { ...BY_OPS, when: "args.amount > 10" },
          { name: "new", tools: ["x"], action: "allow" },
        ],
      }),
    ],
  ])("waits: rules that %s still need its approval, and it counts", async (_, then) => {
    const { tool, done } = wiring();
    const { gated, now } = behind(tool, ask);
    const waiting = await startTool(gated, { amount: 40 });
    now.rules = then;
    await waiting.advance("1 minute");
    expect(done).toEqual([]);
    await waiting.answer({ [APPROVAL]: approve });
    await waiting.answer({ sure: true });
    expect(waiting.text).toBe("40 to DE1");
  });

  test("waits for its own question: it was at work before the rule, and goes on", async () => {
    const { tool } = wiring();
    const { gated, now } = behind(tool, NO_RULES);
    const waiting = await startTool(gated, { amount: 40 });
    now.rules = refuse;
    await waiting.advance("1 minute");
    await waiting.answer({ sure: true });
    expect(waiting.text).toBe("40 to DE1");
  });

  test("has been approved and works: it goes on, whatever the rules say then", async () => {
    const { tool } = wiring();
    const { gated, now } = behind(tool, ask);
    const waiting = await startTool(gated, { amount: 40 });
    await waiting.answer({ [APPROVAL]: approve });
    now.rules = refuse;
    await waiting.answer({ sure: true });
    expect(waiting.text).toBe("40 to DE1");
  });

  const admins = { name: "admins", when: "has(tool.meta.tags) && 'admin' in tool.meta.tags", action: "deny", reason: "Closed." } as const;
  const unlessAdmin = rulesOf({ default: "allow", rules: [admins, BY_OPS] });
  const changed = /^(?:.*)the rule or the tool has changed since/;
  test.each<[string, Partial<Tool>, RegExp]>([
    ["says something else of itself", { description: "Sends money twice." }, changed],
    ["is called something else", { title: "Send a card" }, changed],
    ["says that it destroys something", { annotations: { destructiveHint: true } }, changed],
    ["has what a rule refuses in its metadata", { meta: { tags: ["admin"] } }, /a rule refuses it now: Closed\./],
  ])("waits, and the tool %s by then: it does not run", async (_, change, told) => {
    const { tool, done } = wiring();
    const { gated, now } = behind(tool, unlessAdmin);
    const waiting = await startTool(gated, { amount: 40 });
    waiting.redeploy(behind({ ...tool, ...change }, now.rules).gated);
    await waiting.answer({ [APPROVAL]: approve });
    expect(waiting.text).toMatch(told);
    expect(done).toEqual([]);
  });

  test.each<[string, Partial<Tool>, Rules]>([
    ["its metadata says what no rule minds", { meta: { listedAtMs: 2 } }, unlessAdmin],
    ["an earlier version had asked, which did not note what the tool is called", { title: "Send a card" }, withoutListed(unlessAdmin)],
  ])("waits, and %s: it runs", async (_, change, asking) => {
    const { tool } = wiring();
    const { gated } = behind(tool, asking);
    const waiting = await startTool(gated, { amount: 40 });
    waiting.redeploy(behind({ ...tool, ...change }, unlessAdmin).gated);
    await waiting.answer({ [APPROVAL]: approve });
    await waiting.answer({ sure: true });
    expect(waiting.text).toBe("40 to DE1");
  });
});

/** As an earlier version decided. */
function withoutListed(rules: Rules): Rules {
  return {
    ...rules,
    decide(...call) {
      const decision = rules.decide(...call);
      if (decision.type !== "approve") return decision;
      const { listed: _, ...earlier } = decision;
      return earlier;
    },
  };
}

describe("ways round the gate", () => {
  test("an answer that comes with the call", async () => {
    const tool = defineTool({ name: "early", earlyReplies: true, run: () => "done" });
    const { gated } = behind(tool, rulesOf({ default: "allow", rules: [BY_OPS] }));
    const waiting = await startTool(gated, {}, { early: { [APPROVAL]: {} } });
    expect(waiting.asks.map(({ key }) => key)).toEqual([APPROVAL]);
    expect(waiting.task.status).not.toBe("completed");
  });

  test("the caller's own answer, and that of somebody who is not asked", async () => {
    const { gated } = behind(wiring().tool, ask);
    const waiting = await startTool(gated, { amount: 40 }, { principal: "eve" });
    await expect(waiting.answer({ [APPROVAL]: approve }, { principal: "eve", groups: ["ops"] })).rejects.toThrow();
    await expect(waiting.answer({ [APPROVAL]: approve }, { principal: "mallory", groups: ["sales"] })).rejects.toThrow();
    expect(waiting.asks).toHaveLength(1);
    expect(waiting.task.status).not.toBe("completed");
  });

  test("a tool that calls the tool", async () => {
    const { tool, done } = wiring();
    const { gated } = behind(tool, refuse);
    const outer = defineTool({
      name: "outer",
      run: async (_, ctx) => JSON.stringify(await ctx.call(gated, { amount: 40 })),
    });
    const run = await runTool(outer, {}, { tools: [gated] });
    expect(run.text).toMatch(/refused/);
    expect(done).toEqual([]);
  });

  test("a call without a task, and an effect that is recorded before the run", () => {
    const made: string[] = [];
    const tool: Tool = {
      ...wiring().tool,
      callTaskless: async () => void made.push("call") as undefined,
      open: () => void made.push("open") as undefined,
    };
    const { gated, now } = behind(tool, ask);
    void gated.callTaskless?.({} as never);
    gated.open?.();
    expect(made).toEqual([]);
    now.rules = NO_RULES;
    void gated.callTaskless?.({} as never);
    gated.open?.();
    expect(made).toEqual(["call", "open"]);
  });

  test("an older version of the tool", () => {
    const { tool } = wiring();
    const { gated } = behind({ ...tool, older: [{ ...tool, version: "1" }] }, ask);
    expect(gated.older?.[0]?.run).not.toBe(tool.run);
  });

  test("a tool that starts over: each round is decided as a call of its own, by its own arguments", async () => {
    const done: number[] = [];
    const loop = defineTool({
      name: "loop",
      input: z.object({ amount: z.number() }),
      async run({ amount }, ctx) {
        await ctx.step("act", () => done.push(amount));
        return amount > 12 ? "over" : await ctx.restart({ amount: amount + 1 });
      },
    });
    const { gated, now } = behind(loop, ask);
    const waiting = await startTool(gated, { amount: 10 });
    expect([done, waiting.asks.map(({ key }) => key)]).toEqual([[10], [`${APPROVAL}@1`]]);
    await waiting.answer({ [`${APPROVAL}@1`]: approve });
    expect([done, waiting.asks.at(-1)?.key]).toEqual([[10, 11], `${APPROVAL}@2`]);
    now.rules = refuse;
    await waiting.answer({ [`${APPROVAL}@2`]: approve });
    expect(waiting.text).toMatch(/a rule refuses it now/);
    expect(done).toEqual([10, 11]);
  });

  test("a name that the tool uses as well", async () => {
    const tool = defineTool({
      name: "same",
      async run(_, ctx) {
        await ctx.step("parley.rule", () => ({ type: "allow" }));
        return (await ctx.confirm("parley.approval", { message: "Mine?" })) ? "yes" : "no";
      },
    });
    const { gated } = behind(tool, rulesOf({ default: "allow", rules: [BY_OPS] }));
    const run = await runTool(gated, {}, { answers: { [APPROVAL]: approve, [`${APPROVAL}#2`]: false }, crashAt: "every" });
    expect(run.text).toBe("no");
  });
});

test("the question is one sentence, and what is to be judged is its context: the arguments as the tool gets them, without what the rule keeps back", async () => {
  const rules = rulesOf({ default: "allow", rules: [{ ...BY_OPS, redact: ["/iban", "/missing/x"] }] });
  const { asks } = await startTool(behind(wiring().tool, rules).gated, { amount: 40, iban: "DE99" });
  expect(asks[0]?.request).toMatchObject({
    message: 'Wiring money: approve this call of "wire"?',
    about: {
      context: [
        { type: "text", title: "Tool", text: "wire. It says of itself: Sends money." },
        {
          type: "table",
          title: "Arguments",
          rows: [
            ["amount", "40"],
            ["iban", "(not shown)"],
          ],
        },
      ],
    },
  });
});

test.each([
  ["low", "low", undefined],
  [undefined, undefined, undefined],
  ["high", "high", true],
] as const)(
  "a rule of risk %s asks with priority %s, and its question is one that cannot be undone: %s",
  async (risk, priority, destructive) => {
    const rules = rulesOf({ default: "allow", rules: [{ ...BY_OPS, ...(risk && { risk }) }] });
    const { asks } = await startTool(behind(wiring().tool, rules).gated, { amount: 40 });
    const request = asks[0]?.request;
    if (request?.type !== "form") throw new Error("no form");
    expect([request.about?.priority, request.hints?.["destructive"]]).toEqual([priority, destructive]);
  },
);

test("what may be changed is filled in, also where it cannot be undone", async () => {
  const rules = rulesOf({ default: "allow", rules: [{ ...BY_OPS, risk: "high" as const, edit: true }] });
  const { asks } = await startTool(behind(wiring().tool, rules).gated, { amount: 40 });
  expect(asks[0]?.request).toMatchObject({
    hints: { destructive: true, filledIn: true },
    schema: { properties: { amount: { default: 40 } } },
  });
});

test("a rule says when people are reminded, who is asked as well, and whether they may hand it on", async () => {
  const more = { remind: ["4h", "8h"], escalate: { after: "10h", to: { roles: ["lead"] } }, allow: ["delegate" as const] };
  const { asks } = await startTool(behind(wiring().tool, rulesOf({ default: "allow", rules: [{ ...BY_OPS, ...more }] })).gated, {
    amount: 40,
  });
  expect(asks[0]?.request).toMatchObject({
    about: {
      remindMs: [4 * 3_600_000, 8 * 3_600_000],
      escalate: [{ afterMs: 10 * 3_600_000, to: { roles: ["lead"] } }],
      allow: ["delegate"],
      context: [{ title: "Tool" }, { title: "Arguments" }],
    },
  });
});

test("a rule says how whoever approves must be identified, and no other approval counts", async () => {
  const recent = { assurance: { within: "15 minutes", amr: ["mfa"] } };
  const { gated } = behind(wiring().tool, rulesOf({ default: "allow", rules: [{ ...BY_OPS, ...recent }] }));
  const waiting = await startTool(gated, { amount: 40 });
  expect(waiting.asks[0]?.request).toMatchObject({ about: { assurance: { by: "login", withinMs: 900_000, amr: ["mfa"] } } });
  const ops = { principal: "op", groups: ["ops"] };
  for (const who of [ops, { ...ops, assurance: "login", login: { at: new Date(0), amr: ["mfa"] } }] as const)
    for (const reply of [approve, decline] as readonly Reply[])
      await expect(waiting.answer({ [APPROVAL]: reply }, who)).rejects.toThrow("at most 15 minutes ago, by mfa");
  await waiting.answer({ [APPROVAL]: approve }, { ...ops, assurance: "login", login: { at: waiting.now, amr: ["mfa"] } });
  expect(waiting.asks.map(({ key }) => key)).toEqual([APPROVAL, "sure"]);
});

test("an approval that was given before its rule asked for more does not count", async () => {
  const config = (more: object) => rulesOf({ default: "allow", rules: [{ ...BY_OPS, ...more }] });
  const { gated, now } = behind(wiring().tool, config({}));
  const waiting = await startTool(gated, { amount: 40 });
  now.rules = config({ assurance: "login" });
  await waiting.answer({ [APPROVAL]: approve });
  expect(waiting.text).toContain("the rule or the tool has changed since");
});

test("calls that differ only in what is not shown are different questions", async () => {
  const rules = rulesOf({ default: "allow", rules: [{ ...BY_OPS, redact: ["/iban"] }] });
  const asked = async (iban: string) => (await startTool(behind(wiring().tool, rules).gated, { amount: 40, iban })).asks[0]?.digest;
  expect(await asked("DE1")).toBe(await asked("DE1"));
  expect(await asked("DE1")).not.toBe(await asked("DE2"));
});

test("a question that was asked in other words still counts: an upgrade does not end calls that wait", async () => {
  const { tool } = wiring();
  const waiting = await startTool(behind(tool, ask).gated, { amount: 40 });
  // As the version computed it that had everything in the message.
  expect(waiting.asks[0]?.digest).toBe("OhqUBNC0Rej7u6Bhx9U2sw");
});

test("a task that a rule has stopped is replayed behind the gate, and one that none has is replayed as it is", async () => {
  const { tool } = wiring();
  const stopped = await startTool(behind(tool, ask).gated, { amount: 40 });
  await stopped.answer({ [APPROVAL]: approve });
  const task = await stopped.exported();
  expect(await replayRecorded(replayedBehindGate(tool, task.journal), task)).toMatchObject({ verdict: "continues" });
  expect(await replayRecorded(tool, task)).toMatchObject({ verdict: "diverges" });
  const passed = await (await startTool(behind(tool, ask).gated, { amount: 4 })).exported();
  expect(replayedBehindGate(tool, passed.journal)).toBe(tool);
});
