import type { AuditFact, JsonObject } from "@parley/core";
import { createMemoryApprovalRecord } from "@parley/core/memory";
import { defineTool } from "@parley/sdk";
import { decline, type Reply, runTool, startTool, timeout } from "@parley/sdk/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { gatedTool } from "./gate.ts";
import { createGateRecord } from "./record.ts";
import { readRules, type Rules, type RulesConfig } from "./rules.ts";

const START_MS = Date.UTC(2026, 0, 1);
const APPROVAL = "parley.approval";
const approve: JsonObject = {};
const BY_OPS = { name: "ops", action: "approve", by: { groups: ["ops"] } } satisfies RulesConfig["rules"][number];

function rulesOf(config: RulesConfig): Rules {
  const read = readRules(config);
  if ("problems" in read) throw new Error(read.problems.join("\n"));
  return read;
}

/** A tool behind rules, and everything that is recorded of its calls. */
function recorded(first: Rules, { isBroken = false } = {}) {
  const facts: AuditFact[] = [];
  const counted: string[] = [];
  const warned: string[] = [];
  const memory = createMemoryApprovalRecord();
  const fail = async () => await Promise.reject(new Error("Redis is away"));
  const approvals = isBroken ? { ...memory, asked: fail, settled: fail } : memory;
  const now = { rules: first };
  const record = createGateRecord({
    approvals,
    audit: { note: async (fact) => void facts.push(fact) },
    now: () => START_MS,
    log: { debug() {}, info() {}, error() {}, warn: (_: object, text: string) => void warned.push(text) },
    count: ({ rule, did, waitedMs }) => counted.push(`${rule} ${did}${waitedMs === undefined ? "" : ` ${waitedMs}`}`),
  });
  const tool = gatedTool(defineTool({ name: "wire", input: z.object({ iban: z.string() }), run: () => "done" }), {
    rules: () => now.rules,
    stopped: () => undefined,
    record,
  });
  const did = () => facts.map((fact) => `${fact.did} ${fact.principal ?? "-"}`);
  const figures = async () => (await memory.read({ tenant: "default", days: 2, nowMs: START_MS + 86_400_000 })).rules[0];
  return { tool, now, facts, did, counted, warned, figures };
}

const ARGS = { iban: "DE99" };
const ask = rulesOf({ default: "allow", rules: [BY_OPS] });

test("the audit has the digest of the reason that came with a call, and no words of it", async () => {
  const facts: AuditFact[] = [];
  const silent = () => undefined;
  const record = createGateRecord({
    audit: { note: async (fact) => void facts.push(fact) },
    digest: (text, taskId) => `<${taskId}: ${text.length}>`,
    now: () => START_MS,
    log: { debug: silent, info: silent, error: silent, warn: silent },
  });
  const decided = { type: "deny", rule: "no", title: "No", reason: "Closed." } as const;
  const call = { kind: "tool", name: "wire", principal: "ada", capabilities: {}, createdAtMs: 0, retentionMs: 0, hidden: false } as const;
  await record.denied({ taskId: "0-1", call: { ...call, reason: "secret" }, decided });
  await record.denied({ taskId: "0-2", call, decided });
  expect(facts.map(({ reason }) => reason)).toEqual(["<0-1: 6>", undefined]);
});

test("an approval is recorded from its question to its use: by which rule, for which call, by whom, and how long it took", async () => {
  const { tool, facts, did, counted, figures } = recorded(ask);
  const waiting = await startTool(tool, ARGS, { principal: "ada" });
  expect(did()).toEqual(["asked ada"]);
  await waiting.advance("3 minutes");
  await waiting.answer({ [APPROVAL]: approve }, { principal: "bob", groups: ["ops"] });
  expect(waiting.text).toBe("done");
  expect(did()).toEqual(["asked ada", "approved bob", "spent ada"]);
  const { version } = ask.decide(tool, ARGS, { principal: "ada" }) as { version: string };
  for (const fact of facts)
    expect(fact).toMatchObject({ action: "approval", tool: "tool wire", rule: "ops", ruleVersion: version, taskId: expect.any(String) });
  expect(JSON.stringify(facts)).not.toContain("DE99");
  expect(counted).toEqual(["ops asked", "ops approved 180000", "ops spent"]);
  expect(await figures()).toMatchObject({ asked: 1, approved: 1, void: 0, people: [{ principal: "bob", approved: 1, refused: 0 }] });
});

test("each of several people who agree is recorded", async () => {
  const { tool, did, figures } = recorded(rulesOf({ default: "allow", rules: [{ ...BY_OPS, quorum: 2 }] }));
  const waiting = await startTool(tool, ARGS, { principal: "ada" });
  for (const principal of ["bob", "cem"]) await waiting.answer({ [APPROVAL]: approve }, { principal, groups: ["ops"] });
  expect(did()).toEqual(["asked ada", "approved bob", "approved cem", "spent ada"]);
  expect(await figures()).toMatchObject({ approved: 1, people: [{ principal: "bob" }, { principal: "cem" }] });
});

test("of several people who are asked, the one who refuses is recorded, and not those who had agreed before", async () => {
  const { tool, did, figures } = recorded(rulesOf({ default: "allow", rules: [{ ...BY_OPS, quorum: 2 }] }));
  const waiting = await startTool(tool, ARGS, { principal: "ada" });
  await waiting.answer({ [APPROVAL]: approve }, { principal: "bob", groups: ["ops"] });
  await waiting.answer({ [APPROVAL]: decline }, { principal: "cem", groups: ["ops"] });
  expect(did()).toEqual(["asked ada", "refused cem"]);
  expect(await figures()).toMatchObject({ approved: 0, refused: 1, people: [{ principal: "cem", approved: 0, refused: 1 }] });
});

test.each<[string, Reply, string[], object]>([
  ["a refusal", decline, ["asked tester", "refused somebody else"], { refused: 1, people: [{ approved: 0, refused: 1 }] }],
  ["a deadline", timeout, ["asked tester", "expired -"], { expired: 1, people: [] }],
])("%s is recorded, once in the figures however often workers die", async (_, reply, facts, counts) => {
  const { tool, did, figures } = recorded(ask);
  await runTool(tool, ARGS, { answers: { [APPROVAL]: reply }, crashAt: "every" });
  expect([...new Set(did())]).toEqual(facts);
  expect(await figures()).toMatchObject({ asked: 1, approved: 0, ...counts });
});

test("an approved call is counted once, however often workers die", async () => {
  const { tool, figures } = recorded(ask);
  await runTool(tool, ARGS, { answers: { [APPROVAL]: approve }, crashAt: "every" });
  expect(await figures()).toMatchObject({ asked: 1, approved: 1, people: [{ approved: 1 }] });
});

test("an approval that comes after the rules have changed is void", async () => {
  const { tool, now, did, figures } = recorded(ask);
  const waiting = await startTool(tool, ARGS);
  now.rules = rulesOf({ default: "deny", rules: [] });
  await waiting.answer({ [APPROVAL]: approve });
  expect(did().slice(1)).toEqual(["approved somebody else", "void tester"]);
  expect(await figures()).toMatchObject({ approved: 1, void: 1 });
});

test("a call that a rule refuses is in the audit, and one that it allows leaves nothing", async () => {
  const denied = recorded(rulesOf({ default: "allow", rules: [{ name: "no", action: "deny" }] }));
  await runTool(denied.tool, ARGS);
  expect([denied.did(), denied.counted]).toEqual([["denied tester"], ["no denied"]]);
  const allowed = recorded(rulesOf({ default: "allow", rules: [{ ...BY_OPS, when: "args.iban == ''" }] }));
  await runTool(allowed.tool, ARGS);
  expect([allowed.facts, allowed.counted, await allowed.figures()]).toEqual([[], [], undefined]);
});

test("figures that cannot be written stop nothing, and are in the log", async () => {
  const { tool, did, warned } = recorded(ask, { isBroken: true });
  const run = await runTool(tool, ARGS, { answers: { [APPROVAL]: approve } });
  expect(run.text).toBe("done");
  expect(did()).toEqual(["asked tester", "approved somebody else", "spent tester"]);
  expect(warned).toEqual(["figures of an approval were not written", "figures of an approval were not written"]);
});
