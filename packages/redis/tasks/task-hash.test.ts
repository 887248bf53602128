/**
 * Processes of other versions read what Redis holds, so each text is written out as it is stored. Sealed text appears
 * as `[part]text`, text in the clear as `<text>`.
 */
import type { Ask, Call, Entry, EntryOutcome, JournalLine, JsonObject, Open, ParentLink } from "@parley/core";
import { describe, expect, test } from "vitest";
import { type Content, DamagedContent } from "../content/codec.ts";
import {
  askFields,
  callOf,
  isEntryKey,
  packAcceptances,
  packArguments,
  packAsk,
  packAsks,
  packCall,
  packCapabilities,
  packEntry,
  packEntryOutcome,
  packLink,
  packPlace,
  packViolations,
  shownAsks,
  unpackCapabilities,
  unpackEntry,
  unpackLine,
  unpackShown,
  unpackSummary,
  unpackTask,
  unpackTaskAtWork,
} from "./task-hash.ts";

/** Shows which part a text was sealed as, and opens it as no other. */
const content: Content = {
  isSealed: false,
  seal: (part, text) => `[${part}]${text}`,
  open: (part, sealed) => without(`[${part}]`, sealed),
  fingerprint: (part, text) => `#${part.replaceAll(" ", "_")}=${text.length}`,
  sealWord: (part, text) => `(${part})${text}`,
  openWord: (part, sealed) => without(`(${part})`, sealed),
  toStored: (text) => `<${text}>`,
  fromStored: (stored) => without("<", stored).slice(0, -1),
};

function without(start: string, text: string): string {
  if (!text.startsWith(start)) throw new Error(`no ${start} before ${text}`);
  return text.slice(start.length);
}

const ID = "3-abc";
const CALL: Call = {
  kind: "tool",
  name: "book",
  principal: "ada",
  capabilities: {},
  createdAtMs: 1_000,
  retentionMs: 60_000,
  hidden: false,
  seed: "s33d",
  arguments: { size: 4 },
};
const { seed: _seed, arguments: _arguments, ...FACTS } = CALL;
const LARGE = { arguments: { a: "\n" }, replies: { q: { a: 1 } } };

/** The facts as they are stored, as JSON, and their call. */
const CALLS: readonly [what: string, call: Call, facts: string, given: string][] = [
  ["a call", CALL, '["tool","book","ada",1000,0,"","(seed)s33d"]', '[{"size":4}]'],
  ["a prompt", { ...CALL, kind: "prompt" }, '["prompt","book","ada",1000,0,"","(seed)s33d"]', '[{"size":4}]'],
  ["a tenant's", { ...CALL, tenant: "acme" }, '["tool","book",["ada","acme"],1000,0,"","(seed)s33d"]', '[{"size":4}]'],
  ["a hidden one", { ...CALL, hidden: true }, '["tool","book","ada",1000,1,"","(seed)s33d"]', '[{"size":4}]'],
  ["one that compensates", { ...CALL, compensates: true }, '["tool","book","ada",1000,2,"","(seed)s33d"]', '[{"size":4}]'],
  [
    "a hidden one that compensates, with replies",
    { ...CALL, hidden: true, compensates: true, ...LARGE },
    '["tool","book","ada",1000,3,"","(seed)s33d"]',
    '[{"a":"\\n"},{"q":{"a":1}}]',
  ],
  ["one of a trace", { ...CALL, traceparent: "00-1" }, '["tool","book","ada",1000,0,"","(seed)s33d","00-1"]', '[{"size":4}]'],
  ["a session's", { ...CALL, request: { id: 0 } }, '["tool","book","ada",1000,0,"","(seed)s33d",null,0]', '[{"size":4}]'],
  [
    "a session's with progress",
    { ...CALL, request: { id: "r", progressToken: 0 } },
    '["tool","book","ada",1000,0,"","(seed)s33d",null,"r",0]',
    '[{"size":4}]',
  ],
  [
    "a session's whose ids are no characters",
    { ...CALL, request: { id: "\ud800", progressToken: "\udc00!" } },
    String.raw`["tool","book","ada",1000,0,"","(seed)s33d",null,["\"\\ud800\""],["\"\\udc00!\""]]`,
    '[{"size":4}]',
  ],
  ["an audited one", { ...CALL, binding: "b1" }, '["tool","book","ada",1000,0,"","(seed)s33d",null,null,null,"b1"]', '[{"size":4}]'],
  ["one with a version", { ...CALL, version: "2" }, '["tool","book","ada",1000,0,"","(seed)s33d",null,null,null,null,"2"]', '[{"size":4}]'],
  [
    "one that a session made",
    { ...CALL, session: "s1" },
    '["tool","book","ada",1000,0,"","(seed)s33d",null,null,null,null,null,null,"s1"]',
    '[{"size":4}]',
  ],
  ["a person's", { ...CALL, person: "p1" }, '["tool","book","ada",1000,0,"","(seed)s33d",null,null,null,null,null,"p1"]', '[{"size":4}]'],
  [
    "one whose caller's groups a rule asks for",
    { ...CALL, membership: { groups: ["a", "\ud800"], roles: [] } },
    String.raw`["tool","book","ada",1000,0,"","(seed)s33d",null,null,null,null,null,null,null,"(membership)[[\"a\",\"\\ud800\"],[]]"]`,
    '[{"size":4}]',
  ],
  [
    "one whose caller is in more groups than are kept",
    { ...CALL, membership: "too many" },
    '["tool","book","ada",1000,0,"","(seed)s33d",null,null,null,null,null,null,null,"(membership)null"]',
    '[{"size":4}]',
  ],
  [
    "one whose caller has names",
    { ...CALL, caller: { name: "Ada", email: "ada@acme.io", subject: "7" } },
    String.raw`["tool","book","ada",1000,0,"","(seed)s33d",null,null,null,null,null,null,null,null,"(caller)[\"Ada\",\"ada@acme.io\",\"7\"]"]`,
    '[{"size":4}]',
  ],
  [
    "one whose caller is a machine",
    { ...CALL, caller: { name: "api-key:nightly" } },
    String.raw`["tool","book","ada",1000,0,"","(seed)s33d",null,null,null,null,null,null,null,null,"(caller)[\"api-key:nightly\",null,null]"]`,
    '[{"size":4}]',
  ],
  [
    "one that says why it is made",
    { ...CALL, reason: "I need room" },
    '["tool","book","ada",1000,0,"","(seed)s33d"]',
    '[{"size":4},null,"I need room"]',
  ],
  [
    "one with everything",
    {
      ...CALL,
      capabilities: { roots: true },
      traceparent: "00-1",
      request: { id: 7, progressToken: "t" },
      binding: "b1",
      version: "2",
      person: "p1",
    },
    '["tool","book","ada",1000,0,"r","(seed)s33d","00-1",7,"t","b1","2","p1"]',
    '[{"size":4}]',
  ],
];

const STATE = "working 5 2 2000 0 60000 1 0 0";
const stored = (facts: string, given: string) => `<${facts}>\n[given]${given}`;
const FIELDS = { state: STATE, call: stored(CALLS[0]![2], CALLS[0]![3]) };
const TASK = { id: ID, call: FACTS, status: "working", revision: 5, run: 2, updatedAtMs: 2_000, generation: 0, asks: [] };

describe("a call", () => {
  test.each(CALLS)("is stored and read as it was given: %s", (_what, call, facts, given) => {
    expect(packCall(content, call)).toStrictEqual({ facts: `<${facts}>`, given: `[given]${given}` });
    const read = unpackTaskAtWork(content, ID, { task: { state: STATE, call: stored(facts, given) }, journal: {} });
    expect(read?.task.call).toStrictEqual(call);
  });

  test("with large arguments has them in its journal, and no line feed after the facts", () => {
    const task = { state: STATE, call: `<${CALLS[0]![2]}>` };
    const read = unpackTaskAtWork(content, ID, { task, journal: { given: '[given][{"a":"\\n"},{"q":{"a":1}}]' } });
    expect(read).toStrictEqual({ task: { ...TASK, call: { ...CALL, ...LARGE } }, attempt: 1, takeovers: 0 });
    expect(unpackTask(content, ID, task)?.task).toStrictEqual(TASK);
  });

  test.each([
    ["its hash", { ...FIELDS, arguments: '[arguments]{"b":2}' }, {}],
    ["its journal", FIELDS, { arguments: '[arguments]{"b":2}' }],
    ["its hash, when it was large before", { ...FIELDS, arguments: '[arguments]{"b":2}' }, { given: "[given][{}]" }],
  ])("that restarted has its new arguments, from %s, and no early replies", (_where, task, journal) => {
    expect(packArguments(content, { b: 2 })).toBe('[arguments]{"b":2}');
    expect(unpackTaskAtWork(content, ID, { task, journal })?.task.call).toStrictEqual({ ...CALL, arguments: { b: 2 } });
  });

  test.each([
    ["the version that it was made with", undefined, { version: "1" }],
    ["the version that it was made with, in a list", null, { version: "1" }],
    ["the version that it moved to", "2", { version: "2" }],
    ["no version any more", "", {}],
  ])("is described by its kind and name, and %s", (_which, moved, version) => {
    const call = '<["prompt","book","ada",1000,0,"","(seed)s33d",null,null,null,null,"1"]>\n[given]…';
    expect(callOf(content, call, moved)).toStrictEqual({ kind: "prompt", name: "book", ...version });
    const fields = { state: STATE, call, ...(typeof moved === "string" && { version: moved }) };
    expect(unpackTask(content, ID, fields)?.task.call).toStrictEqual({ ...FACTS, kind: "prompt", ...version });
  });

  describe("that is sealed", () => {
    const sealed: Content = { ...content, isSealed: true, fingerprint: (part, text) => `#${part}${text.replaceAll('"', "'")}` };
    const read = (facts: string) => {
      const fields = { state: STATE, call: stored(facts, '[{"size":4}]') };
      return [
        unpackTask(sealed, ID, fields)?.task.call.principal,
        unpackTaskAtWork(sealed, ID, { task: fields, journal: {} })?.task.call.seed,
        unpackSummary(sealed, ID, [STATE, fields.call, null, null], true)?.principal,
      ];
    };
    const bound = (owner: string, seed: string) => `["tool","book",${owner},1000,0,"","(seed)${seed}"]`;

    test("is bound to its tenant, its principal and its person by the end of its seed", () => {
      const seed = "s33d~#owner['default','ada']";
      expect(packCall(sealed, CALL).facts).toBe(`<${bound('"ada"', seed)}>`);
      expect(read(bound('"ada"', seed))).toStrictEqual(["ada", seed, "ada"]);
      expect(packCall(sealed, { ...CALL, tenant: "acme", person: "Ada" }).facts).toContain("(seed)s33d~#owner['acme','ada','Ada']");
      for (const owner of ['"eve"', '["ada","acme"]']) expect(() => read(bound(owner, seed))).toThrow(new DamagedContent("owner"));
    });

    test("opens without that if an older version created it", () => {
      expect(read(bound('"ada"', "s33d"))).toStrictEqual(["ada", "s33d", "ada"]);
    });
  });

  test("without a version has none", () => {
    expect(callOf(content, FIELDS.call)).toStrictEqual({ kind: "tool", name: "book" });
  });

  test.each([
    ["", {}],
    ["e", { elicitation: { form: false, url: false } }],
    ["ef", { elicitation: { form: true, url: false } }],
    ["eu", { elicitation: { form: false, url: true } }],
    ["efu", { elicitation: { form: true, url: true } }],
    ["s", { sampling: { tools: false } }],
    ["st", { sampling: { tools: true } }],
    ["r", { roots: true }],
    ["v", { views: true }],
    ["efustr", { elicitation: { form: true, url: true }, sampling: { tools: true }, roots: true }],
  ])("of a client that can be asked for %j has these capabilities", (letters, capabilities) => {
    expect(packCapabilities(capabilities)).toBe(letters);
    expect(unpackCapabilities(letters)).toStrictEqual(capabilities);
  });
});

describe("a task", () => {
  test("is what its state says, word by word", () => {
    const read = unpackTask(content, ID, { ...FIELDS, state: "completed 9 3 2500 8000 5500 4 6 0 12" });
    const state = { status: "completed", revision: 9, run: 3, updatedAtMs: 2_500, generation: 6, expiresAtMs: 8_000 };
    expect(read).toStrictEqual({ task: { ...TASK, ...state, call: { ...FACTS, retentionMs: 5_500 } }, attempt: 4, takeovers: 0 });
  });

  test("that was taken over has the count", () => {
    const read = unpackTask(content, ID, { ...FIELDS, state: "working 5 2 2000 0 60000 1 0 7 0 token 1" });
    expect(read).toStrictEqual({ task: { ...TASK, takeovers: 7 }, attempt: 1, takeovers: 7 });
  });

  test("has its messages, what it owes, and its parent", () => {
    const parent: ParentLink = { taskId: "3-p", rootId: "3-r", depth: 2, key: "pay#2", path: "trip:pay#2" };
    const { message, immediate, outcome } = { message: "[message]Almost", immediate: "[immediate]Wait", outcome: '[outcome]{"type":"x"}' };
    expect(packLink(parent)).toBe("3-p 3-r 2 pay#2 trip:pay#2");
    const fields = { ...FIELDS, message, immediate, outcome, owed: "failed stopping", parent: packLink(parent) };
    const common = { ...TASK, call: { ...FACTS, parent }, owed: "failed" };
    const said = { message: "Almost", immediateResponse: "Wait", outcome: { type: "x" } };
    expect(unpackTask(content, ID, fields)?.task).toStrictEqual({ ...common, ...said });
    expect(unpackTask(content, ID, { ...fields, ...OPEN }, "erased")).toStrictEqual({
      task: { ...common, unreadable: "erased" },
      attempt: 1,
      takeovers: 0,
    });
  });

  test.each([
    ["empty", {}],
    ["without a state", { call: FIELDS.call }],
    ["without a call", { state: STATE }],
  ])("does not exist if its hash is %s", (_what, fields) => {
    expect(unpackTask(content, ID, fields)).toBeUndefined();
    expect(unpackTaskAtWork(content, ID, { task: fields, journal: {} })).toBeUndefined();
  });
});

describe("a summary", () => {
  const SUMMARY = {
    id: ID,
    principal: "ada",
    hidden: false,
    status: "working",
    createdAtMs: 1_000,
    updatedAtMs: 2_000,
    retentionMs: 60_000,
  };
  const said = ["[message]Almost", "[problem]No table"];

  test("has the message if it can be read", () => {
    const read = unpackSummary(content, ID, [STATE, FIELDS.call, ...said], true);
    expect(read).toStrictEqual({ ...SUMMARY, message: "Almost", problem: "No table" });
    expect(unpackSummary(content, ID, [STATE, FIELDS.call, ...said], false)).toStrictEqual(SUMMARY);
    expect(unpackSummary(content, ID, [STATE, FIELDS.call, null, null], true)).toStrictEqual(SUMMARY);
  });

  test("has the task's owner, whether it is hidden, and when it expires", () => {
    const call = '<["tool","book",["ada","acme"],1000,1,"","(seed)s33d"]>';
    const read = unpackSummary(content, ID, ["completed 9 3 2500 8000 5500 4 6 0", call, null, null], true);
    const ended = { status: "completed", updatedAtMs: 2_500, expiresAtMs: 8_000, retentionMs: 5_500 };
    expect(read).toStrictEqual({ ...SUMMARY, ...ended, tenant: "acme", hidden: true });
  });

  test.each([
    ["state", null, FIELDS.call],
    ["call", STATE, null],
  ])("does not exist for a task without %s", (_what, state, call) => {
    expect(unpackSummary(content, ID, [state, call, null, null], true)).toBeUndefined();
  });
});

const asked = { digest: "d1", calledAt: "3o:1.0", askedAtMs: 1_500, deadlineMs: 4_000 };
/** A request as it is stored after the policy. */
const REQUESTS: readonly [request: Open["request"], packed: string][] = [
  [{ type: "form", message: "Size?", schema: { a: 1 } }, '"form","Size?",{"a":1}'],
  [{ type: "form", message: "Size?", schema: { a: 1 }, hints: { b: 2 } }, '"form","Size?",{"a":1},{"b":2}'],
  [{ type: "url", message: "Go", url: "https://a" }, '"url","Go","https://a"'],
  [{ type: "url", message: "Go", url: "https://a", hints: { b: 2 } }, '"url","Go","https://a",{"b":2}'],
  [{ type: "url", message: "Go", url: "", page: { kind: "secret" } }, '"url","Go","",null,{"kind":"secret"}'],
  [{ type: "url", message: "Go", url: "", hints: { b: 2 }, page: { kind: "secret" } }, '"url","Go","",{"b":2},{"kind":"secret"}'],
  [{ type: "url", message: "Go", url: "https://a", completedBy: "event" }, '"url","Go","https://a",null,null,"event"'],
  [{ type: "url", message: "Go", url: "https://a", hints: { b: 2 }, completedBy: "event" }, '"url","Go","https://a",{"b":2},null,"event"'],
  [{ type: "sampling", params: { a: 1 } }, '"sampling",{"a":1}'],
  [{ type: "roots" }, '"roots"'],
  [{ type: "event", schema: { a: 1 } }, '"event",{"a":1}'],
  [{ type: "call", tool: "pay" }, '"call","pay"'],
];
const FORM = REQUESTS[0]!;
/** Three asks of two moments, stored out of order. */
const packedForm = (key: string) => `[ask ${key}]["cancel",${FORM[1]}]`;
const OPEN = {
  "ask:third": `d1 4 3o:1.0 0 1500 2500 ${packedForm("third")}`,
  "ask:second": `d1 3 3o:1.0 1 1500 2500 ${packedForm("second")}`,
  "ask:first": `d1 3 3o:1.0 0 1500 2500 ${packedForm("first")}`,
};
const anAsk = (key: string, revision: number, position: number): Ask => ({
  ...asked,
  key,
  request: FORM[0] as Ask["request"],
  onTimeout: "cancel",
  since: { revision, position },
});

describe("an open ask", () => {
  test.each(REQUESTS)("is stored and read as it was asked: %j", (request, packed) => {
    const open = { ...asked, key: "q", request, onTimeout: "fail" } as Open;
    const text = `3o:1.0 2 1500 2500 [ask q]["fail",${packed}]`;
    expect(packAsk(content, open, 2)).toBe(text);
    const { asks, events = [], calls = [] } = unpackTask(content, ID, { ...FIELDS, "ask:q": `d1 4 ${text}` })!.task;
    const isQuestion = request.type !== "event" && request.type !== "call";
    expect([...asks, ...events, ...calls]).toStrictEqual([{ ...open, ...(isQuestion && { since: { revision: 4, position: 2 } }) }]);
  });

  test("has its audience and its default", () => {
    const ask: Ask = { ...anAsk("q", 4, 0), onTimeout: { default: { a: 1 } }, audience: { to: "tenant", quorum: 2 } };
    const { since: _, ...open } = ask;
    const text = `3o:1.0 0 1500 2500 [ask q][[{"default":{"a":1}},{"to":"tenant","quorum":2}],${FORM[1]}]`;
    expect(packAsk(content, open, 0)).toBe(text);
    expect(unpackTask(content, ID, { ...FIELDS, "ask:q": `d1 4 ${text}` })?.task.asks).toStrictEqual([ask]);
  });

  test("goes to scripts with its key, its digest, its place among those of its run, and the digests of those it is put to", () => {
    const to = { people: ["ada"], groups: ["finance"] };
    const asks = [anAsk("a", 1, 0), { ...anAsk("b", 1, 1), digest: "d2" }, { ...anAsk("c", 1, 2), audience: { to } }];
    expect(
      packAsks(content, asks, () => (name) => `<${name}>`.replace(" ", "_")).map((each) => each.with(2, each[2].slice(0, 18))),
    ).toStrictEqual([
      ["a", "d1", `3o:1.0 0 1500 2500 ${packedForm("a")}`.slice(0, 18), ""],
      ["b", "d2", `3o:1.0 1 1500 2500 ${packedForm("b")}`.slice(0, 18), ""],
      ["c", "d1", "3o:1.0 2 1500 2500", "<person_ada> <group_finance>"],
    ]);
  });

  test("comes after earlier ones, and after those before it in its run", () => {
    const { asks } = unpackTask(content, ID, { ...FIELDS, ...OPEN, message: "[message]Almost" })!.task;
    expect(asks).toStrictEqual([anAsk("first", 3, 0), anAsk("second", 3, 1), anAsk("third", 4, 0)]);
  });

  test("that was refused keeps its place, and has the moment of the refusal", () => {
    const violations = [{ path: "/a b", message: "must be at most 20" }];
    const packed = packViolations(content, "first", violations);
    expect(packed).toBe('[refused first][{"path":"/a b","message":"must be at most 20"}]');
    const { asks } = unpackTask(content, ID, { ...FIELDS, ...OPEN, "refused:first": `2 9 ${packed}` })!.task;
    expect(asks[0]).toStrictEqual({ ...anAsk("first", 9, 0), refused: { count: 2, violations } });
    expect(asks.slice(1)).toStrictEqual([anAsk("second", 3, 1), anAsk("third", 4, 0)]);
  });

  test("has its acceptances, and whether a visit was agreed to", () => {
    const acceptances = [{ by: "bob", content: { a: "x y" }, atMs: 7 }];
    const packed = packAcceptances(content, "first", acceptances);
    expect(packed).toBe('[accepted first][{"by":"bob","content":{"a":"x y"},"atMs":7}]');
    const fields = { ...FIELDS, ...OPEN, "accepted:first": `8 ${packed}`, "agreed:second": "1" };
    expect(unpackTask(content, ID, fields)?.task.asks.slice(0, 2)).toStrictEqual([
      { ...anAsk("first", 3, 0), accepted: { revision: 8, acceptances } },
      { ...anAsk("second", 3, 1), agreed: true },
    ]);
  });
});

describe("an ask of a child", () => {
  const shown = { key: "trip:size", route: { taskId: "3-c~", key: "size" }, since: { revision: 6, position: 1 } };

  test("is shown by the root, which holds its location and none of its content", () => {
    const fields = { ...FIELDS, ...OPEN, message: "~ 6 1 3-c~ size", "ask:trip:size": "~ 6 1 3-c~ size" };
    expect(shownAsks(fields)).toStrictEqual([shown]);
    expect(unpackTask(content, ID, { ...FIELDS, "ask:trip:size": "~ 6 1 3-c~ size" })?.task).toStrictEqual(TASK);
  });

  test("is read from these fields of the child", () => {
    expect(askFields("size")).toStrictEqual(["ask:size", "refused:size", "agreed:size", "accepted:size", "thread:size"]);
    const ask = `d1 4 3o:1.0 0 1500 2500 ${packedForm("size")}`;
    const here = { ...anAsk("trip:size", 6, 1), route: shown.route };
    expect(unpackShown(content, shown, [ask, null, null, null])).toStrictEqual(here);
    const refused = { count: 1, violations: [] };
    expect(unpackShown(content, shown, [ask, "1 9 [refused size][]", "1", null])).toStrictEqual({ ...here, refused, agreed: true });
    expect(unpackShown(content, shown, [null, null, null, null])).toBeUndefined();
  });

  test("is shown only if it is a question", () => {
    const event = '[ask size]["cancel","event",{}]';
    expect(unpackShown(content, shown, [`d1 4 3 0 1500 2500 ${event}`, null, null, null])).toBeUndefined();
  });
});

describe("a journal entry", () => {
  const value = (place: Partial<Entry>): Entry => ({
    digest: "",
    outcome: { type: "value", value: "a b c" },
    calledAt: "3o:1.0",
    ...place,
  });
  const sealed = '[entry step:a]{"type":"value","value":"a b c"}';

  test.each<[Entry, string]>([
    [value({}), `- 3o:1.0 - - ${sealed}`],
    [value({ place: 1 }), `1 3o:1.0 - - ${sealed}`],
    [value({ place: 12, withdrawn: true }), `w12 3o:1.0 - - ${sealed}`],
    [value({ arrived: { atMs: 1_500, revision: 7 } }), `?1500.7 3o:1.0 - - ${sealed}`],
    [value({ digest: "d1" }), `- 3o:1.0 d1 - ${sealed}`],
    ...(["begun", "closed", "withdrawn", "cancelled"] as const).map((type): [Entry, string] => [
      { digest: "d1", outcome: { type }, calledAt: "0" },
      `- 0 d1 ! ${type}`,
    ]),
  ])("is stored and read as it was recorded: %j", (entry, text) => {
    expect(packEntry(content, "step:a", entry)).toBe(text);
    expect(unpackEntry(content, "step:a", text)).toStrictEqual({ entry, size: JSON.stringify(entry.outcome).length + 32 });
  });

  test("that arrived has its place instead of its arrival once it is settled", () => {
    const arrived = { atMs: 1_500, revision: 7 };
    expect(packPlace(value({ arrived }))).toBe("?1500.7");
    expect(packPlace(value({ arrived, place: 0 }))).toBe("0");
  });

  test("with an answer has its fingerprint as the mark, in any order of members", () => {
    const outcomeOf = (answered: JsonObject): EntryOutcome => ({ type: "answer", answer: { action: "accept", content: answered } });
    const fingerprint = (_part: string, text: string) => text;
    const fingerprinted = (answered: JsonObject) => packEntryOutcome({ ...content, fingerprint }, "ask:q", outcomeOf(answered));
    const [one, other] = [fingerprinted({ b: 2, a: 1 }), fingerprinted({ a: 1, b: 2 })];
    expect(one.mark).toBe('{"answer":{"action":"accept","content":{"a":1,"b":2}},"type":"answer"}');
    expect(other.mark).toBe(one.mark);
    expect(one.outcome).toBe('[entry ask:q]{"type":"answer","answer":{"action":"accept","content":{"b":2,"a":1}}}');
  });

  test("with a quorum has one fingerprint per acceptance as the mark", () => {
    const accepted = [
      { by: "bob", content: { a: 1 }, atMs: 7 },
      { content: { a: 1 }, atMs: 8 },
    ];
    const { mark } = packEntryOutcome(content, "ask:q", { type: "answer", answer: { action: "accept", content: { a: 1 } }, accepted });
    const each = [
      '{"answer":{"action":"accept","content":{"a":1}},"by":"bob","type":"answer"}',
      '{"answer":{"action":"accept","content":{"a":1}},"type":"answer"}',
    ];
    expect(mark).toBe(each.map(({ length }) => `#entry_ask:q=${length}`).join(","));
  });

  test.each<[key: string, text: string, line: JournalLine]>([
    ["step:a", "- 0 - -", { key: "step:a", state: "recorded" }],
    ["step:a", "3 0 - -", { key: "step:a", place: 3, state: "recorded" }],
    ["step:a", "0 0 - -", { key: "step:a", place: 0, state: "recorded" }],
    ["step:a", "- 0 - ! begun", { key: "step:a", state: "begun" }],
    ["ask:q", "w4 0 d1 ! withdrawn", { key: "ask:q", place: 4, state: "withdrawn" }],
    ["ask:q", "?1500.7 0 d1 #1", { key: "ask:q", arrivedAtMs: 1_500, state: "recorded" }],
    ["ask:call:pay", "2 0 3-c~ -", { key: "ask:call:pay", place: 2, child: "3-c~", state: "recorded" }],
    ["step:ask:call:pay", "2 0 d1 -", { key: "step:ask:call:pay", place: 2, state: "recorded" }],
  ])("is read without its content: %s %s", (key, text, line) => {
    expect(unpackLine(key, text)).toStrictEqual(line);
  });

  test.each([
    ["step:a", true],
    ["given", false],
    ["arguments", false],
    ["read party-size#2", true],
    ["read event paid", true],
  ])("is distinguished from arguments by its key: %s", (field, isEntry) => {
    expect(isEntryKey(field)).toBe(isEntry);
  });
});
