import type { JsonObject, Tool } from "@parley/core";
import { defineTool } from "@parley/sdk";
import { runTool, startTool } from "@parley/sdk/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { changedBy, EDITED, editForm } from "./edit.ts";
import { gatedTool } from "./gate.ts";
import { readRules, type Rules, type RulesConfig } from "./rules.ts";

const APPROVAL = "parley.approval";
const by = { principal: "bob", groups: ["ops"] };

function rulesOf(...rules: RulesConfig["rules"]): Rules {
  const read = readRules({ default: "allow", rules });
  if ("problems" in read) throw new Error(read.problems.join("\n"));
  return read;
}
const EDITABLE = {
  name: "ops",
  title: "Writing",
  action: "approve",
  by: { groups: ["ops"] },
  edit: true,
} satisfies RulesConfig["rules"][number];

describe("the form has a field", () => {
  const properties: JsonObject = {
    path: { type: "string", minLength: 1, pattern: "^/" },
    mode: { type: "integer", minimum: 0, maximum: 511 },
    ratio: { type: "number" },
    force: { type: "boolean", default: true },
    level: { type: "string", enum: ["low", "high"] },
    owner: { anyOf: [{ type: "string" }, { type: "null" }] },
    tags: { type: "array", items: { type: "string" } },
    more: { type: "object" },
    password: { type: "string" },
    absent: { type: "string" },
    ["__proto__"]: { type: "string" },
    "a b": { type: "string" },
  };
  const tool = { kind: "tool", name: "t", inputSchema: { type: "object", properties } } as unknown as Tool;
  const args = JSON.parse(
    '{"path":"/a","mode":420,"ratio":0.5,"level":"low","owner":"ada","tags":["a"],"more":{},"password":"x","__proto__":"p","a b":"x"}',
  ) as JsonObject;
  const fieldsIn = (given: JsonObject, { edit = true as true | string[], redact = [] as string[], secretNames = [] as string[] } = {}) =>
    editForm(tool, given, { edit, redact, secretNames, message: "Writing: approve this call of t?" });

  test("for each argument that is seen whole, filled in with what the tool gets, and an answer gives all of them", () => {
    expect(fieldsIn(args)).toEqual({
      type: "object",
      properties: {
        path: { type: "string", title: "path", default: "/a", minLength: 1, maxLength: 150 },
        mode: { type: "integer", title: "mode", default: 420, minimum: 0, maximum: 511 },
        ratio: { type: "number", title: "ratio", default: 0.5 },
        force: { type: "boolean", title: "force", default: true },
        level: { type: "string", title: "level", default: "low", enum: ["low", "high"] },
        owner: { type: "string", title: "owner", default: "ada", maxLength: 150 },
      },
      required: ["path", "mode", "ratio", "force", "level", "owner"],
    });
  });

  test.each<[string, JsonObject, Parameters<typeof fieldsIn>[1]]>([
    ["of several lines", { path: "/a\n/b" }, {}],
    ["with a character that nobody sees", { path: "/a\u200b" }, {}],
    ["that is read from the right", { path: "/a\u202eb" }, {}],
    ["with a space at its end", { path: "/a " }, {}],
    ["longer than is shown", { path: `/${"a".repeat(1_000)}` }, {}],
    ["of another type", { path: 7 }, {}],
    ["that is no choice", { level: "middle" }, {}],
    ["that no number is", { mode: 2 ** 60 }, {}],
    ["that the rule keeps back", { path: "/a" }, { redact: ["/path"] }],
    ["that the rule keeps back in part", { path: "/a" }, { redact: ["/path/x"] }],
    ["that the rule does not name", { path: "/a" }, { edit: ["mode"] }],
    ["that the operator calls secret", { path: "/a" }, { secretNames: ["path"] }],
    ["that the caller left out and nothing fills in", {}, {}],
  ])("and none for one %s", (_, given, more) => {
    expect(fieldsIn({ force: false, ...given }, { edit: ["path", "mode", "level"], ...more })).toEqual({ type: "object", properties: {} });
  });

  test("there are at most as many fields as the bounds say, and a longer text has none", () => {
    const of = (all: JsonObject) => ({ ...tool, inputSchema: { type: "object", properties: all } }) as unknown as Tool;
    const names = Array.from({ length: 21 }, (_, at) => `a${at}`);
    const many = of(Object.fromEntries(names.map((name) => [name, { type: "string" }])));
    const more = { edit: true, redact: [], secretNames: [], message: "m" } as const;
    const count = (form: JsonObject) => Object.keys(form["properties"] as JsonObject).length;
    expect(count(editForm(many, Object.fromEntries(names.map((name) => [name, "x"])), more))).toBe(20);
    const text = (length: number) => count(editForm(of({ a: { type: "string" } }), { a: "x".repeat(length) }, more));
    expect([text(1_000), text(1_001)]).toEqual([1, 0]);
    const choices = (length: number) =>
      count(editForm(of({ a: { enum: Array.from({ length }, (_, at) => `c${at}`) } }), { a: "c0" }, more));
    expect([choices(50), choices(51)]).toEqual([1, 0]);
  });

  test("and an answer has exactly these, and changes those that differ", () => {
    const form = fieldsIn(args, { edit: ["path", "force"] });
    expect(changedBy({ path: "/a", force: true }, form)).toEqual({});
    expect(changedBy({ path: "/b", force: true }, form)).toEqual({ path: "/b" });
    expect(changedBy({ path: "/b", force: true, mode: 1 }, form)).toBeUndefined();
    expect(changedBy({ path: "/b" }, form)).toBeUndefined();
    expect(changedBy(JSON.parse('{"path":"/a","__proto__":{"force":false}}') as JsonObject, form)).toBeUndefined();
    expect(changedBy(undefined, form)).toBeUndefined();
  });
});

/** What reaches the world. */
function writing(rules: Rules, { fails = false } = {}) {
  const done: string[] = [];
  const tool = defineTool({
    name: "write",
    input: z.object({ path: z.string().startsWith("/"), mode: z.number().int().default(420), tags: z.array(z.string()).optional() }),
    async compensate({ path }, ctx) {
      await ctx.step("undo", () => done.push(`undo ${path}`));
    },
    async run({ path, mode }, ctx) {
      await ctx.step("write", () => done.push(`${path} ${mode}`));
      if (fails) await ctx.confirm("sure", { message: "Sure?" });
      return `wrote ${path}`;
    },
  });
  const now = { rules };
  return { done, now, gated: gatedTool(tool, { rules: () => now.rules, stopped: () => undefined }) };
}
const ARGS = { path: "/tmp/a", tags: ["x"] };
const same = { path: "/tmp/a", mode: 420 };

describe("a call whose approver", () => {
  test.each<[string, "every" | undefined]>([
    ["at once", undefined],
    ["killed after every write", "every"],
  ])("changes arguments runs with the changed ones, and its result says by whom: %s", async (_, crashAt) => {
    const { gated, done } = writing(rulesOf(EDITABLE));
    const run = await runTool(gated, ARGS, { answers: { [APPROVAL]: { ...same, path: "/tmp/b" } }, crashAt });
    expect(new Set(done)).toEqual(new Set(["/tmp/b 420"]));
    expect(run.text).toMatch(/^wrote \/tmp\/b\n?.*The approver changed an argument of this call: \{"path":"\/tmp\/b"\}\.$/s);
    expect(run.result?.["_meta"]).toMatchObject({ [EDITED]: { by: expect.any(String), arguments: { path: "/tmp/b" } } });
  });

  test("changes nothing runs as it was called, and its result says nothing", async () => {
    const { gated, done } = writing(rulesOf(EDITABLE));
    const run = await runTool(gated, ARGS, { answers: { [APPROVAL]: same } });
    expect([done, run.text, run.result?.["_meta"]]).toEqual([["/tmp/a 420"], "wrote /tmp/a", undefined]);
  });

  test.each<[string, JsonObject]>([
    ["a field is missing: it might have been emptied", { path: "/tmp/b" }],
    ["there is nothing in it", {}],
    ["a value has another type", { ...same, mode: "420" }],
    ["a text is too long", { ...same, path: `/${"a".repeat(1_000)}` }],
  ])("sends an answer that does not fit is told so, and the call waits: %s", async (_, content) => {
    const { gated, done } = writing(rulesOf(EDITABLE));
    const waiting = await startTool(gated, ARGS);
    await expect(waiting.answer({ [APPROVAL]: content }, by)).rejects.toThrow();
    expect([done, waiting.asks.length]).toEqual([[], 1]);
  });

  const other = { ...EDITABLE, name: "board", title: "Of the board", by: { groups: ["board"] }, when: "args.path.startsWith('/board/')" };
  test.each<[string, RulesConfig["rules"], string, RegExp]>([
    [
      "a rule refuses",
      [{ name: "etc", when: "args.path.startsWith('/etc/')", action: "deny", reason: "Not there." }, EDITABLE],
      "/etc/passwd",
      /approved with changes, and a rule refuses the changed call: Not there\./,
    ],
    ["needs another's approval", [other, EDITABLE], "/board/a", /the changed call needs another approval \(Of the board\)\./],
    [
      "no rule can judge",
      [{ name: "odd", when: "args.path == '/odd' ? args.no : false", action: "allow" }, EDITABLE],
      "/odd",
      /could not be evaluated/,
    ],
    ["the tool does not take", [EDITABLE], "tmp", /approved with changes that the tool does not take: /],
  ])("makes a call of it that %s: it does not run", async (_, rules, path, text) => {
    const { gated, done } = writing(rulesOf(...rules));
    const run = await runTool(gated, ARGS, { answers: { [APPROVAL]: { ...same, path } }, crashAt: "every" });
    expect(run.text).toMatch(text);
    expect(run.result).toMatchObject({ isError: true });
    expect(done).toEqual([]);
  });

  test("makes a call of it that runs at once by a rule: it runs", async () => {
    const { gated, done } = writing(rulesOf({ name: "tmp", when: "args.path.startsWith('/tmp/free/')", action: "allow" }, EDITABLE));
    await runTool(gated, ARGS, { answers: { [APPROVAL]: { ...same, path: "/tmp/free/a" } } });
    expect(done).toEqual(["/tmp/free/a 420"]);
  });

  test("changes it after the rule has changed: it does not run", async () => {
    const { gated, done, now } = writing(rulesOf(EDITABLE));
    const waiting = await startTool(gated, ARGS);
    now.rules = rulesOf({ ...EDITABLE, edit: ["mode"] });
    await waiting.answer({ [APPROVAL]: { ...same, path: "/tmp/b" } }, by);
    expect(waiting.text).toMatch(/the rule or the tool has changed since/);
    expect(done).toEqual([]);
  });

  test("is told by this deployment, whatever a server behind it says", async () => {
    const lie = { by: "boss", arguments: {} };
    const upstream: Tool = {
      ...defineTool({ name: "w", input: z.object({ path: z.string() }), run: () => "" }),
      run: async () => ({ content: [], _meta: { [EDITED]: lie } }),
    };
    const waiting = await startTool(gatedTool(upstream, { rules: () => rulesOf(EDITABLE), stopped: () => undefined }), { path: "/a" });
    await waiting.answer({ [APPROVAL]: { path: "/b" } }, by);
    expect(waiting.result?.["_meta"]).toEqual({ "parley/behind": { [EDITED]: lie }, [EDITED]: { by: "bob", arguments: { path: "/b" } } });
  });

  test("changes an argument that the rule does not name: it does not run", async () => {
    const { gated, done } = writing(rulesOf({ ...EDITABLE, edit: ["mode"] }));
    const waiting = await startTool(gated, ARGS);
    await waiting.answer({ [APPROVAL]: { mode: 384, path: "/etc/passwd" } }, by);
    expect(waiting.text).toMatch(/approved with arguments that cannot be changed/);
    expect(done).toEqual([]);
  });

  test("changed it and that is cancelled later undoes what ran", async () => {
    const { gated, done } = writing(rulesOf(EDITABLE), { fails: true });
    const waiting = await startTool(gated, ARGS);
    await waiting.answer({ [APPROVAL]: { ...same, path: "/tmp/b" } }, by);
    await waiting.cancel();
    expect(done).toEqual(["/tmp/b 420", "undo /tmp/b"]);
  });
});

test.each<[string, object, RegExp]>([
  ["a quorum", { quorum: 2 }, /^rules\[0\]\.edit \(ops\): cannot be combined with `quorum`/],
  ["a standing approval", { standing: { for: "1h" } }, /^rules\[0\]\.edit \(ops\): cannot be combined with `standing`/],
  ["prompts", { prompts: ["p"] }, /^rules\[0\]\.edit \(ops\): is about arguments of tools/],
])("a rule cannot let arguments be changed together with %s", (_, more, problem) => {
  const read = readRules({ default: "allow", rules: [{ ...EDITABLE, ...more }] });
  expect("problems" in read ? read.problems[0] : "").toMatch(problem);
});
