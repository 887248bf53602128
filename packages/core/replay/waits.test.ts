/** Asks and sleeps: how they are asked, what wakes the task, and what the handler withdraws. */
import { getEventListeners } from "node:events";
import { systemClock } from "@parley/node";
import { describe, expect, test } from "vitest";
import type { Answerers, Effects } from "../effects.ts";
import type { ParleyError } from "../errors.ts";
import { createHandClock } from "../hand-clock.fixture.ts";
import { type Given, readingKey } from "../journal.ts";
import { accept, askKeys, form, subject } from "../replay.fixture.ts";
import type { Settings } from "../settings.ts";
import type { Acceptance, Answer, AskAbout, AskRequest, EventRequest, JsonObject, RequiredAssurance } from "../task.ts";

const HOUR = 3_600_000;
const SAMPLING: AskRequest = { type: "sampling", params: { messages: [], maxTokens: 1 } };
const SAMPLING_WITH_TOOLS: AskRequest = { type: "sampling", params: { messages: [], maxTokens: 1, tools: [] } };
/** The recorded end of a sleep. */
function endOf({ journal }: ReturnType<typeof subject>, id: string): number {
  const outcome = journal.get(id)?.outcome;
  return outcome?.type === "value" ? Number(outcome.value) : Number.NaN;
}
const needing = (assurance: RequiredAssurance): AskRequest => ({ ...form("?"), about: { assurance } }) as AskRequest;
const until = async (isSo: () => boolean) => {
  while (!isSo()) await systemClock.sleep(1);
};

describe("an ask", () => {
  test("is asked with its deadline and its policy, and stays as it was asked in every later run", async () => {
    const settings = { askTimeoutMs: 2 * HOUR, askTimeoutMaxMs: 10 * HOUR };
    const task = subject(async ({ ask }) => {
      await Promise.all([
        ask("plain", form("?")),
        ask("short", form("?"), { timeoutMs: HOUR, onTimeout: "decline" }),
        ask("long", form("?"), { timeoutMs: 10 * HOUR, onTimeout: { default: { n: 1 } } }),
      ]);
      return {};
    }, settings);
    const first = await task.run();
    if (first.type !== "parked") throw new Error(first.type);
    expect(first.asks.map(({ key, onTimeout, askedAtMs, deadlineMs }) => [key, onTimeout, deadlineMs - askedAtMs])).toStrictEqual([
      ["plain", "cancel", 2 * HOUR],
      ["short", "decline", HOUR],
      ["long", { default: { n: 1 } }, 10 * HOUR],
    ]);
    task.skip(HOUR / 2);
    expect(await task.run()).toStrictEqual(first);
  });

  test("names its audience, an event has none; an event is written before the next side effect", async () => {
    const audience = { to: "tenant" } as const;
    const known: string[][] = [];
    const task = subject(async ({ ask, event, step }) => {
      const asked = [ask("mine", form("?")), ask("theirs", form("?"), { audience }), event("paid", { type: "event", schema: {} }).answer];
      await step("hand-over", () => void known.push([...task.open.keys()]));
      await Promise.all(asked);
      return {};
    });
    const end = await task.run();
    if (end.type !== "parked") throw new Error(end.type);
    expect(end.asks.map((ask) => [ask.key, "audience" in ask ? ask.audience : "none"]).toSorted()).toStrictEqual([
      ["event:paid", "none"],
      ["mine", "none"],
      ["theirs", audience],
    ]);
    expect(known).toStrictEqual([["event:paid"]]);
  });

  test("with too long a timeout is refused, unless it is already open", async () => {
    const settings = { askTimeoutMaxMs: 10 * HOUR };
    const long = async ({ ask }: Effects) => ({ ...(await ask("long", form("?"), { timeoutMs: 10 * HOUR + 1 })) });
    expect(await subject(long, settings).run()).toMatchObject({
      type: "threw",
      error: {
        code: "INVALID_ASK",
        message: 'the ask "long" is invalid: /timeout is 36000001 ms; the maximum is 36000000 (PARLEY_ASK_TIMEOUT_MAX)',
        violations: [{ path: "/timeout", message: "is 36000001 ms; the maximum is 36000000 (PARLEY_ASK_TIMEOUT_MAX)" }],
      },
    });
    const settled = { askTimeoutMaxMs: 11 * HOUR };
    const waiting = subject(long, settled);
    expect(askKeys(await waiting.run())).toStrictEqual(["long"]);
    settled.askTimeoutMaxMs = 10 * HOUR;
    expect(askKeys(await waiting.run())).toStrictEqual(["long"]);
  });

  test("uses its default only if no answer can be had", async () => {
    const task = subject(async ({ ask }) => ({ ...(await ask("size", form("?"), { onTimeout: { default: { n: 2 } } })) }), {
      withoutCapability: "default",
    });
    await task.run();
    task.answer("size", accept(7));
    expect(await task.run()).toMatchObject({ type: "returned", result: { action: "accept", content: { n: 7 } } });
  });

  test("that times out is cancelled, unless its options say otherwise", async () => {
    const task = subject(async ({ ask }) => ({ ...(await ask("size", form("?"))) }));
    await task.run();
    task.answer("size", { action: "timeout" });
    expect(await task.run()).toMatchObject({ type: "returned", result: { action: "timeout" } });
  });

  const unanswerable: [string, AskRequest, object, Partial<Settings>, "asked" | "unavailable"][] = [
    ["needs a model, which its client has not", SAMPLING, {}, {}, "unavailable"],
    [
      "needs a model with tools, which its client has not",
      SAMPLING_WITH_TOOLS,
      { capabilities: { sampling: { tools: false } } },
      {},
      "unavailable",
    ],
    ["needs folders, which its client has not", { type: "roots" }, {}, {}, "unavailable"],
    ["needs a model, which the client of its parent has not", SAMPLING, { hidden: true, parent: {} }, {}, "unavailable"],
    ["needs a model, which its client has", SAMPLING, { capabilities: { sampling: { tools: false } } }, {}, "asked"],
    ["needs a model, and whose client waits for its call", SAMPLING, { hidden: true }, {}, "asked"],
    ["is a form that its client cannot show", form("?"), {}, {}, "asked"],
    [
      "is a form that its client cannot show, in a deployment where such a task ends",
      form("?"),
      {},
      { taskWithoutCapability: "end" },
      "unavailable",
    ],
    [
      "is a form that its client can show, there",
      form("?"),
      { capabilities: { elicitation: { form: true, url: false } } },
      { taskWithoutCapability: "end" },
      "asked",
    ],
    [
      "needs a login, which no client is needed for, there",
      needing({ by: "login" }),
      { principal: "alice" },
      { taskWithoutCapability: "end" },
      "asked",
    ],
    [
      "needs a client, and is a form that it cannot show, there",
      needing({ by: "token" }),
      { principal: "alice" },
      { taskWithoutCapability: "end" },
      "unavailable",
    ],
    [
      "is a form, of a client that shows pages and is sent to its page, there",
      form("?"),
      { capabilities: { elicitation: { form: false, url: true } } },
      { taskWithoutCapability: "end" },
      "asked",
    ],
    ["is a form, of a client that waits for its call, there", form("?"), { hidden: true }, { taskWithoutCapability: "end" }, "asked"],
  ];
  test.each(unanswerable)("that %s: %j, %j, %j", async (_, request, facts, settings, becomes) => {
    const handler = async ({ ask }: Effects) => ({ ...(await ask("q", request)) });
    const task = subject(handler, settings);
    task.called(facts);
    const end = await task.run();
    if (becomes === "asked") return expect(askKeys(end)).toStrictEqual(["q"]);
    expect(end).toMatchObject({ type: "returned", result: { action: "unavailable" } });
    // It is recorded: the next run takes the same way, whatever the settings are then.
    expect(await task.run()).toMatchObject({ type: "returned", result: { action: "unavailable" }, entries: [] });
  });

  test("that nobody can be asked but its audience, waits for the audience in every deployment", async () => {
    const task = subject(async ({ ask }) => ({ ...(await ask("q", form("?"), { audience: { to: "tenant" } })) }), {
      taskWithoutCapability: "end",
    });
    expect(askKeys(await task.run())).toStrictEqual(["q"]);
  });

  test("that its client cannot answer takes its default at once, where the deployment wants that", async () => {
    const settings = { taskWithoutCapability: "end", withoutCapability: "default" } as const;
    const task = subject(async ({ ask }) => ({ ...(await ask("q", form("?"), { onTimeout: { default: { n: 2 } } })) }), settings);
    expect(await task.run()).toMatchObject({ type: "returned", result: { action: "accept", content: { n: 2 } } });
  });

  test.each<[string, Answer, AskRequest, boolean]>([
    ["is answered by an early reply", { action: "decline" }, form("?"), true],
    ["with a link is answered by an early consent", { action: "accept" }, { type: "url", message: "?", url: "https://a.test/" }, true],
    ["with a page is declined early", { action: "decline" }, { type: "url", message: "?", url: "", page: { kind: "secret" } }, true],
    ["that needs a login is answered by no early reply", { action: "accept", content: { n: 1 } }, needing({ by: "login" }), false],
    ["that needs a client is answered by no early reply", { action: "decline" }, needing({ by: "token" }), false],
    ["with a page is not completed early", { action: "accept" }, { type: "url", message: "?", url: "", page: { kind: "secret" } }, false],
  ])("%s (%j)", async (_, reply, request, isTaken) => {
    const task = subject(async ({ ask }) => ({ ...(await ask("size", request)) }), {}, { size: { ...reply } });
    task.called({ principal: "alice" });
    const end = await task.run();
    if (isTaken) expect(end).toMatchObject({ type: "returned", result: reply });
    else expect(askKeys(end)).toStrictEqual(["size"]);
    // The next run finds the reply in the journal, and takes it once.
    if (isTaken) expect(await task.run()).toMatchObject({ type: "returned", result: reply, entries: [] });
    expect([...task.journal].map(([id, { place }]) => [id, place])).toStrictEqual(isTaken ? [["ask:size", 1]] : []);
  });

  test("is recorded as it was given, although the handler changes what it received", async () => {
    const tags: AskRequest = { type: "form", message: "?", schema: { type: "object", properties: { tags: {} } } };
    const task = subject(
      async ({ ask }) => {
        const { content } = (await ask("tags", tags)) as unknown as { readonly content: { readonly tags: string[] } };
        content.tags.push("seen");
        return { ...content };
      },
      {},
      { tags: { action: "accept", content: { tags: ["new"] } } },
    );
    const changed = { type: "returned", result: { tags: ["new", "seen"] } };
    expect(await task.run()).toMatchObject(changed);
    expect(await task.run()).toMatchObject(changed);
  });

  test("for an event is not answered by an early reply", async () => {
    const request: EventRequest = { type: "event", schema: {} };
    const task = subject(async ({ event }) => ({ ...(await event("paid", request).answer) }), {}, { "event:paid": { action: "decline" } });
    expect(askKeys(await task.run())).toStrictEqual(["event:paid"]);
  });

  test("counts as the entry that it will be, and so does a call, whose child is not even made beyond the limit", async () => {
    const fullAt = (entries: number) => `the journal is full: ${entries} entries (PARLEY_JOURNAL_ENTRIES_MAX)`;
    const two = async ({ ask }: Effects) => {
      await Promise.all([ask("a", form("?")), ask("b", form("?"))]);
      return {};
    };
    expect(askKeys(await subject(two, { journalEntriesMax: 2 }).run())).toStrictEqual(["a", "b"]);
    expect(await subject(two, { journalEntriesMax: 1 }).run()).toMatchObject({
      type: "threw",
      error: { code: "JOURNAL_FULL", message: fullAt(1) },
    });

    const calling = async ({ callTool, step }: Effects) => {
      await step("one", () => 1);
      await Promise.all(["a", "b"].map((name) => callTool(name, { tool: "child", arguments: {} })));
      return {};
    };
    const started: string[] = [];
    for (const [journalEntriesMax, keys] of [
      [3, ["call:a", "call:b"]],
      [2, undefined],
    ] as const) {
      const task = subject(calling, { journalEntriesMax });
      task.wire({ startChild: async ({ key }) => void started.push(key) });
      const end = await task.run();
      if (keys) expect(askKeys(end)).toStrictEqual(keys);
      else expect(end).toMatchObject({ type: "threw", error: { message: fullAt(2) } });
      expect(started.splice(0)).toStrictEqual(keys ?? []);
    }
  });

  test("is one of the questions that are open at once, which calls of tools are not", async () => {
    const task = subject(
      async ({ ask, callTool, step }) => {
        const calls = ["a", "b"].map((name) => callTool(name, { tool: "child", arguments: {} }));
        await step("wait", () => until(() => task.open.size === 2));
        await Promise.all([...calls, ask("c", form("?"))]);
        return {};
      },
      { openAsksMax: 1 },
    );
    expect(askKeys(await task.run())).toStrictEqual(["call:a", "call:b", "c"]);
  });

  test("that the deployment forbids is refused when it is first asked", async () => {
    const secret: AskRequest = { type: "form", message: "?", schema: { type: "object", properties: { password: { type: "string" } } } };
    const task = subject(async ({ ask }) => ({ ...(await ask("login", secret)) }));
    expect(await task.run()).toMatchObject({ type: "threw", error: { code: "INVALID_ASK" } });
  });

  test("of a later generation is not answered by an early reply, under any name", async () => {
    const reply = { action: "accept", content: { n: 1 } };
    const task = subject(
      async ({ ask, restart }) => {
        await ask("size", form("?"));
        return await restart({});
      },
      {},
      { size: reply, "size@1": reply },
    );
    expect(await task.run()).toMatchObject({ type: "restarted" });
    expect(askKeys(await task.run())).toStrictEqual(["size@1"]);
  });

  test("that cannot be asked, has changed, or times out says which, and what to look at", async () => {
    const errorOf = async (run: Promise<unknown>) => (await run) as { error?: ParleyError };
    const messageOf = async (run: Promise<unknown>) => (await errorOf(run)).error?.message;
    const both = async ({ ask }: Effects) => {
      await Promise.all([ask("a", form("?")), ask("b", form("?"), { onTimeout: "fail" })]);
      return {};
    };
    expect(await errorOf(subject(both, { openAsksMax: 1 }).run())).toMatchObject({
      error: { code: "JOURNAL_FULL", message: "more than 1 questions are open at once (PARLEY_OPEN_ASKS_MAX)" },
    });

    const late = subject(both);
    await late.run();
    late.answer("b", { action: "timeout" });
    expect(await messageOf(late.run())).toBe("ask:b was not answered in time");

    const changed = subject(both);
    await changed.run();
    changed.deploy(async ({ ask }) => ({ ...(await ask("a", form("!"))) }));
    expect(await messageOf(changed.run())).toMatch(
      /^replay diverged in tool subject: recorded ask:a with digest \S{22}, found ask:a with digest \S{22}$/,
    );
  });

  const told = (about: AskAbout) => ({ ...form("?"), about }) as AskRequest;

  test("keeps its identity when changed code says that it is more urgent, and not when it shows something else", async () => {
    const task = subject(async ({ ask }) => ({ ...(await ask("a", told({ dueMs: 1_000 }))) }));
    await task.run();
    task.deploy(async ({ ask }) => ({ ...(await ask("a", told({ priority: "high" }))) }));
    expect(askKeys(await task.run())).toStrictEqual(["a"]);
    const context = [{ type: "text", text: "40" }] as const;
    task.deploy(async ({ ask }) => ({ ...(await ask("a", told({ context }))) }));
    expect(await task.run()).toMatchObject({ type: "diverged" });
  });
});

describe("what is no policy for the deadline", () => {
  const SETTLES = 'must be "cancel", "decline", "fail" or { default: { … } }';
  const page: AskRequest = { type: "url", message: "?", url: "https://shop.example" };

  test.each([
    ["a word", form("?"), "reject", SETTLES],
    ["an object without a default", form("?"), { defualt: { n: 1 } }, SETTLES],
    ["a default of a page, where nobody has been", page, { default: {} }, 'must be "cancel", "decline" or "fail"'],
    ["null", page, null, 'must be "cancel", "decline" or "fail"'],
  ])("is refused: %s", async (_, request, onTimeout, message) => {
    const task = subject(async ({ ask }) => ({ ...(await ask("size", request, { onTimeout: onTimeout as never })) }));
    expect(await task.run()).toMatchObject({
      type: "threw",
      error: {
        code: "INVALID_ASK",
        message: `the ask "size" is invalid: /onTimeout ${message}`,
        violations: [{ path: "/onTimeout", message }],
      },
    });
  });

  test("is no answer to a question that was asked before this was checked", async () => {
    const task = subject(async ({ ask }) => ({ ...(await ask("size", form("?"))) }));
    await task.run();
    task.deploy(async ({ ask }) => ({ ...(await ask("size", form("?"), { onTimeout: "reject" as never })) }));
    task.answer("size", { action: "timeout" });
    expect(await task.run()).toMatchObject({ type: "returned", result: { action: "timeout" } });
  });
});

describe("an assurance", () => {
  test.each(["token", "login"] as const)("of a %s is refused where callers are not told apart: nobody could ever answer", async (by) => {
    const message = "needs callers with an identity; without PARLEY_AUTH=required nobody logs in";
    const task = subject(async ({ ask }) => ({ ...(await ask("approve", needing({ by }))) }));
    task.called({ principal: "anonymous" });
    expect(await task.run()).toMatchObject({
      type: "threw",
      error: { code: "INVALID_ASK", violations: [{ path: "/assurance", message }] },
    });
  });

  test("is part of the question: code that needs more does not take an answer that was given for less", async () => {
    const task = subject(async ({ ask }) => ({ ...(await ask("approve", form("?"))) }));
    task.called({ principal: "alice" });
    await task.run();
    task.deploy(async ({ ask }) => ({ ...(await ask("approve", needing({ by: "login" }))) }));
    task.answer("approve", accept(1));
    expect(await task.run()).toMatchObject({ type: "diverged" });
  });
});

describe("a quorum", () => {
  const audience = { to: "tenant", quorum: 2 } as const;
  const approve =
    (quorum: number) =>
    async ({ ask }: Effects) => ({ ...(await ask("approve", form("?"), { audience: { to: "tenant", quorum } })) });

  test.each([
    ["/quorum", "anonymous", "cancel", "needs callers with an identity; without PARLEY_AUTH=required every caller is the same"],
    ["/onTimeout", "alice", { default: { n: 1 } }, "must not be a default, which would count people who have not accepted"],
  ] as const)("with a wrong %s is refused", async (path, principal, onTimeout, message) => {
    const task = subject(async ({ ask }) => ({ ...(await ask("approve", form("?"), { audience, onTimeout })) }));
    task.called({ principal });
    expect(await task.run()).toMatchObject({
      type: "threw",
      error: { code: "INVALID_ASK", message: `the ask "approve" is invalid: ${path} ${message}`, violations: [{ path, message }] },
    });
  });

  test.each(["decline", "fail", "cancel"] as const)("may end by the policy %j", async (onTimeout) => {
    const task = subject(async ({ ask }) => ({ ...(await ask("approve", form("?"), { audience, onTimeout })) }));
    task.called({ principal: "alice" });
    expect(askKeys(await task.run())).toStrictEqual(["approve"]);
  });

  test("is part of the question: code that needs more people does not take the approval of fewer", async () => {
    const task = subject(approve(1));
    task.called({ principal: "alice" });
    await task.run();
    task.deploy(approve(2));
    expect(await task.run()).toMatchObject({ type: "diverged" });
    const plain = subject(async ({ ask }) => ({ ...(await ask("approve", form("?"))) }));
    await plain.run();
    expect(plain.open.get("approve")?.digest).not.toBe(task.open.get("approve")?.digest);
  });
});

describe("the people who answered", () => {
  const acceptances: readonly Acceptance[] = [
    { by: "bob", content: { n: 1 }, atMs: 1 },
    { name: "Alice", content: { n: 2 }, atMs: 2 },
  ];
  const people = [{ principal: "bob" }, { principal: "alice", name: "Alice" }];
  const asking =
    (seen: (Answerers | undefined)[]) =>
    async ({ ask, answeredBy }: Effects) => {
      const { accepted = [] } = await ask("size", form("?"));
      seen.push(answeredBy("size"));
      return { accepted: accepted.length };
    };

  /** What the handler sees of an answer that the store recorded in this way. */
  async function seenOf(
    answer: Answer,
    recorded: { readonly by?: string; readonly accepted?: readonly Acceptance[]; readonly given?: Given } = {},
  ) {
    const seen: (Answerers | undefined)[] = [];
    const task = subject(asking(seen));
    task.called({ principal: "alice" });
    await task.run();
    task.answer("size", answer);
    const entry = task.journal.get("ask:size");
    if (entry?.outcome.type !== "answer") throw new Error("not answered");
    task.journal.set("ask:size", { ...entry, outcome: { ...entry.outcome, ...recorded } });
    const end = await task.run();
    return [...seen, end.type === "returned" ? end.result : end];
  }

  test.each<[string, Answer]>([
    ["an answer", accept(1)],
    ["a refusal", { action: "decline" }],
    ["a dismissal", { action: "cancel" }],
  ])("of %s are its principal, or the owner of the task", async (_, answer) => {
    expect(await seenOf(answer)).toStrictEqual([{ principal: "alice" }, { accepted: 0 }]);
    expect(await seenOf(answer, { by: "bob" })).toStrictEqual([{ principal: "bob" }, { accepted: 0 }]);
  });

  test.each<[Answer]>([[{ action: "timeout" }], [{ action: "unavailable" }]])(
    "of %j are nobody, unless people had accepted by then",
    async (answer) => {
      expect(await seenOf(answer)).toStrictEqual([undefined, { accepted: 0 }]);
      expect(await seenOf(answer, { accepted: acceptances })).toStrictEqual([{ accepted: people }, { accepted: 2 }]);
    },
  );

  test("have the name and the time that were recorded, and the reason that they gave", async () => {
    const given = { name: "Bob", atMs: 7 };
    const bob = { principal: "bob", ...given };
    expect(await seenOf(accept(1), { by: "bob", given })).toStrictEqual([bob, { accepted: 0 }]);
    expect(await seenOf({ action: "decline", reason: "dear" }, { by: "bob", given })).toStrictEqual([
      { ...bob, reason: "dear" },
      { accepted: 0 },
    ]);
  });

  test("include everyone who had accepted", async () => {
    expect(await seenOf(accept(1), { by: "carol", accepted: acceptances })).toStrictEqual([
      { principal: "carol", accepted: people },
      { accepted: 2 },
    ]);
  });

  test("are nobody once the ask is withdrawn, although acceptances had arrived", async () => {
    const seen: unknown[] = [];
    const task = subject(async ({ ask, answeredBy }) => {
      const stop = new AbortController();
      const asked = ask("size", form("?"), { signal: stop.signal });
      await ask("first", form("?"));
      stop.abort();
      seen.push(await asked, answeredBy("size"));
      return {};
    });
    await task.run();
    task.answer("first", accept(1), 1);
    task.answer("size", accept(2), 2);
    const entry = task.journal.get("ask:size");
    if (entry?.outcome.type !== "answer") throw new Error("not answered");
    task.journal.set("ask:size", { ...entry, outcome: { ...entry.outcome, accepted: acceptances } });
    expect(await task.run()).toMatchObject({ type: "returned" });
    expect(seen).toStrictEqual([{ action: "withdrawn" }, undefined]);
  });

  test("are those of the last ask of the name, in its branch", async () => {
    const seen: unknown[] = [];
    const task = subject(async ({ ask, answeredBy, branch }) => {
      await ask("size", form("?"));
      seen.push(answeredBy("size")?.principal);
      await ask("size", form("?"));
      seen.push(answeredBy("size"));
      await branch("inner", async () => {
        seen.push(answeredBy("size"));
        await ask("size", form("?"));
        seen.push(answeredBy("size")?.principal);
      });
      seen.push(answeredBy("size"));
      return {};
    });
    task.called({ principal: "alice" });
    await task.run();
    task.answer("size", accept(1));
    await task.run();
    task.answer("size#2", { action: "timeout" });
    await task.run();
    task.answer("inner/size", accept(3));
    seen.length = 0;
    expect(await task.run()).toMatchObject({ type: "returned" });
    expect(seen).toStrictEqual(["alice", undefined, undefined, "alice", undefined]);
  });
});

describe("an event", () => {
  test("is written once, with the next write, and not at all if it was withdrawn by then", async () => {
    const written: string[][] = [];
    const task = subject(async ({ event, step }) => {
      const stop = new AbortController();
      const paid = event("paid", { type: "event", schema: {} });
      const given = event("given-up", { type: "event", schema: {} }, { signal: stop.signal });
      stop.abort();
      await step("one", () => 1);
      await step("two", () => 2);
      await Promise.all([paid.answer, given.answer]);
      return {};
    });
    task.wire({ record: async (_entries, events) => void written.push(events.map(({ key }) => key)) });
    expect(askKeys(await task.run())).toStrictEqual(["event:paid"]);
    expect(written).toStrictEqual([["event:paid"], [], []]);
  });

  test("has a reading of its own, under its own key", async () => {
    const task = subject(async ({ event, ask, readingOf }) => {
      const paid = event("paid", { type: "event", schema: {} });
      await paid.answer;
      paid.reading().keep({ of: "the event" }, false);
      await ask("paid", form("?"));
      readingOf("paid").keep({ of: "the ask" }, false);
      await ask("paid", form("?"));
      readingOf("paid").keep({ of: "the second ask" }, false);
      return {};
    });
    await task.run();
    for (const key of ["event:paid", "paid", "paid#2"]) {
      task.answer(key, accept(1));
      await task.run();
    }
    expect(["event:paid", "paid", "paid#2"].map((key) => task.journal.get(readingKey(key))?.outcome)).toStrictEqual([
      { type: "value", value: { of: "the event" } },
      { type: "value", value: { of: "the ask" } },
      { type: "value", value: { of: "the second ask" } },
    ]);
  });
});

describe("a call of another tool", () => {
  const calling =
    (args: { readonly n: number }, options = {}) =>
    async ({ callTool }: Effects) =>
      ({ ...(await callTool("sub", { tool: "child", arguments: args }, options)) }) as JsonObject;

  test("is open with its deadline, and stays as it was opened in every later run", async () => {
    const settings = { askTimeoutMs: HOUR, askTimeoutMaxMs: 10 * HOUR };
    const started: unknown[] = [];
    for (const [options, timeoutMs] of [
      [{}, 10 * HOUR],
      [{ timeoutMs: 2 * HOUR }, 2 * HOUR],
    ] as const) {
      const task = subject(calling({ n: 1 }, options), settings);
      task.stopClock();
      task.wire({ startChild: async (open) => void started.push(open) });
      const first = await task.run();
      if (first.type !== "parked") throw new Error(first.type);
      const [open] = first.asks;
      expect(first.asks).toStrictEqual([
        {
          key: "call:sub",
          digest: expect.stringMatching(/^\S+$/),
          calledAt: "0",
          askedAtMs: open?.askedAtMs,
          deadlineMs: (open?.askedAtMs ?? 0) + timeoutMs,
          onTimeout: "cancel",
          request: { type: "call", tool: "child" },
        },
      ]);
      expect(started.splice(0)).toStrictEqual([open]);
      task.skip(HOUR);
      expect(await task.run()).toStrictEqual(first);
      expect(started).toStrictEqual([]);
    }
  });

  test("returns the result of its child, in this run and in every later one", async () => {
    const task = subject(calling({ n: 1 }));
    await task.run();
    task.answer("call:sub", { action: "accept", content: { result: { done: true } } });
    const returned = { type: "returned", result: { type: "result", result: { done: true } } };
    expect(await task.run()).toMatchObject(returned);
    expect(await task.run()).toMatchObject({ ...returned, entries: [] });
  });

  test("with other arguments than before is a divergence that names the tool", async () => {
    const task = subject(calling({ n: 1 }));
    await task.run();
    const before = task.open.get("call:sub")?.digest;
    task.deploy(calling({ n: 2 }));
    const changed = await task.run();
    expect(changed.type).toBe("diverged");
    expect(changed).toMatchObject({
      error: {
        data: {
          recorded: `ask:call:sub with digest ${before}`,
          found: expect.stringMatching(/^ask:call:sub with digest \S+, of child$/),
        },
      },
    });
    task.answer("call:sub", { action: "accept", content: { result: {} } });
    expect((await task.run()).type).toBe("diverged");
  });

  test("with too long a timeout is refused, unless it is already open", async () => {
    const settings = { askTimeoutMaxMs: 10 * HOUR };
    const long = calling({ n: 1 }, { timeoutMs: 10 * HOUR + 1 });
    const message = "is 36000001 ms; the maximum is 36000000 (PARLEY_ASK_TIMEOUT_MAX)";
    expect(await subject(long, settings).run()).toMatchObject({
      type: "threw",
      error: { code: "INVALID_ASK", violations: [{ path: "/timeout", message }] },
    });
    const changing = { askTimeoutMaxMs: 11 * HOUR };
    const waiting = subject(long, changing);
    expect(askKeys(await waiting.run())).toStrictEqual(["call:sub"]);
    changing.askTimeoutMaxMs = 10 * HOUR;
    expect(askKeys(await waiting.run())).toStrictEqual(["call:sub"]);
  });

  test("that is withdrawn while its child is being made is not open afterwards, and makes room at once", async () => {
    const stop = new AbortController();
    const task = subject(
      async ({ ask, callTool }) => {
        const { type } = await callTool("sub", { tool: "child", arguments: {} }, { signal: stop.signal });
        await ask("last", form("?"));
        return { type };
      },
      // The withdrawn call and the question.
      { journalEntriesMax: 2 },
    );
    task.wire({
      async startChild() {
        stop.abort();
        await systemClock.sleep(5);
      },
    });
    expect(askKeys(await task.run())).toStrictEqual(["last"]);
  });

  test("that is withdrawn before its child exists creates none", async () => {
    const started: string[] = [];
    for (const isEarly of [true, false]) {
      const task = subject(async ({ callTool }) => {
        const stop = new AbortController();
        if (isEarly) stop.abort();
        const called = callTool("sub", { tool: "child", arguments: {} }, { signal: stop.signal });
        stop.abort();
        return { type: (await called).type };
      });
      task.wire({ startChild: async ({ key }) => void started.push(key) });
      expect(await task.run()).toMatchObject({ type: "returned", result: { type: "withdrawn" } });
      expect(started).toStrictEqual([]);
      expect([...task.journal].map(([id, { withdrawn, outcome, place }]) => [id, withdrawn, outcome, place])).toStrictEqual([
        ["ask:call:sub", true, { type: "withdrawn" }, 1],
      ]);
    }
  });
});

describe("a withdrawal", () => {
  test("by a signal that was aborted before opens nothing", async () => {
    const reason = new Error("no need");
    const task = subject(
      async ({ ask, sleep, event }) => {
        const signal = AbortSignal.abort(reason);
        const { action } = await ask("maybe", form("?"), { signal });
        const paid = await event("paid", { type: "event", schema: {} }, { signal }).answer;
        const slept = await sleep("nap", HOUR, { signal }).then(
          () => "slept",
          (error: Error) => error.message,
        );
        return { action, paid: paid.action, slept };
      },
      { openAsksMax: 0 },
    );
    const returned = { type: "returned", result: { action: "withdrawn", paid: "withdrawn", slept: "no need" } };
    expect(await task.run()).toMatchObject(returned);
    const withdrawn = { calledAt: "0", outcome: { type: "withdrawn" }, withdrawn: true };
    expect([...task.journal]).toMatchObject([
      ["ask:maybe", { ...withdrawn, place: 1 }],
      ["ask:event:paid", { ...withdrawn, calledAt: "1", place: 2 }],
      ["sleep:nap", { ...withdrawn, calledAt: "2", place: 3 }],
    ]);
    expect(await task.run()).toMatchObject({ ...returned, entries: [] });
  });

  test("makes room for another question at once", async () => {
    const task = subject(
      async ({ ask }) => {
        const stop = new AbortController();
        const first = ask("first", form("?"), { signal: stop.signal });
        stop.abort();
        await Promise.all([first, ask("second", form("?"))]);
        return {};
      },
      { openAsksMax: 1 },
    );
    expect(askKeys(await task.run())).toStrictEqual(["second"]);
  });

  test("that code no longer makes is a divergence", async () => {
    const asking =
      (isWithdrawing: boolean) =>
      async ({ ask }: Effects) => {
        const stop = new AbortController();
        const maybe = ask("maybe", form("?"), isWithdrawing ? { signal: stop.signal } : {});
        stop.abort();
        await maybe;
        await ask("last", form("?"));
        return {};
      };
    const task = subject(asking(true));
    expect(askKeys(await task.run())).toStrictEqual(["last"]);
    task.deploy(asking(false));
    task.answer("last", accept(1));
    expect(await task.run()).toMatchObject({
      type: "diverged",
      error: {
        code: "REPLAY_DIVERGED",
        message: "replay diverged in tool subject: recorded ask:last (not called again), found nothing new",
      },
    });
  });

  test("is impossible once the ask has settled, and its signal is free", async () => {
    const stop = new AbortController();
    const listeners: number[] = [];
    const task = subject(async ({ ask, step }) => {
      await ask("size", form("?"), { signal: stop.signal });
      await step("one", () => void listeners.push(getEventListeners(stop.signal, "abort").length));
      stop.abort();
      await ask("last", form("?"));
      return {};
    });
    await task.run();
    task.answer("size", accept(1));
    expect(askKeys(await task.run())).toStrictEqual(["last"]);
    expect(listeners).toStrictEqual([0]);
    expect(task.journal.get("ask:size")).toMatchObject({ place: 1, outcome: { type: "answer" } });
    expect(task.journal.get("ask:size")?.withdrawn).toBeUndefined();
  });

  test.each(Array.from({ length: 12 }, (_, ticks) => ticks))(
    "%d ticks into a run that finds the answer gives the ask one place, and the same end in every later run",
    async (ticks) => {
      const actions: string[] = [];
      let isWithdrawing = false;
      const task = subject(async ({ ask }) => {
        const stop = new AbortController();
        const later = async () => {
          for (let tick = 0; tick < ticks; tick += 1) await new Promise<void>((resolve) => process.nextTick(resolve));
          stop.abort();
        };
        if (isWithdrawing) void later();
        actions.push((await ask("size", form("?"), { signal: stop.signal })).action);
        await ask("last", form("?"));
        return {};
      });
      await task.run();
      task.answer("size", accept(1));
      isWithdrawing = true;
      expect(askKeys(await task.run())).toStrictEqual(["last"]);
      task.answer("last", accept(1));
      expect(await task.run()).toMatchObject({ type: "returned" });
      expect(actions[1]).toBe(actions[0]);
      expect(["ask:size", "ask:last"].map((id) => task.journal.get(id)?.place)).toStrictEqual([1, 2]);
    },
  );

  test("by a signal that outlives the run leaves nothing attached to it", async () => {
    const shutdown = new AbortController();
    const task = subject(async ({ ask, sleep }) => {
      await Promise.all([ask("maybe", form("?"), { signal: shutdown.signal }), sleep("long", HOUR, { signal: shutdown.signal })]);
      return {};
    });
    expect(askKeys(await task.run())).toStrictEqual(["maybe"]);
    expect(getEventListeners(shutdown.signal, "abort")).toStrictEqual([]);
  });

  test("counts although the answer had arrived, and has one place, in this run and in every later one", async () => {
    const task = subject(async ({ ask }) => {
      const stop = new AbortController();
      const b = ask("b", form("?"), { signal: stop.signal });
      await ask("a", form("?"));
      stop.abort();
      const { action } = await b;
      const last = await ask("c", form("?"));
      return { action, last: last.action };
    });
    await task.run();
    task.answer("a", accept(1), 1);
    task.answer("b", accept(1), 2);
    expect(askKeys(await task.run())).toStrictEqual(["c"]);
    expect(task.journal.get("ask:a")?.place).toBe(1);
    expect(task.journal.get("ask:b")).toMatchObject({ place: 2, withdrawn: true, outcome: { type: "answer", answer: accept(1) } });
    task.answer("c", accept(1));
    expect(await task.run()).toMatchObject({ type: "returned", result: { action: "withdrawn", last: "accept" } });
    expect(task.journal.get("ask:c")?.place).toBe(3);
  });

  test("is recorded before the next side effect, even if nothing else could have settled", async () => {
    let found: unknown;
    const task = subject(async ({ ask, step }) => {
      const stop = new AbortController();
      const asked = ask("maybe", form("?"), { signal: stop.signal });
      await step("one", () => 1);
      stop.abort();
      await asked;
      await step("two", () => void (found = task.journal.get("ask:maybe")));
      return {};
    });
    await task.run();
    expect(found).toMatchObject({ withdrawn: true, place: 2, outcome: { type: "withdrawn" } });
  });

  test("settles in a replay when the handler has withdrawn again, however long that takes", async () => {
    const seen: boolean[] = [];
    let isSlow = false;
    const task = subject(async ({ ask, step }) => {
      const stop = new AbortController();
      const maybe = ask("maybe", form("?"), { signal: stop.signal }).then(() => seen.push(stop.signal.aborted));
      await ask("other", form("?"));
      if (isSlow) await systemClock.sleep(5);
      stop.abort();
      await maybe;
      await ask("last", form("?"));
      await step("after", () => 1);
      return {};
    });
    await task.run();
    task.answer("other", accept(1));
    expect(askKeys(await task.run())).toStrictEqual(["last"]);
    isSlow = true;
    task.answer("last", accept(1));
    expect(await task.run()).toMatchObject({ type: "returned" });
    expect(seen).toStrictEqual([true, true]);
    // It has no second place.
    expect(["ask:other", "ask:maybe", "ask:last", "step:after"].map((id) => task.journal.get(id)?.place)).toStrictEqual([1, 2, 3, 4]);
  });

  test("does not settle sleeps again that are over by then", async () => {
    const { clock, pass } = createHandClock();
    const task = subject(async ({ sleep, step }) => {
      const stop = new AbortController();
      const nap = sleep("nap", 10, { signal: stop.signal }).catch(() => undefined);
      stop.abort(new Error("no need"));
      await nap;
      await step("long", () => pass(20));
      await step("last", () => 1);
      return {};
    });
    task.wire({ clock });
    expect(await task.run()).toMatchObject({ type: "returned" });
    expect([...task.journal].map(([id, { place }]) => [id, place])).toStrictEqual([
      ["sleep:nap", 1],
      ["step:long", 2],
      ["step:last", 3],
    ]);
    const nap = task.journal.get("sleep:nap");
    expect([nap?.digest, nap?.withdrawn]).toStrictEqual(["", true]);
  });
});

describe("a sleep", () => {
  test("that is short keeps the run from parking at an open ask until it is over", async () => {
    const task = subject(async ({ ask, sleep, step }) => {
      await Promise.all([ask("go", form("?")), sleep("nap", 10).then(() => step("after", () => 1))]);
      return {};
    });
    expect(askKeys(await task.run())).toStrictEqual(["go"]);
    expect([...task.journal.keys()]).toStrictEqual(["sleep:nap", "step:after"]);
    expect(task.journal.get("sleep:nap")).toMatchObject({ digest: "", calledAt: "0", place: 1 });
  });

  test("that an earlier run began wakes this one when it is over", async () => {
    let fails = true;
    const task = subject(async ({ sleep, step }) => {
      const nap = sleep("nap", 60);
      await step("one", () => 1);
      if (fails) throw new Error("network");
      await nap;
      return {};
    });
    expect(await task.run()).toMatchObject({ type: "threw", error: new Error("network") });
    const endsAtMs = endOf(task, "sleep:nap");
    fails = false;
    expect(await task.run()).toMatchObject({ type: "returned" });
    expect(Date.now()).toBeGreaterThanOrEqual(endsAtMs - 1);
    expect(task.journal.get("sleep:nap")).toMatchObject({ place: 2, outcome: { value: endsAtMs } });
  });

  test("that was withdrawn does not keep the run from parking", async () => {
    const task = subject(
      async ({ ask, sleep }) => {
        const stop = new AbortController();
        const nap = sleep("nap", 60_000, { signal: stop.signal }).catch(() => undefined);
        stop.abort();
        await Promise.all([nap, ask("go", form("?"))]);
        return {};
      },
      { inlineSleepMaxMs: 90_000 },
    );
    const startedAtMs = performance.now();
    expect(askKeys(await task.run())).toStrictEqual(["go"]);
    expect(performance.now() - startedAtMs).toBeLessThan(59_000);
  });

  test("that is long and ends while the run is at work leaves later short ones to the worker", async () => {
    const task = subject(
      async ({ ask, sleep, step }) => {
        let isOver = false;
        const long = sleep("long", 30).then(() => (isOver = true));
        await step("work", () => until(() => isOver));
        await Promise.all([long, ask("go", form("?")), sleep("nap", 20)]);
        return {};
      },
      { inlineSleepMaxMs: 25 },
    );
    expect(askKeys(await task.run())).toStrictEqual(["go"]);
    expect([...task.journal].map(([id, { place }]) => [id, place])).toStrictEqual([
      ["sleep:long", 1],
      ["step:work", 2],
      ["sleep:nap", 3],
    ]);
  });

  test("is written once: a run that finds it writes nothing", async () => {
    const task = subject(async ({ sleep }) => {
      await sleep("long", HOUR);
      return {};
    });
    expect(await task.run()).toMatchObject({ type: "parked", entries: [{ key: "sleep:long" }] });
    expect(await task.run()).toMatchObject({ type: "parked", entries: [] });
  });

  test("that was over before an answer arrived settles before it, however long the run takes to catch up", async () => {
    const order: string[] = [];
    let isSlow = false;
    const task = subject(
      async ({ ask, sleep }) => {
        const both = [sleep("nap", HOUR).then(() => order.push("nap")), ask("go", form("?")).then(() => order.push("go"))];
        if (isSlow) await systemClock.sleep(10);
        await Promise.all([...both, ask("last", form("?"))]);
        return {};
      },
      { divergenceWaitMs: 5_000 },
    );
    await task.run();
    const endsAtMs = endOf(task, "sleep:nap");
    task.skip(HOUR + 1);
    task.answer("go", accept(1), endsAtMs + 1);
    isSlow = true;
    expect(askKeys(await task.run())).toStrictEqual(["last"]);
    expect(order).toStrictEqual(["nap", "go"]);
    expect(task.journal.get("sleep:nap")).toMatchObject({ arrived: { atMs: endsAtMs, revision: 0 }, place: 1 });
  });

  test.each([
    [HOUR - 1, "parked"],
    [HOUR, "returned"],
  ])("is over after its time, and not a millisecond earlier: %d ms, %s", async (passedMs, type) => {
    const task = subject(
      async ({ sleep }) => {
        await sleep("long", HOUR);
        return {};
      },
      { inlineSleepMaxMs: 0 },
    );
    // No timer ends: what is left of the sleep must not pass while the run goes to rest.
    let nowMs = 1_000_000;
    task.wire({ clock: { ...systemClock, now: () => nowMs, sleep: () => new Promise(() => undefined) } });
    await task.run();
    nowMs += passedMs;
    expect(await task.run()).toMatchObject({ type });
  });

  test("that is over settles once, although its timer ends before its turn", async () => {
    const { clock, stand, pass } = createHandClock();
    let isLate = false;
    const task = subject(
      async ({ ask, sleep, step }) => {
        const both = [sleep("nap", 200), ask("go", form("?"))];
        if (isLate) stand(250);
        await Promise.all(both);
        await step("last", () => 1);
        return {};
      },
      { inlineSleepMaxMs: 1 },
    );
    task.wire({ clock });
    expect(askKeys(await task.run())).toStrictEqual(["go"]);
    task.answer("go", accept(1), clock.now());
    isLate = true;
    // Each hold takes a turn, in which the timer ends.
    let holds = 0;
    task.wire({
      clock,
      isHeld: () => {
        holds += 1;
        return holds % 2 === 0 || pass(0).then(() => true);
      },
    });
    expect(await task.run()).toMatchObject({ type: "returned" });
    expect([...task.journal].map(([id, { place }]) => [id, place]).toSorted()).toStrictEqual([
      ["ask:go", 1],
      ["sleep:nap", 2],
      ["step:last", 3],
    ]);
  });

  test("that was withdrawn settles only as withdrawn, although it ends before the handler withdraws it again", async () => {
    const { clock, pass } = createHandClock();
    let isWithdrawing = false;
    let isSlow = false;
    const task = subject(
      async ({ ask, sleep, step }) => {
        const stop = new AbortController();
        const nap = sleep("nap", 500, { signal: stop.signal }).catch(() => undefined);
        if (!isWithdrawing) await nap;
        if (isSlow) await pass(550);
        stop.abort();
        await nap;
        await ask("go", form("?"));
        await step("last", () => 1);
        return {};
      },
      { inlineSleepMaxMs: 1, divergenceWaitMs: 5_000 },
    );
    task.wire({ clock });
    await task.run();
    isWithdrawing = true;
    expect(askKeys(await task.run())).toStrictEqual(["go"]);
    task.answer("go", accept(1), clock.now());
    isSlow = true;
    expect(await task.run()).toMatchObject({ type: "returned" });
    expect([...task.journal].map(([id, { place }]) => [id, place]).toSorted()).toStrictEqual([
      ["ask:go", 2],
      ["sleep:nap", 1],
      ["step:last", 3],
    ]);
  });

  test("that ends while the run catches up settles once", async () => {
    const { clock, pass } = createHandClock();
    let isSlow = false;
    const task = subject(
      async ({ ask, sleep, step }) => {
        const nap = sleep("nap", 300);
        if (isSlow) await pass(350);
        await ask("go", form("?"));
        await nap;
        await step("last", () => 1);
        return {};
      },
      { inlineSleepMaxMs: 1, divergenceWaitMs: 5_000 },
    );
    task.wire({ clock });
    expect(askKeys(await task.run())).toStrictEqual(["go"]);
    task.answer("go", accept(1), clock.now());
    isSlow = true;
    expect(await task.run()).toMatchObject({ type: "returned" });
    expect([...task.journal].map(([id, { place }]) => [id, place]).toSorted()).toStrictEqual([
      ["ask:go", 1],
      ["sleep:nap", 2],
      ["step:last", 3],
    ]);
  });

  test("that ends first determines when the task is to run", async () => {
    const task = subject(async ({ sleep }) => {
      await Promise.all([sleep("long", 3 * HOUR), sleep("short", HOUR), sleep("middle", 2 * HOUR)]);
      return {};
    });
    const end = await task.run();
    expect(end.type === "parked" && end.wakeAtMs).toBe(endOf(task, "sleep:short"));
    task.skip(HOUR + 1);
    const next = await task.run();
    expect(next.type === "parked" && next.wakeAtMs).toBe(endOf(task, "sleep:middle"));
  });
});
