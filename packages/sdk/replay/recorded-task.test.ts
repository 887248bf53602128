/** The lines of an export and their placeholders. For replays from an export see replay-recorded.test.ts. */
import { type Ask, type Entry, type Journal, readingKey, type TaskAtWork } from "@parley/core";
import { describe, expect, test } from "vitest";
import { readRecordedTask, redactJson, toRecordedTask } from "./recorded-task.ts";

const ask = { key: "q", request: { type: "form" }, calledAt: "0" };
const entry = { calledAt: "12o:3.4", outcome: { type: "value" }, place: 1 };
const line = {
  taskId: "0-x",
  format: 1,
  atMs: 1,
  generation: 0,
  call: { name: "ship", arguments: {} },
  asks: [ask],
  journal: { "step:a": entry },
};

describe("a line of an export", () => {
  test.each([
    ["as it is written", line],
    ["with events and calls", { ...line, events: [ask], calls: [ask] }],
    ["with an entry that has no place", { ...line, journal: { "step:a": { ...entry, place: undefined } } }],
    ["of a task that could not be read", { taskId: "0-x", format: 1, unreadable: "sealed" }],
  ])("is read %s", (_how, task) => {
    const text = JSON.stringify(task);
    expect(readRecordedTask(text)).toStrictEqual(JSON.parse(text));
  });

  const missing = (what: string) => `is not an exported task: ${what} is missing or malformed, or a later version of Parley exported it`;

  test.each<[string, unknown, string]>([
    ["no object", [], "is not an exported task: it lacks `taskId`"],
    ["null", null, "is not an exported task: it lacks `taskId`"],
    ["an id that is not a text", { ...line, taskId: 5 }, "is not an exported task: it lacks `taskId`"],
    ["another format", { ...line, format: 2 }, "has the format 2, and this version reads 1: use the version that exported it"],
    ["no format", { ...line, format: undefined }, "has the format undefined, and this version reads 1: use the version that exported it"],
    ["no call", { ...line, call: undefined }, missing("`call`")],
    ["a call without a name", { ...line, call: { arguments: {} } }, missing("`call`")],
    ["a call without arguments", { ...line, call: { name: "ship" } }, missing("`call`")],
    ["arguments in a list", { ...line, call: { name: "ship", arguments: [] } }, missing("`call`")],
    ["no asks", { ...line, asks: undefined }, missing("`asks`")],
    ["an ask that is null", { ...line, asks: [ask, null] }, missing("`asks`")],
    ["an ask without a key", { ...line, asks: [{ ...ask, key: 1 }] }, missing("`asks`")],
    ["an ask without a request", { ...line, asks: [{ ...ask, request: "form" }] }, missing("`asks`")],
    ["an ask without its place among settlements", { ...line, asks: [{ ...ask, calledAt: undefined }] }, missing("`asks`")],
    ["an ask whose place has more before it", { ...line, asks: [{ ...ask, calledAt: "x0" }] }, missing("`asks`")],
    ["an ask whose place has more behind it", { ...line, asks: [{ ...ask, calledAt: "0x" }] }, missing("`asks`")],
    ["events that are not a list", { ...line, events: {} }, missing("`events`")],
    ["an event that is invalid", { ...line, events: [{}] }, missing("`events`")],
    ["calls that are not a list", { ...line, calls: {} }, missing("`calls`")],
    ["a call that is invalid", { ...line, calls: [{}] }, missing("`calls`")],
    ["no journal", { ...line, journal: undefined }, missing("`journal`")],
    ["an entry of no kind", { ...line, journal: { a: entry } }, missing("`journal`")],
    ["one entry of no kind", { ...line, journal: { "step:a": entry, b: entry } }, missing("`journal`")],
    ["an entry that is null", { ...line, journal: { "step:a": null } }, missing("`journal`")],
    ["an entry without an outcome", { ...line, journal: { "step:a": { ...entry, outcome: undefined } } }, missing("`journal`")],
    ["an entry without its place among settlements", { ...line, journal: { "step:a": { ...entry, calledAt: "" } } }, missing("`journal`")],
    ["an entry in place 0", { ...line, journal: { "step:a": { ...entry, place: 0 } } }, missing("`journal`")],
    ["an entry in half a place", { ...line, journal: { "step:a": { ...entry, place: 1.5 } } }, missing("`journal`")],
    ["an entry in a place that is a text", { ...line, journal: { "step:a": { ...entry, place: "1" } } }, missing("`journal`")],
    ["no time", { ...line, atMs: undefined }, missing("`atMs` or `generation`")],
    ["no generation", { ...line, generation: "0" }, missing("`atMs` or `generation`")],
  ])("is refused with %s", (_what, task, problem) => {
    expect(() => readRecordedTask(JSON.stringify(task))).toThrow(new Error(problem));
  });

  test("is refused if it is truncated", () => {
    expect(() => readRecordedTask(JSON.stringify(line).slice(0, -1))).toThrow(new Error("is not JSON: the line was changed, or cut off"));
  });
});

describe("a placeholder", () => {
  test.each([
    ["2026-12-24", "2000-01-01"],
    ["2026-12-24T19:30Z", "2000-01-01T00:00:00Z"],
    ["2026-12-24T19:30:00+01:00", "2000-01-01T00:00:00Z"],
    ["2026-12-24T19:30:00.123-01:00", "2000-01-01T00:00:00Z"],
    ["19:30", "12:00"],
    ["19:30:59", "12:00:00"],
    ["0b87E0a4-7a5b-4a80-9d1f-0123456789AB", "00000000-0000-4000-8000-000000000000"],
    ["ada@love.lace.org", "redacted@example.com"],
    ["http://x.example", "https://example.com/"],
    ["https://x.example/a?b", "https://example.com/"],
    ["on 2026-12-24", "xx 1111-11-11"],
    ["2026-12-24 or later", "1111-11-11 xx xxxxx"],
    ["on 2026-12-24T19:30Z", "xx 1111-11-11X11:11X"],
    ["2026-12-24T19:30Z!", "1111-11-11X11:11X!"],
    ["at 19:30", "xx 11:11"],
    ["19:30 h", "11:11 x"],
    ["at 19:30:59", "xx 11:11:11"],
    ["19:30:59 h", "11:11:11 x"],
    ["to ada@lovelace.org", "xx xxx@xxxxxxxx.xxx"],
    ["ada@lovelace.org, too", "xxx@xxxxxxxx.xxx, xxx"],
    ["at https://x.example", "xx xxxxx://x.xxxxxxx"],
    ["https://x.example it is", "xxxxx://x.xxxxxxx xx xx"],
    ["Ünïcode X 42½", "Xxxxxxx X 111"],
    ["", ""],
    [true, true],
    [false, false],
    [null, null],
    [
      ["a", { b: "cd", c: [1, ""] }],
      ["x", { b: "xx", c: [1, ""] }],
    ],
    [0, 0],
    [7, 1],
    [-7, -1],
    [0.25, 0.5],
    [-2.5, -0.5],
  ])("for %j is %j", (value, placeholder) => {
    expect(redactJson(value, { withContent: false, fields: [] })).toStrictEqual(placeholder);
  });
});

describe("an exported task", () => {
  const opened = { calledAt: "0", digest: "digest", askedAtMs: 1, deadlineMs: 2, onTimeout: "decline" } as const;
  const form = { type: "form", message: "Ship it?", schema: { type: "object", properties: { a: { type: "string" } } } } as const;
  const asks = [
    { ...opened, key: "form", request: form, audience: { to: { people: ["ada"] } } },
    { ...opened, key: "page", request: { type: "url", message: "Pay?", url: "https://pay.example/1" } },
    { ...opened, key: "model", request: { type: "sampling", params: { maxTokens: 1 } } },
    { ...opened, key: "roots", request: { type: "roots" } },
    { ...opened, key: "child:ask", request: form, route: { taskId: "0-y", key: "ask" } },
  ] as unknown as Ask[];
  const events = [{ ...opened, key: "event:paid", request: { type: "event", schema: { type: "number" } } }];
  const calls = [{ ...opened, key: "call:hotel", request: { type: "call", tool: "hotel" } }];
  const entries = {
    "step:value": { type: "value", value: "Graz" },
    "step:nothing": { type: "value" },
    "step:failed": { type: "error", message: "Full", name: "Error" },
    "step:begun": { type: "begun" },
    "ask:accepted": { type: "answer", answer: { action: "accept", content: { city: "Graz" } } },
    "ask:agreed": { type: "answer", answer: { action: "accept" } },
    "ask:declined": { type: "answer", answer: { action: "decline" } },
    "ask:model": { type: "answer", answer: { action: "reply", result: { text: "Graz" } } },
    "ask:call:hotel": { type: "value", value: "Graz" },
    "ask:closed": { type: "closed" },
    "ask:withdrawn": { type: "withdrawn" },
    "ask:cancelled": { type: "cancelled" },
    "now:now": { type: "value", value: 1_234 },
  };
  const task = {
    id: "0-x",
    status: "input_required",
    generation: 1,
    run: 2,
    revision: 3,
    call: {
      kind: "tool",
      name: "ship",
      version: "1",
      principal: "ada",
      caller: { name: "Ada Lovelace", email: "ada@acme.io", subject: "7f3a" },
      tenant: "acme",
      capabilities: { roots: true },
      createdAtMs: 5,
      arguments: { order: "Books" },
      replies: { a: "Yes" },
      seed: "seed",
    },
    asks,
    events,
    calls,
  } as unknown as TaskAtWork;
  const journal: Journal = new Map(
    Object.entries(entries).map(([key, outcome]) => [key, { digest: "digest", calledAt: "0", outcome } as unknown as Entry]),
  );
  const exported = (withContent: boolean, { isSealed = false, fields = [] as string[], of = task } = {}) =>
    toRecordedTask({ task: of, journal }, { atMs: 9, redaction: { withContent, fields }, isSealed });
  const shared = { format: 1, taskId: "0-x", atMs: 9, status: "input_required", generation: 1, run: 2 };
  const call = { kind: "tool", name: "ship", version: "1", capabilities: { roots: true }, createdAtMs: 5 };

  test("has its content if that is allowed, and its children's questions belong to the children", () => {
    expect(exported(true)).toStrictEqual({
      ...shared,
      call: {
        ...call,
        principal: "ada",
        caller: { name: "Ada Lovelace", email: "ada@acme.io", subject: "7f3a" },
        tenant: "acme",
        arguments: { order: "Books" },
        replies: { a: "Yes" },
        seed: "seed",
      },
      asks: asks.slice(0, -1),
      events,
      calls,
      journal: Object.fromEntries(journal),
      isRedacted: false,
      isSealed: false,
    });
  });

  test("has what schemas made of answers if it has the answers", () => {
    const outcome = { type: "value", value: { city: "Graz" } } as const;
    const read = new Map([...journal, [readingKey("accepted"), { digest: "", calledAt: "0", outcome }]]);
    const left = (withContent: boolean, fields: string[] = []) =>
      toRecordedTask({ task, journal: read }, { atMs: 9, redaction: { withContent, fields }, isSealed: false }).journal;
    expect(left(true)).toStrictEqual(Object.fromEntries(read));
    expect(left(true, ["city"])["read accepted"]?.outcome).toStrictEqual({ type: "value", value: { city: "Xxxx" } });
    expect(left(false)).not.toHaveProperty("read accepted");
    expect(
      readRecordedTask(
        JSON.stringify(toRecordedTask({ task, journal: read }, { atMs: 9, redaction: { withContent: true, fields: [] }, isSealed: false })),
      ),
    ).toHaveProperty("journal");
  });

  test("says who answered, by a placeholder if it has no content", () => {
    const accepted = [
      { by: "u_Ada7", person: "u_Ada7", delegatedBy: { by: "u_Bob1", name: "Bob" }, content: { city: "Graz" }, atMs: 3 },
      { content: { city: "Linz" }, atMs: 4 },
    ];
    const given = { name: "Ada", atMs: 4, delegatedBy: { by: "u_Bob1", person: "u_Bob2", name: "Bob" } };
    const outcome = { type: "answer", by: "u_Ada7", answer: { action: "accept", content: { city: "Linz" } }, accepted, given } as const;
    const of = new Map([["ask:both", { digest: "d", calledAt: "0", place: 1, outcome }]]);
    const left = (withContent: boolean) =>
      toRecordedTask({ task, journal: of }, { atMs: 9, redaction: { withContent, fields: [] }, isSealed: false }).journal["ask:both"]
        ?.outcome;
    expect(left(true)).toStrictEqual(outcome);
    expect(left(false)).toMatchObject({
      by: "x_Xxx1",
      accepted: [{ by: "x_Xxx1", delegatedBy: { by: "x_Xxx1", name: "Xxx" }, content: { city: "Xxxx" }, atMs: 3 }, { atMs: 4 }],
      given: { name: "Xxx", atMs: 4, delegatedBy: { by: "x_Xxx1", person: "x_Xxx1", name: "Xxx" } },
    });
  });

  test("says why a person declined only if it has the content", () => {
    const outcome = { type: "answer", answer: { action: "decline", reason: "Graz is far" } } as const;
    const of = new Map([["ask:trip", { digest: "d", calledAt: "0", place: 1, outcome }]]);
    const left = (withContent: boolean) =>
      toRecordedTask({ task, journal: of }, { atMs: 9, redaction: { withContent, fields: [] }, isSealed: false }).journal["ask:trip"]
        ?.outcome;
    expect(left(true)).toStrictEqual(outcome);
    expect(left(false)).toStrictEqual({ type: "answer", answer: { action: "decline", reason: "Xxxx xx xxx" } });
  });

  test("otherwise has placeholders, except for what the engine recorded for itself", () => {
    const cancelled = { ...opened, onTimeout: "cancel" };
    expect(exported(false)).toStrictEqual({
      ...shared,
      call: {
        ...call,
        principal: "redacted",
        caller: { name: "Xxx Xxxxxxxx", email: "redacted@example.com", subject: "1x1x" },
        arguments: { order: "Xxxxx" },
        replies: { a: "Xxx" },
      },
      asks: [
        { ...cancelled, key: "form", request: { type: "form", message: "Xxxx xx?", schema: { type: "object", properties: {} } } },
        { ...cancelled, key: "page", request: { type: "url", message: "Xxx?", url: "https://example.com/" } },
        { ...cancelled, key: "model", request: { type: "sampling", params: {} } },
        { ...cancelled, key: "roots", request: { type: "roots" } },
      ],
      events: [{ ...cancelled, key: "event:paid", request: { type: "event", schema: {} } }],
      calls,
      journal: Object.fromEntries(
        Object.entries({
          ...entries,
          "step:value": { type: "value", value: "Xxxx" },
          "step:failed": { type: "error", message: "Xxxx", name: "Error" },
          "ask:accepted": { type: "answer", answer: { action: "accept", content: { city: "Xxxx" } } },
          "ask:model": { type: "answer", answer: { action: "reply", result: { text: "Xxxx" } } },
          "ask:call:hotel": { type: "value", value: "Xxxx" },
        }).map(([key, outcome]) => [key, { digest: "digest", calledAt: "0", outcome }]),
      ),
      isRedacted: true,
      isSealed: false,
    });
  });

  test("keeps its content except for the named members, and says so", () => {
    const { journal: kept, call: facts, isRedacted } = exported(true, { fields: ["city", "order"] });
    expect([kept["ask:accepted"]?.outcome, kept["step:value"]?.outcome, facts.arguments, isRedacted]).toStrictEqual([
      { type: "answer", answer: { action: "accept", content: { city: "Xxxx" } } },
      entries["step:value"],
      { order: "Xxxxx" },
      true,
    ]);
  });

  test("has digests of its own if it was sealed: for open requests, and for children", () => {
    const digests = (withContent: boolean) => {
      const { asks: open, events: awaited = [], journal: sealed, isSealed } = exported(withContent, { isSealed: true });
      return [[...open, ...awaited].map(({ digest }) => digest), sealed["step:value"]?.digest, sealed["ask:call:hotel"]?.digest, isSealed];
    };
    const own = expect.stringMatching(/^[\w-]{22}$/);
    expect(digests(true)).toStrictEqual([[own, own, own, own, own], "", "digest", true]);
    expect(digests(false)).toStrictEqual([["", "", "", "", ""], "", "digest", true]);
  });

  test("lacks what its task lacks", () => {
    const {
      version: _version,
      replies: _replies,
      tenant: _tenant,
      caller: _caller,
      ...facts
    } = task.call as unknown as Record<string, unknown>;
    const { events: _events, calls: _calls, ...plain } = task as unknown as Record<string, unknown>;
    const bare = exported(true, { of: { ...plain, call: facts } as unknown as TaskAtWork });
    expect(Object.keys(bare)).not.toEqual(expect.arrayContaining(["events"]));
    expect(Object.keys(bare)).not.toEqual(expect.arrayContaining(["calls"]));
    expect(Object.keys(bare.call).toSorted()).toStrictEqual(
      ["arguments", "capabilities", "createdAtMs", "kind", "name", "principal", "seed"].toSorted(),
    );
  });
});
