import { type JsonObject, MEMBERSHIP_CHARS_MAX, membershipOf, type Prompt, type Tool } from "@parley/core";
import { describe, expect, test } from "vitest";
import { CONDITION_CHARS_MAX } from "./condition.ts";
import { ADDED_MAX } from "./defaults.ts";
import { type Caller, readRules, RULES_MAX, type Rules, type RulesConfig } from "./rules.ts";
import { RULES_BYTES_MAX } from "./rules-file.ts";

const tool = (name: string, more: Partial<Tool> = {}) => ({ kind: "tool", name, inputSchema: { type: "object" }, ...more }) as Tool;
const ADA = { principal: "ada" };

function rules(config: RulesConfig): Rules {
  const read = readRules(config, { askTimeoutMaxMs: 7 * 86_400_000 });
  if ("problems" in read) throw new Error(read.problems.join("\n"));
  return read;
}

const COLLEAGUE: Omit<RulesConfig["rules"][number], "name"> = { action: "approve", by: { groups: ["ops"] }, not: "caller" };

describe("the first rule that fits decides", () => {
  const files = rules({
    default: "deny",
    rules: [
      { name: "etc", tools: ["files_write"], when: "args.path.startsWith('/etc/')", action: "deny", reason: "Nobody writes to /etc." },
      { name: "delete", tools: ["files_delete*"], ...COLLEAGUE },
      { name: "large", tools: ["pay"], when: "args.amount > 100", ...COLLEAGUE },
      { name: "small", tools: ["pay"], action: "allow" },
      {
        name: "mine",
        tools: ["*_mine"],
        when: "caller.id == 'ada' && caller['tenant'] == '' && !has(tool.annotations.x) && ['a'].all(caller, caller.size() == 1)",
        action: "allow",
      },
      { name: "reads", annotations: { readOnlyHint: true }, action: "allow" },
      { name: "writes", tools: ["files_write"], action: "allow" },
    ],
  });

  test.each<[string, JsonObject, Partial<Tool>, string, string]>([
    ["files_write", { path: "/etc/passwd" }, {}, "deny", "etc"],
    ["files_write", { path: "/home/a" }, {}, "allow", "writes"],
    // The condition cannot be evaluated: what nobody can judge does not run.
    ["files_write", {}, {}, "deny", "etc"],
    ["files_write", { path: 7 }, {}, "deny", "etc"],
    ["files_delete", {}, {}, "approve", "delete"],
    ["files_delete_all", {}, { annotations: { readOnlyHint: true } }, "approve", "delete"],
    ["FILES_DELETE", {}, {}, "deny", "default"],
    ["pay", { amount: 101 }, {}, "approve", "large"],
    ["pay", { amount: 100.5 }, {}, "approve", "large"],
    ["pay", { amount: 100 }, {}, "allow", "small"],
    ["pay", { amount: "101" }, {}, "deny", "large"],
    ["pay", { amount: null }, {}, "deny", "large"],
    ["list_mine", {}, {}, "allow", "mine"],
    ["look", {}, { annotations: { readOnlyHint: true } }, "allow", "reads"],
    // A tool that says nothing of itself counts as the specification says.
    ["look", {}, {}, "deny", "default"],
  ])("%s %j %j: %s by %s", (name, args, more, type, rule) => {
    expect(files.decide(tool(name, more), args, ADA)).toMatchObject({ type, rule });
  });

  test.each<[string, Partial<Tool>, boolean]>([
    ["files_delete", {}, true],
    ["pay", {}, true],
    ["files_write", {}, true],
    ["list_mine", {}, true],
    ["look", { annotations: { readOnlyHint: true } }, false],
    ["look", {}, true],
  ])("some call of %s %j might be stopped: %s", (name, more, concerns) => {
    expect(files.concerns(tool(name, more))).toBe(concerns);
  });
});

describe("a condition on groups and roles of the caller", () => {
  const refunds = rules({
    default: "deny",
    rules: [
      { name: "finance", tools: ["refund"], when: "'finance' in caller.groups || 'cfo' in caller.roles", action: "allow" },
      { name: "refunds", tools: ["refund"], ...COLLEAGUE },
      { name: "own-group", tools: ["share"], when: "args.with in caller.groups", action: "allow" },
      { name: "no-guests", tools: ["look"], when: "!('guests' in caller.groups)", action: "allow" },
      { name: "if-known", tools: ["peek"], when: "has(caller.groups) && 'guests' in caller.groups", action: "allow" },
    ],
  });
  const staff = { groups: ["staff", "finance"], roles: [] };
  const unknown = "A rule asks for groups or roles of the caller, which were not noted when this call was made.";
  test.each<[string, JsonObject, Caller["membership"], object]>([
    ["refund", {}, staff, { type: "allow", rule: "finance" }],
    ["refund", {}, { groups: [], roles: ["cfo"] }, { type: "allow", rule: "finance" }],
    ["refund", {}, { groups: ["cfo", "Finance", "finance "], roles: ["finance"] }, { type: "approve", rule: "refunds" }],
    ["refund", { caller: { groups: ["finance"] } }, { groups: [], roles: [] }, { type: "approve", rule: "refunds" }],
    ["share", { with: "staff" }, staff, { type: "allow" }],
    ["share", { with: "board" }, staff, { type: "deny", rule: "default" }],
    ["look", {}, staff, { type: "allow" }],
    ["look", {}, { groups: ["guests"], roles: [] }, { type: "deny", rule: "default" }],
    // Nothing known is not no groups.
    ["refund", {}, undefined, { type: "deny", rule: "finance", reason: unknown, isForNow: true }],
    ["look", {}, undefined, { type: "deny", rule: "no-guests", reason: unknown, isForNow: true }],
    ["look", {}, "too many", { type: "deny", rule: "no-guests", reason: "The caller is in more groups than a rule can look at." }],
    ["peek", {}, undefined, { type: "deny", rule: "default" }],
  ])("%s %j by a caller of %j", (name, args, membership, decision) => {
    const decided = refunds.decide(tool(name), args, { ...ADA, ...(membership !== undefined && { membership }) });
    expect(decided).toMatchObject(decision);
    expect("isForNow" in decided).toBe("isForNow" in decision);
  });

  test("is the only reason to keep them with calls", () => {
    const asks = (when: string) => rules({ default: "allow", rules: [{ name: "a", when, action: "deny" }] }).asksForMembership;
    expect([asks("'a' in caller.groups"), asks("'a' in caller['roles']"), asks("caller.id == 'a'")]).toEqual([true, true, false]);
  });

  test("sees as many names as are kept, and not one character more", () => {
    const [bracketed] = [JSON.stringify([[""], []]).length];
    const name = "g".repeat(MEMBERSHIP_CHARS_MAX - bracketed);
    expect(membershipOf({ groups: [name], roles: [] })).toEqual({ groups: [name], roles: [] });
    expect(membershipOf({ groups: [`${name}g`], roles: [] })).toBe("too many");
  });
});

describe("a rule that names prompts", () => {
  const prompt = (name: string) => ({ kind: "prompt", name, arguments: [] }) as unknown as Prompt;
  const both = rules({
    default: "deny",
    rules: [
      { name: "prompts", prompts: ["acts*"], when: "args.x == '1'", action: "deny" },
      { name: "both", tools: ["t"], prompts: ["t"], ...COLLEAGUE },
      { name: "rest", tools: ["*"], action: "allow" },
    ],
  });
  test.each<[string, Tool | Prompt, JsonObject, string, string]>([
    ["decides about those", prompt("acts_now"), { x: "1" }, "deny", "prompts"],
    ["does not fit others, which the default lets pass", prompt("reads"), { x: "1" }, "allow", "default"],
    ["refuses what its condition cannot judge", prompt("acts"), {}, "deny", "prompts"],
    ["is about no tool of that name", tool("acts"), { x: "1" }, "allow", "rest"],
    ["may name tools as well", prompt("t"), {}, "approve", "both"],
    ["may name tools as well: the tool", tool("t"), {}, "approve", "both"],
  ])("%s", (_, called, args, type, rule) => {
    expect(both.decide(called, args, ADA)).toMatchObject({ type, rule });
  });

  test("says which prompts it might stop", () => {
    expect([both.concerns(prompt("acts")), both.concerns(prompt("reads"))]).toEqual([true, false]);
  });
});

describe("what the tool fills in after the gate", () => {
  const forced = rules({
    default: "allow",
    rules: [
      { name: "force", when: "has(args.force) && args.force || has(args.with) && args.with.all(k, args.with[k] == 1)", ...COLLEAGUE },
    ],
  });
  const inputSchema = {
    type: "object",
    properties: {
      force: { type: "boolean", default: true },
      with: { type: "object", properties: { depth: { default: 1 } } },
      ["__proto__"]: { type: "number", default: 1 },
    },
  };
  test.each<[string, JsonObject, string]>([
    ["an argument that is left out", {}, "approve"],
    ["one that is given", { force: false }, "allow"],
    ["one within another", { force: false, with: {} }, "approve"],
    ["one within another that is given", { force: false, with: { depth: 2 } }, "allow"],
  ])("is seen by conditions: %s", (_, args, type) => {
    expect(forced.decide(tool("t", { inputSchema }), args, ADA)).toMatchObject({ type });
  });

  test("is not guessed where it is too much: a list of empty members hides no default behind it, and the call is refused", () => {
    const member = { properties: { a: { default: 1 } } };
    const properties = { all: { items: member }, force: { default: true } };
    const all = Array.from({ length: ADDED_MAX }, () => ({}));
    const simple = rules({ default: "allow", rules: [{ name: "force", when: "has(args.force) && args.force", ...COLLEAGUE }] });
    const decided = (count: number) => simple.decide(tool("t", { inputSchema: { properties } }), { all: all.slice(0, count) }, ADA);
    expect(decided(ADDED_MAX - 1)).toMatchObject({ type: "approve" });
    expect(decided(ADDED_MAX)).toMatchObject({ type: "deny", rule: "force" });
  });
});

test("an approval is for one call: everything that it rests on changes its digest", () => {
  const digest = (read: Rules, name: Tool, args: JsonObject, caller: object) => {
    const decision = read.decide(name, args, caller as typeof ADA);
    return decision.type === "approve" ? decision.digest : decision;
  };
  const one = rules({ default: "allow", rules: [{ name: "a", ...COLLEAGUE }] });
  const other = rules({ default: "allow", rules: [{ name: "a", ...COLLEAGUE, timeout: "1h" }] });
  const digests = [
    digest(one, tool("t"), { a: 1, b: 2 }, ADA),
    digest(one, tool("t"), { a: 1, b: 3 }, ADA),
    digest(one, tool("t"), { a: 1 }, ADA),
    digest(one, tool("u"), { a: 1, b: 2 }, ADA),
    digest(one, tool("t", { version: "2" }), { a: 1, b: 2 }, ADA),
    digest(one, tool("t", { description: "deletes" }), { a: 1, b: 2 }, ADA),
    digest(one, tool("t", { inputSchema: { type: "object", required: ["a"] } }), { a: 1, b: 2 }, ADA),
    digest(one, tool("t"), { a: 1, b: 2 }, { principal: "bob" }),
    digest(one, tool("t"), { a: 1, b: 2 }, { principal: "ada", tenant: "t1" }),
    digest(one, tool("t"), { a: 1, b: 2 }, { principal: "ada", person: "x" }),
    digest(other, tool("t"), { a: 1, b: 2 }, ADA),
  ];
  expect(new Set(digests).size).toBe(digests.length);
  // The order of members is no difference.
  expect(digest(one, tool("t"), { b: 2, a: 1 }, ADA)).toBe(digests[0]);
});

test.each<[string, unknown, RegExp]>([
  ["no default", { rules: [] }, /^default: /],
  ["a misspelt member", { default: "allow", rule: [] }, /rule/],
  ["an unknown end", { default: "allow", rules: [{ name: "a", action: "ask" }] }, /^rules\[0\]\.action: /],
  [
    "nobody to approve",
    { default: "allow", rules: [{ name: "a", action: "approve" }] },
    /^rules\[0\]\.by \(a\): is missing: who may approve/,
  ],
  ["an empty audience", { default: "allow", rules: [{ name: "a", action: "approve", by: {} }] }, /^rules\[0\]\.by \(a\): names nobody/],
  [
    "approvers of a refusal",
    { default: "allow", rules: [{ name: "a", action: "deny", by: "tenant" }] },
    /^rules\[0\]\.by \(a\): belongs to/,
  ],
  ["a reason for yes", { default: "allow", rules: [{ name: "a", action: "allow", reason: "x" }] }, /^rules\[0\]\.reason \(a\): belongs to/],
  ["no CEL", { default: "allow", rules: [{ name: "a", action: "allow", when: "args.x ==" }] }, /^rules\[0\]\.when \(a\): is not CEL: /],
  [
    "an unknown variable",
    { default: "allow", rules: [{ name: "a", action: "allow", when: "arg.x == 1" }] },
    /uses "arg"; there are args, tool and caller/,
  ],
  ...["caller.scopes == []", "has(caller.scopes)", 'caller["scopes"] == []', "args.x.all(y, y in caller.scopes)"].map(
    (when): [string, RulesConfig, RegExp] => [
      `a field that no caller has: ${when}`,
      { default: "allow", rules: [{ name: "a", action: "allow", when }] },
      /^rules\[0\]\.when \(a\): uses caller\.scopes; there are caller\.id, caller\.person, caller\.tenant, caller\.groups, caller\.roles$/,
    ],
  ),
  [
    "a field that no tool has",
    { default: "allow", rules: [{ name: "a", action: "allow", when: "tool.title.size() > 3" }] },
    /uses tool\.title; there are tool\.name, tool\.version, tool\.annotations, tool\.meta$/,
  ],
  ...(
    [
      ["a reminder after the end", { remind: "2d" }, "remind"],
      ["an assurance of nothing", { assurance: {} }, "assurance"],
      ["a login too short ago", { assurance: { within: "10s" } }, "assurance.within"],
      ["a login of no time ago", { assurance: { within: "0s" } }, "assurance.within"],
      ["a login of a time that is none", { assurance: { within: "soon" } }, "assurance.within"],
      ["a class in two words", { assurance: { acr: ["very good"] } }, "assurance.acr"],
      ["no methods", { assurance: { amr: [] } }, "assurance.amr"],
      ["a pause until a reply that nobody may ask for", { allow: ["delegate", "pause"] }, "allow"],
      ["reminders in another order", { remind: ["8h", "4h"] }, "remind"],
      ["a reminder at once", { remind: "10s" }, "remind"],
      ["a time that is none", { remind: "soon" }, "remind"],
      ["an escalation to nobody new", { escalate: { after: "4h", to: { groups: ["ops"] } } }, "escalate"],
      ["an escalation after the end", { escalate: [{ after: "25h", to: "tenant" }] }, "escalate"],
      ["an escalation to nobody", { escalate: { after: "4h", to: {} } }, "escalate"],
    ] as const
  ).map(([what, more, field]): [string, unknown, RegExp] => [
    what,
    { default: "allow", rules: [{ name: "a", ...COLLEAGUE, timeout: "1d", ...more }] },
    new RegExp(`^rules\\[0\\]\\.${field} \\(a\\): `),
  ]),
  ...["maximum", "model", { by: "login" }, 7, null].map((assurance): [string, unknown, RegExp] => [
    `an assurance that there is not (${JSON.stringify(assurance)})`,
    { default: "allow", rules: [{ name: "a", ...COLLEAGUE, assurance }] },
    /^rules\[0\]\.assurance: (must be token, login, or an object with within, acr or amr|Unrecognized key: "by")$/,
  ]),
  [
    "how somebody is identified whom nobody asks",
    { default: "allow", rules: [{ name: "a", action: "deny", assurance: "login" }] },
    /assurance \(a\): belongs to/,
  ],
  [
    "handing on what nobody approves",
    { default: "allow", rules: [{ name: "a", action: "deny", allow: ["delegate"] }] },
    /allow \(a\): belongs to/,
  ],
  ["an unknown function", { default: "allow", rules: [{ name: "a", action: "allow", when: "now() == 1" }] }, /unbound function: now/],
  [
    "a loop in a loop",
    { default: "allow", rules: [{ name: "a", action: "allow", when: "args.x.all(y, args.x.exists(z, z == y))" }] },
    /a loop within a loop/,
  ],
  [
    "equal names",
    {
      default: "allow",
      rules: [
        { name: "a", tools: ["x"], action: "allow" },
        { name: "a", action: "deny" },
      ],
    },
    /another rule has this name/,
  ],
  [
    "a number for a time",
    { default: "allow", rules: [{ name: "a", action: "approve", by: "tenant", timeout: "30" }] },
    /^rules\[0\]\.timeout \(a\): /,
  ],
  [
    "a time beyond the deployment's",
    { default: "allow", rules: [{ name: "a", action: "approve", by: "tenant", timeout: "8d" }] },
    /PARLEY_ASK_TIMEOUT_MAX/,
  ],
  [
    "no pointer",
    { default: "allow", rules: [{ name: "a", action: "approve", by: "tenant", redact: ["password"] }] },
    /JSON Pointer such as \/password/,
  ],
  [
    "annotations of prompts",
    { default: "allow", rules: [{ name: "a", prompts: ["x"], annotations: { readOnlyHint: true }, action: "deny" }] },
    /^rules\[0\]\.annotations \(a\): cannot be combined with `prompts`/,
  ],
  ["two stars", { default: "allow", rules: [{ name: "a", tools: ["a*b*"], action: "allow" }] }, /with one \* at its beginning or its end/],
  ...[
    ["destructivehint", "destructiveHint"],
    ["readonly", "readOnlyHint"],
    ["open_world_hint", "openWorldHint"],
  ].map(([key = "", meant]): [string, unknown, RegExp] => [
    `a misspelt annotation (${key}), with which the rule would fit no tool`,
    { default: "allow", rules: [{ name: "a", annotations: { [key]: true }, action: "deny" }] },
    new RegExp(`^rules\\[0\\]\\.annotations \\(a\\): has "${key}", which no tool says of itself; it is written ${meant}$`),
  ]),
])("%s is said", (_, config, problem) => {
  const read = readRules(config, { askTimeoutMaxMs: 7 * 86_400_000 });
  expect("problems" in read && read.problems.join("\n")).toMatch(problem);
});

describe("a rule that an earlier one leaves nothing to decide is a problem of the file", () => {
  type Rule = Omit<RulesConfig["rules"][number], "name" | "action">;
  test.each<[boolean, Rule, Rule]>([
    [true, {}, {}],
    [true, {}, { tools: ["x"], when: "args.x == 1" }],
    [true, {}, { annotations: { readOnlyHint: true } }],
    [true, { tools: ["*"] }, {}],
    [true, { tools: ["files_*"] }, { tools: ["files_delete"] }],
    [true, { tools: ["files_*"] }, { tools: ["files_delete*", "files_move"] }],
    [true, { tools: ["*_delete"] }, { tools: ["*all_delete"] }],
    [true, { tools: ["*_delete"] }, { tools: ["files_delete"] }],
    [true, { tools: ["a", "b"] }, { tools: ["b"] }],
    [true, { annotations: { destructiveHint: true } }, { tools: ["x"], annotations: { destructiveHint: true, openWorldHint: false } }],
    [true, { prompts: ["*"] }, { prompts: ["x*"] }],
    [true, { tools: ["*"], prompts: ["x"] }, { tools: ["t"], prompts: ["x"] }],
    // What a tool that says nothing of itself counts as is no reason to take it for every tool.
    [false, { annotations: { destructiveHint: true } }, {}],
    [false, { annotations: { destructiveHint: true } }, { annotations: { destructiveHint: false } }],
    [false, { annotations: { destructiveHint: true } }, { annotations: { readOnlyHint: false } }],
    [false, { when: "args.x == 1" }, {}],
    [false, {}, { prompts: ["x"] }],
    [false, { tools: ["*"] }, { tools: ["x"], prompts: ["x"] }],
    [false, { prompts: ["*"] }, { tools: ["x"] }],
    [false, { tools: ["files_*"] }, { tools: ["files_delete", "mail_send"] }],
    [false, { tools: ["files_*"] }, { tools: ["*_delete"] }],
    [false, { tools: ["files_*"] }, { tools: ["files*"] }],
    [false, { tools: ["*_delete"] }, { tools: ["x_*"] }],
    [false, { tools: ["files_delete"] }, { tools: ["files_*"] }],
    [false, { tools: ["files_"] }, { tools: ["FILES_"] }],
  ])("%s: %j before %j", (isProblem, first, second) => {
    const read = readRules({
      default: "allow",
      rules: [
        { name: "other", tools: ["other"], action: "deny" },
        { name: "first", ...first, action: "allow" },
        { name: "second", ...second, action: "deny" },
      ],
    });
    const problems = isProblem ? ["rules[2] (second): never decides, because first before it fits every call that it fits"] : undefined;
    expect("problems" in read ? read.problems : undefined).toEqual(problems);
  });

  test("a name with a star leaves another one nothing exactly if it fits each tool that the other one fits", () => {
    const texts = (letters: number): string[] => (letters === 0 ? [""] : texts(letters - 1).flatMap((text) => [`a${text}`, `b${text}`]));
    const tools = [1, 2, 3, 4].flatMap(texts).map((name) => tool(name));
    const patterns = ["*", ...[1, 2].flatMap(texts).flatMap((text) => [text, `${text}*`, `*${text}`])];
    const fits = new Map(
      patterns.map((pattern) => {
        const read = rules({ default: "deny", rules: [{ name: "a", tools: [pattern], action: "allow" }] });
        return [pattern, new Set(tools.filter((each) => read.decide(each, {}, ADA).type === "allow"))];
      }),
    );
    for (const first of patterns)
      for (const second of patterns) {
        const given = [first, second].map((pattern, at) => ({ name: `r${at}`, tools: [pattern], action: "allow" as const }));
        const isProblem = "problems" in readRules({ default: "deny", rules: given });
        const isCovered = [...fits.get(second)!].every((each) => fits.get(first)!.has(each));
        expect(isProblem, `${first} before ${second}`).toBe(isCovered);
      }
  });

  test("it is found at once among as many rules as there may be, with as many names as a file has room for", () => {
    const shared = Array.from({ length: 60 }, (_, at) => `shared_${at}`);
    const given = Array.from({ length: RULES_MAX - 1 }, (_, at) => ({ name: `r${at}`, tools: [...shared, `own_${at}`] }));
    const config = { default: "deny", rules: [...given, { name: "late", tools: ["own_7", "shared_7"] }] };
    const text = JSON.stringify({ ...config, rules: config.rules.map((each) => ({ ...each, action: "allow" })) });
    expect(text.length).toBeLessThan(RULES_BYTES_MAX);
    const before = process.cpuUsage();
    const read = readRules(JSON.parse(text));
    const { user, system } = process.cpuUsage(before);
    const problem = `rules[${RULES_MAX - 1}] (late): never decides, because r7 before it fits every call that it fits`;
    expect("problems" in read && read.problems).toEqual([problem]);
    // It took 16 s of the process, at its start and at each change of the file.
    expect((user + system) / 1_000).toBeLessThan(5_000);
  });
});

test.each<[JsonObject | undefined, JsonObject, boolean]>([
  [undefined, { destructiveHint: true }, true],
  [{}, { destructiveHint: true, readOnlyHint: false, idempotentHint: false, openWorldHint: true }, true],
  // As the files server says of what only reads. The other hints are about tools that are not read-only.
  [{ readOnlyHint: true, openWorldHint: false }, { destructiveHint: true }, false],
  [{ readOnlyHint: true }, { destructiveHint: false, idempotentHint: true, openWorldHint: true }, true],
  [{ readOnlyHint: true, destructiveHint: true }, { destructiveHint: true }, true],
  [{ readOnlyHint: "true" }, { destructiveHint: true }, true],
  [{ destructiveHint: null }, { destructiveHint: true }, true],
  [{ destructiveHint: false }, { destructiveHint: true }, false],
  [{ house: true }, { house: true }, true],
  [{}, { house: true }, false],
])("a tool that says %j of itself is one that a rule about %j fits: %s", (annotations, about, fits) => {
  const read = rules({ default: "allow", rules: [{ name: "a", annotations: about as Record<string, boolean>, action: "deny" }] });
  expect(read.decide(tool("t", annotations && { annotations }), {}, ADA).type).toBe(fits ? "deny" : "allow");
});

test("a condition sees what a tool says beside its annotations, such as the tags of FastMCP", () => {
  const when = "has(tool.meta.fastmcp) && 'admin' in tool.meta.fastmcp.tags";
  const read = rules({ default: "allow", rules: [{ name: "a", when, ...COLLEAGUE }] });
  const of = (tags: string[]) => read.decide(tool("t", { meta: { fastmcp: { tags } } }), {}, ADA).type;
  expect([of(["admin", "x"]), of([]), read.decide(tool("t"), {}, ADA).type]).toEqual(["approve", "allow", "allow"]);
});

test("a rule that does not say how long it waits waits a day, or as long as questions of the deployment may", () => {
  const config = { default: "allow", rules: [{ name: "a", ...COLLEAGUE }] };
  const waits = (askTimeoutMaxMs: number) => (readRules(config, { askTimeoutMaxMs }) as Rules).decide(tool("t"), {}, ADA);
  expect([waits(7 * 86_400_000), waits(3_600_000)]).toMatchObject([{ timeoutMs: 86_400_000 }, { timeoutMs: 3_600_000 }]);
});

test("all problems are reported at once", () => {
  const read = readRules({
    default: "allow",
    rules: [
      { name: "a", action: "approve", when: "x", timeout: "1" },
      { name: "a", action: "deny", by: "tenant" },
    ],
  });
  expect("problems" in read && read.problems).toHaveLength(5);
});

test("a condition with a loop is not evaluated over more values than it may look at", () => {
  const read = rules({ default: "deny", rules: [{ name: "a", when: "args.list.all(x, x >= 0.0)", action: "allow" }] });
  const list = (length: number) => ({ list: Array.from({ length }, (_, i) => i) });
  // The object and its list are values as well.
  expect(read.decide(tool("t"), list(1_999), ADA)).toMatchObject({ type: "allow" });
  expect(read.decide(tool("t"), list(2_001), ADA)).toMatchObject({ type: "deny", rule: "a" });
});

test.each<[string, "annotations" | "meta"]>([
  ["tool.meta.tags.exists(x, x == 'tag-1')", "meta"],
  ["'tag-1' in tool.meta.tags", "meta"],
  ["tool.exists(x, x == 'meta') && tool['me' + 'ta'].tags[1] == 'tag-1'", "meta"],
  ["tool.annotations.tags.exists(x, x == 'tag-1')", "annotations"],
])("%s is not evaluated over more values than it may look at, whatever a server says of its tool", (when, member) => {
  const read = rules({ default: "deny", rules: [{ name: "a", when, action: "allow" }] });
  const listed = (length: number) => tool("t", { [member]: { tags: Array.from({ length }, (_, i) => `tag-${i}`) } });
  expect(read.decide(listed(1_999), {}, ADA)).toMatchObject({ type: "allow" });
  expect(read.decide(listed(2_001), {}, ADA)).toMatchObject({ type: "deny", rule: "a" });
  const huge = listed(100_000);
  read.decide(huge, {}, ADA);
  const startedAtMs = performance.now();
  for (let times = 0; times < 20; times += 1) read.decide(huge, {}, ADA);
  // Each takes microseconds. Counted again, or looked at, the values would take two seconds.
  expect(performance.now() - startedAtMs).toBeLessThan(100);
});

test("a condition that reads nothing of it is evaluated, whatever a server says of its tool", () => {
  const read = rules({ default: "deny", rules: [{ name: "a", when: "tool.name == 't'", action: "allow" }] });
  const huge = tool("t", { meta: { tags: Array.from({ length: 100_000 }, () => "") } });
  expect(read.decide(huge, {}, ADA)).toMatchObject({ type: "allow" });
});

describe("no arguments make a condition take long: it is refused, or decided, at once", () => {
  const text = "a".repeat(1_000_000);
  const half = text.slice(0, 500_000);
  const list = Array.from({ length: 1_900 }, (_, i) => i);
  test.each<[string, JsonObject, string]>([
    ["args.list.all(x, !args.text.contains('b'))", { list, text }, "deny"],
    ["args.list.all(x, args.text.upperAscii() != '')", { list, text }, "deny"],
    ["args.list.all(x, args.text.size() > 3)", { list, text }, "deny"],
    ["args.list.all(x, args.text != args.text + 'a')", { list, text }, "deny"],
    ["args.list.all(x, !(args.text + 'a' in [args.text, 'b']))", { list, text }, "deny"],
    ["args.list.map(x, args.text + 'b').join(args.text).contains('c')", { list, text }, "deny"],
    [`args.list${".map(x, x)".repeat(60)}.all(x, true)`, { list }, "deny"],
    [`args.list.all(x, ${Array(180).fill("x == x").join(" && ")})`, { list }, "deny"],
    [`args.list.all(x, ${Array(180).fill("x != x").join(" || ")} || true)`, { list }, "deny"],
    ["!args.text.contains(args.find)", { text: half, find: `${"a".repeat(125_000)}b${"a".repeat(125_000)}` }, "deny"],
    ["args.text.indexOf(args.find) < 0", { text: half, find: `${"a".repeat(125_000)}b${"a".repeat(125_000)}` }, "deny"],
    ["args.text.replace('a', 'bb') != ''", { text }, "deny"],
    ["args.text.replace('', args.text) != ''", { text }, "deny"],
    ["args.text.split('').all(c, c == 'a')", { text }, "deny"],
    ["args.text.matches(args.pattern)", { text, pattern: "(a?){500}(a|b|ab)*c$" }, "deny"],
    ["args.list.all(x, args.tree == args.other)", { list, tree: { a: [text] }, other: { a: [text] } }, "deny"],
    ["args.list.exists(x, args.text.contains('b')) || true", { list, text }, "deny"],
    // What a rule is likely to ask passes.
    ["!args.text.contains('..') && args.text.startsWith('a') && args.text.upperAscii() != ''", { text }, "allow"],
    ["args.text.replace('b', '').matches('^[a-z]+$')", { text }, "allow"],
    [
      "args.paths.all(p, p.startsWith('/srv/') && !p.contains('..') && p.matches('^[a-z0-9/_-]+$') && !(p in ['/srv/a', '/srv/b']))",
      { paths: Array.from({ length: 1_900 }, (_, i) => `/srv/data/${"directory/".repeat(8)}${i}`) },
      "allow",
    ],
    ["args.paths.map(p, p + '/').filter(p, p != '').join(',').size() > 3", { paths: list.map((each) => `/srv/${each}`) }, "allow"],
  ])("%#", (when, args, expected) => {
    const read = rules({ default: "deny", rules: [{ name: "a", when, action: "allow" }] });
    const before = process.cpuUsage();
    const decision = read.decide(tool("t"), args, ADA);
    const { user, system } = process.cpuUsage(before);
    expect(decision).toMatchObject({ type: expected, rule: "a" });
    // Of this process, so that others at work on the machine do not count. Some of these took minutes.
    expect((user + system) / 1_000).toBeLessThan(5_000);
  });
});

test("there may be as many rules, and a condition may be as long, as the bounds say, and not one more", () => {
  const of = (count: number) =>
    readRules({ default: "deny", rules: Array.from({ length: count }, (_, i) => ({ name: `r${i}`, tools: [`x${i}`], action: "allow" })) });
  const long = (length: number) =>
    readRules({
      default: "deny",
      rules: [{ name: "a", when: `args.x == '${"y".repeat(length - "args.x == ''".length)}'`, action: "allow" }],
    });
  for (const [read, most] of [
    [of, RULES_MAX],
    [long, CONDITION_CHARS_MAX],
  ] as const) {
    expect("problems" in read(most)).toBe(false);
    expect("problems" in read(most + 1)).toBe(true);
  }
});
