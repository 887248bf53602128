/** A tool of an upstream as Parley runs it, with an upstream whose replies the test sets. */
import { type Answer, type AskOptions, type AskRequest, type Effects, isWaitingBehind, type JsonObject } from "@parley/core";
import { describe, expect, test } from "vitest";
import { askable } from "../wire/call-request.ts";
import type { Calls, Lead } from "../call/calls.ts";
import type { ListedTool } from "../lists/listing.ts";
import { gatewayTool, mayRepeat } from "./gateway-tool.ts";
import type { Question, UpstreamEvent } from "../wire/upstream-event.ts";
import { parseUpstreams } from "../config/upstreams.ts";

const upstreamOf = (given: object = {}) =>
  parseUpstreams("up.json", JSON.stringify({ upstreams: [{ name: "up", url: "https://up.example.com", ...given }] }))[0]!;
const LISTED = { name: "tool", inputSchema: { type: "object" } };

interface RunOptions {
  readonly hidden?: boolean;
  readonly request?: object;
  readonly upstream?: object;
  readonly listed?: Partial<ListedTool>;
  /** People's answers, in turn; after the last, they accept. */
  readonly answers?: readonly Answer[];
  /** Whether the task began under this version of the gateway. */
  readonly isNew?: boolean;
}

/** Runs the tool once, straight through: each ask is accepted. */
async function run(
  events: (lead: Lead) => UpstreamEvent,
  { hidden = false, request, upstream = {}, listed = {}, answers = [], isNew = true }: RunOptions = {},
) {
  const leads: Lead[] = [];
  const asked: string[] = [];
  const requests: [AskRequest, AskOptions["identity"]][] = [];
  const letGo: string[] = [];
  const slept: number[] = [];
  const statuses: string[] = [];
  const calls = {
    permit: () => "call",
    give: () => undefined,
    drop: async (taskId: string) => void letGo.push(taskId),
    lead: async (lead: Lead) => {
      leads.push(lead);
      return events(lead);
    },
  } as unknown as Calls;
  const effects = {
    taskId: "task",
    call: { hidden, request, principal: "ann", capabilities: { elicitation: { form: true, url: false } } },
    report: () => undefined,
    step: async (_name: string, work: (attempt: object) => unknown) => await work({ signal: new AbortController().signal }),
    ask: async (key: string, request: AskRequest, options: AskOptions) => {
      asked.push(key);
      requests.push([request, options.identity]);
      return answers[asked.length - 1] ?? { action: "accept", content: {} };
    },
    sleep: async (_name: string, ms: number) => void slept.push(ms),
    deposit: async (key: string) => `secret of ${key}`,
    patched: () => isNew,
    wasRecorded: () => false,
    status: (message: string) => void statuses.push(message),
  } as unknown as Effects;
  const elicitation = { timeoutMs: 5_000, blockingTimeoutMs: 60 };
  const tool = gatewayTool({ ...LISTED, ...listed }, { upstream: upstreamOf(upstream), calls, elicitation });
  const result = await tool.run({}, effects).catch((error: unknown) => error as JsonObject);
  return { result, leads, asked, requests, letGo, slept, statuses };
}

const question = (key: string): Question => ({
  key,
  from: "call",
  id: "confirm",
  digest: "d",
  request: { type: "form", message: "?", schema: {} },
  timeoutMs: 1,
});

test("a tool names the resource of its MCP App by the uri under which it is offered here", () => {
  const listed = { ...LISTED, _meta: { ui: { resourceUri: "ui://clock/app.html" } } };
  const offered = (hasResources: boolean) => gatewayTool(listed, { upstream: upstreamOf(), hasResources }).meta;
  expect(offered(true)).toEqual({ ui: { resourceUri: "ui://up+clock/app.html" } });
  // Without resources, nothing could be read under another uri either.
  expect(offered(false)).toEqual(listed._meta);
});

describe("a question", () => {
  test("waits as long as the deployment allows for its kind of caller, or as the file of upstreams says", async () => {
    for (const [options, expected] of [
      [{}, 5_000],
      [{ hidden: true }, 5_000],
      [{ hidden: true, request: { id: 1 } }, 60],
      [{ hidden: true, request: { id: 1 }, upstream: { questionTimeout: "7s" } }, 7_000],
    ] as const) {
      const { leads } = await run(() => ({ type: "result", result: {} }), options);
      expect(leads[0]?.request.questionTimeoutMs).toBe(expected);
    }
  });

  test("names the server that asks, and is the same question as without the name", async () => {
    const { request } = question("question-1");
    const page: AskRequest = { type: "url", message: "Log in", url: "https://a.test/" };
    const sampling: AskRequest = { type: "sampling", params: { messages: [], maxTokens: 1 } };
    const questions = [request, page, sampling].map((each, index) => ({ ...question(`question-${index}`), request: each }));
    const events: UpstreamEvent[] = [
      { type: "asked", questions },
      { type: "required", questions: [{ ...question("question-9"), request: page }] },
      { type: "result", result: {} },
    ];
    const { requests } = await run(() => events.shift()!);
    expect(requests).toEqual([
      [{ ...request, message: "up asks: ?" }, request],
      [{ ...page, message: "up asks: Log in" }, page],
      [sampling, sampling],
      [{ ...page, message: "up asks: Log in" }, page],
    ]);
  });

  const SAMPLING: AskRequest = { type: "sampling", params: { messages: [], maxTokens: 1 } };
  test.each([
    ["a form that nobody could be asked", question("q").request, { action: "unavailable" }, -32601, "unavailable"],
    [
      "a page that nobody could be sent to",
      { type: "url", message: "Log in", url: "https://a.test/" },
      { action: "unavailable" },
      -32601,
      "unavailable",
    ],
    ["a request for a model that was declined", SAMPLING, { action: "decline" }, -32000, "declined"],
    ["a request for a model that nobody answered in time", SAMPLING, { action: "timeout" }, -32000, "timeout"],
    ["a request for folders that was cancelled", { type: "roots" }, { action: "cancel" }, -32000, "declined"],
  ] as const)(
    "of an upstream that holds nothing is not answered for nobody: %s ends the call",
    async (_what, request, answer, code, reason) => {
      const required: UpstreamEvent = { type: "required", questions: [{ ...question("question-1"), request: request as AskRequest }] };
      const { result, leads } = await run(() => required, { answers: [answer] });
      expect(result).toMatchObject({ code, data: { reason } });
      expect(leads).toHaveLength(1);
    },
  );

  test("that nobody could be asked goes on as it went under an earlier version, which sent `cancel`", async () => {
    const { leads } = await run(
      ({ request: { round } }) => (round ? { type: "result", result: {} } : { type: "required", questions: [question("question-1")] }),
      { answers: [{ action: "unavailable" }], isNew: false },
    );
    expect(leads.at(-1)?.request.round?.responses).toEqual({ confirm: { action: "unavailable" } });
  });

  test.each([
    ["a call with a handle", false, "tool", {}, { form: true, url: true }],
    ["a call whose client declared nothing", true, "tool", {}, undefined],
    [
      "a call whose client shows forms, and is told of pages",
      true,
      "tool",
      { elicitation: { form: true, url: false } },
      { form: true, url: true },
    ],
    [
      "a call whose client shows pages, and is sent to those of forms",
      true,
      "tool",
      { elicitation: { form: false, url: true } },
      { form: true, url: true },
    ],
    ["a prompt, which is told in no words", true, "prompt", { elicitation: { form: true, url: false } }, { form: true, url: false }],
  ] as const)("can be asked in %s", (_what, hidden, kind, declared, elicitation) => {
    const capabilities = { sampling: { tools: false }, ...declared };
    expect(askable({ hidden, kind, capabilities })).toEqual({ sampling: { tools: false }, ...(elicitation && { elicitation }) });
  });
});

describe("a secret that a person entered on a page", () => {
  const page = { ...question("question-1"), secretField: "password" };
  const onPage: Answer = { action: "accept", content: { deposit: "question-1" } };
  const filled = { action: "accept", content: { password: "secret of question-1" } };

  test("is the answer to the form of an upstream that waits, and to no other question", async () => {
    const events: UpstreamEvent[] = [
      { type: "asked", questions: [page] },
      { type: "asked", questions: [question("question-2")] },
      { type: "result", result: {} },
    ];
    const { leads } = await run(() => events.shift()!, { answers: [onPage, onPage] });
    expect(leads[1]?.given).toEqual([{ question: page, answer: filled }]);
    expect(leads[2]?.given.map(({ answer }) => answer)).toEqual([filled, onPage]);
  });

  test("is the answer to the form of an upstream that is called again, beside others", async () => {
    const { leads } = await run(
      ({ request }) =>
        request.round
          ? { type: "result", result: {} }
          : { type: "required", questions: [page, { ...question("question-2"), id: "other" }] },
      { answers: [onPage, { action: "decline" }] },
    );
    expect(leads[1]?.request.round?.responses).toEqual({ confirm: filled, other: { action: "decline" } });
    expect(leads[1]?.request.given[0]?.answer).toEqual(filled);
  });

  test("is missing if the question was answered without its page: nothing else is passed on", async () => {
    const events: UpstreamEvent[] = [{ type: "asked", questions: [page] }];
    const { result, leads } = await run(() => events.shift()!, { answers: [{ action: "accept", content: { password: "guess" } }] });
    expect(result).toMatchObject({ code: "DEPOSIT_UNREADABLE" });
    expect(leads).toHaveLength(1);
  });

  test("that is declined is declined", async () => {
    const events: UpstreamEvent[] = [
      { type: "asked", questions: [page] },
      { type: "result", result: {} },
    ];
    const { leads } = await run(() => events.shift()!, { answers: [{ action: "decline" }] });
    expect(leads[1]?.given.map(({ answer }) => answer)).toEqual([{ action: "decline" }]);
  });
});

describe("an upstream", () => {
  test("that requires answers is called again with them and with its state", async () => {
    const { leads, asked, result } = await run(({ request }) =>
      request.round ? { type: "result", result: { done: true } } : { type: "required", state: "s", questions: [question("question-1")] },
    );
    expect(asked).toEqual(["question-1"]);
    expect(leads[1]?.request.round).toEqual({ state: "s", responses: { confirm: { action: "accept", content: {} } } });
    expect(result).toEqual({ done: true });
  });

  test("that requires input too often is given up", async () => {
    const { result, leads } = await run(() => ({ type: "required", state: "s", questions: [question("question-1")] }));
    expect(result).toMatchObject({ code: "UPSTREAM_INVALID" });
    expect(leads).toHaveLength(50);
  });

  describe("that requires a visit first", () => {
    const refused = { code: -32042, message: "visit first" };
    const visit = (key: string, url: string): UpstreamEvent => ({
      type: "required",
      refused,
      questions: [{ ...question(key), request: { type: "url", message: "Log in", url } }],
    });
    const result: UpstreamEvent = { type: "result", result: {} };

    test("is called again after growing pauses while the person may still be on the page, and then they are asked again", async () => {
      let calls = 0;
      const again = () => (++calls === 9 ? result : visit(`question-${calls}`, `https://up.example.com/login?elicitation=${calls}`));
      const { asked, slept, leads } = await run(again);
      expect(asked).toEqual(["question-1", "question-8"]);
      expect(slept).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000]);
      expect(leads.map(({ request }) => request.awaited?.length ?? 0)).toEqual([0, 1, 1, 1, 1, 1, 1, 0, 1]);
    });

    test("and then one to another page is called after each at once", async () => {
      const events = [visit("question-1", "https://up.example.com/login"), visit("question-2", "https://up.example.com/pay"), result];
      const { asked, slept } = await run(() => events.shift()!);
      expect([asked, slept]).toEqual([["question-1", "question-2"], []]);
    });

    const agreed: Answer = { action: "accept" };
    test.each<[string, readonly Answer[]]>([
      ["declined", [{ action: "decline" }]],
      ["closed", [{ action: "cancel" }]],
      ["not answered in time", [{ action: "timeout" }]],
      ["agreed to for one of its pages only", [agreed, { action: "decline" }]],
    ])("and is %s is not called again: it has its own error", async (_how, answers) => {
      const pages = answers.map((_, at) => visit(`question-${at}`, `https://up.example.com/${at}`));
      const both = { ...pages[0]!, questions: pages.flatMap((page) => (page.type === "required" ? page.questions : [])) } as UpstreamEvent;
      const seen = await run(({ request }) => (request.askedBefore === 0 ? both : result), { answers });
      expect(seen.result).toMatchObject(refused);
      expect([seen.asked.length, seen.leads.length]).toEqual([answers.length, 1]);
    });

    test("has its questions asked as before by a task that an earlier version began", async () => {
      const url = "https://up.example.com/login";
      const events = [visit("question-1", url), visit("question-2", url), visit("question-3", url), result];
      const { asked, slept } = await run(() => events.shift()!, { isNew: false });
      expect([asked, slept]).toEqual([["question-1", "question-2", "question-3"], []]);
    });
  });

  test.each([
    ["required", {}, true],
    ["optional", {}, true],
    [undefined, {}, undefined],
    ["required", { reuseSessions: true }, true],
    // The task would take the session along, and the state in it.
    ["optional", { reuseSessions: true }, undefined],
    ["optional", { reuseSessions: "stateless" }, true],
  ] as const)("whose tool has tasks that are %s, with %j, is called with a task: %j", async (taskSupport, upstream, asTask) => {
    const execution = taskSupport && { taskSupport };
    const { leads } = await run(() => ({ type: "result", result: {} }), { upstream, listed: { ...(execution && { execution }) } });
    expect(leads[0]?.request.asTask).toBe(asTask);
  });

  test("whose task says how it is doing has that shown as the status, and again only once it changes", async () => {
    const task = { id: "t", pollMs: 1 };
    const events: UpstreamEvent[] = [
      { type: "required", questions: [], task: { ...task, message: "half" } },
      { type: "required", questions: [], task },
      { type: "required", questions: [question("question-1")], task: { ...task, message: "asks" } },
      { type: "result", result: {} },
    ];
    const { statuses, leads } = await run(() => events.shift()!);
    expect(statuses).toEqual(["half", "asks"]);
    expect(leads.map(({ request }) => request.round?.task?.message)).toEqual([undefined, "half", "half", "asks"]);
  });

  test("whose task waits for people has that in its status, for a gateway in front of this one, until it works again", async () => {
    const polls: { readonly message?: string; readonly isWaiting?: true }[] = [
      { isWaiting: true },
      { isWaiting: true, message: "asks Bob" },
      { isWaiting: true },
      {},
      { message: "Waiting for people at up: says the server itself" },
    ];
    const events: UpstreamEvent[] = [
      ...polls.map((each): UpstreamEvent => ({ type: "required", questions: [], task: { id: "t", pollMs: 1, ...each } })),
      { type: "result", result: {} },
    ];
    const { statuses } = await run(() => events.shift()!);
    expect(statuses).toEqual([
      "Waiting for people at up.",
      "Waiting for people at up: asks Bob",
      "up is working.",
      "up: Waiting for people at up: says the server itself",
    ]);
    expect(statuses.map(isWaitingBehind)).toEqual([true, true, false, false]);
  });

  test("that waits for people no more works, also if only an earlier run has said that it waits", async () => {
    const said = [{ message: "asks Bob" }, false, false] as const;
    for (const first of [0, 1]) {
      const { statuses } = await run(({ onWaits }) => {
        for (const each of said.slice(first)) onWaits?.(each);
        return { type: "result", result: {} };
      });
      expect(statuses).toEqual(["Waiting for people at up: asks Bob", "up is working."].slice(first));
    }
  });

  test("that asks nothing yet is called again with its state after a pause, until its time is over", async () => {
    const { result, leads, slept } = await run(
      ({ request }) => ({ type: "required", state: `${request.round?.state ?? ""}s`, questions: [] }),
      {
        upstream: { callTimeout: "4s" },
      },
    );
    expect(result).toMatchObject({ code: "UPSTREAM_TIMEOUT" });
    expect(slept).toEqual([1_000, 1_000, 1_000, 1_000]);
    expect(leads.map(({ request }) => request.round)).toEqual([
      undefined,
      ...["s", "ss", "sss", "ssss"].map((state) => ({ state, responses: {} })),
    ]);
  });

  test.each([
    [1_400, undefined, [1_000, 1_000]],
    [0, undefined, [1_000, 1_000, 1_000, 1_000, 1_000]],
    [
      10_000,
      "400s",
      [
        1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 2_000, 3_200, 4_520, 5_972, 7_569, 9_326, 11_258, 13_384,
        15_722, 18_295, 21_124, 24_237, 23_393,
      ],
    ],
  ])(
    "that hands its call over after it has waited for people for %i ms is called again, until they have had their time (%s), however its caller waits",
    async (waitedMs, questionTimeout, slept) => {
      const upstream = { callTimeout: "1s", ...(questionTimeout !== undefined && { questionTimeout }) };
      const handedOver = (): UpstreamEvent => ({ type: "required", state: "s", questions: [], waitedMs });
      for (const caller of [{}, { hidden: true, request: {} }]) {
        const late = await run(handedOver, { upstream, ...caller });
        expect(late.result).toMatchObject({
          code: "UPSTREAM_TIMEOUT",
          message: expect.stringMatching(/: waited for people for (5000|400000) ms$/),
        });
        expect(late.slept).toEqual(slept);
      }
    },
  );

  test.each([
    ["lost", "UPSTREAM_LOST"],
    ["unavailable", "UPSTREAM_UNAVAILABLE"],
    ["timeout", "UPSTREAM_TIMEOUT"],
    ["invalid", "UPSTREAM_INVALID"],
    ["busy", "UPSTREAM_BUSY"],
    ["large", "TOO_LARGE"],
  ] as const)("that is %s fails the task with %s, which names it", async (type, code) => {
    const { result } = await run(() => ({ type, message: "because" }));
    expect(result).toMatchObject({ code, message: "tool tool of upstream up: because", data: { upstream: "up" } });
  });

  test("that answers with an error has its error passed on unchanged", async () => {
    const { result } = await run(() => ({ type: "error", error: { code: -32099, message: "no", data: { why: 1 } } }));
    expect(result).toMatchObject({ code: -32099, message: "no", data: { why: 1 } });
  });
});

describe("a task of an upstream that works", () => {
  const working = (pollMs: number): UpstreamEvent => ({ type: "required", questions: [], task: { id: "task", pollMs } });

  test.each([
    [3_000, [3_000, 3_000, 3_000, 1_000]],
    [60_000, [10_000]],
  ])("that may be polled every %i ms is polled a last time when its time is over", async (pollMs, slept) => {
    const upstream = { callTimeout: "10s" };
    const late = await run(() => working(pollMs), { upstream });
    expect(late.result).toMatchObject({
      code: "UPSTREAM_TIMEOUT",
      message: "tool tool of upstream up: neither asked nor ended within 10000 ms",
    });
    expect(late.slept).toEqual(slept);
    const events: UpstreamEvent[] = [...slept.map(() => working(pollMs)), { type: "result", result: { done: true } }];
    expect((await run(() => events.shift()!, { upstream })).result).toEqual({ done: true });
  });
});

test("a task of an upstream that waits for people has as long as a question, besides the time that it works", async () => {
  const polled = (isWaiting: boolean): UpstreamEvent => ({
    type: "required",
    questions: [],
    task: { id: "task", pollMs: 4_000, ...(isWaiting && { isWaiting }) },
  });
  const upstream = { callTimeout: "5s", questionTimeout: "9s" };
  const events = [false, true, true, false, true].map(polled);
  const end = await run(() => events.shift() ?? { type: "result", result: { done: true } }, { upstream });
  expect(end).toMatchObject({ result: { done: true }, slept: [4_000, 4_000, 4_000, 1_000, 1_000] });
  const { result } = await run(() => polled(true), { upstream });
  expect(result).toMatchObject({ code: "UPSTREAM_TIMEOUT", message: "tool tool of upstream up: waited for people for 9000 ms" });
  // However long people take, their answer is noticed an hour later at most.
  const long = await run(() => polled(true), { upstream: { questionTimeout: "7d" } });
  expect(Math.max(...long.slept)).toBe(3_600_000);
});

describe("a task of an upstream that waits for an answer but lists no question", () => {
  const task = { id: '["session","task"]', pollMs: 1 };
  const UNHEARD = { type: "required", questions: [], task: { ...task, isUnheard: true } } as const;

  test("has lost its question after enough polls in a row, and is given up", async () => {
    const { result, leads, letGo } = await run(() => UNHEARD);
    expect(result).toMatchObject({ code: "UPSTREAM_LOST", message: expect.stringContaining("a worker read before it died") });
    expect(leads).toHaveLength(3);
    // The call is dropped when the run ends, like any failed call.
    expect(letGo).toEqual([]);
  });

  test("is waited for while it works or asks between", async () => {
    const events: UpstreamEvent[] = [
      UNHEARD,
      UNHEARD,
      { type: "required", questions: [], task },
      UNHEARD,
      UNHEARD,
      { type: "required", questions: [question("question-1")], task },
      UNHEARD,
      UNHEARD,
      { type: "result", result: { done: true } },
    ];
    expect((await run(() => events.shift()!)).result).toEqual({ done: true });
  });

  test("is dropped and called again if it may be repeated: the same questions get the recorded answers, each once", async () => {
    const first = { ...question("question-1"), id: "1" };
    const again = { ...first, key: "question-2", from: "again", id: "2" };
    const events: UpstreamEvent[] = [
      { type: "required", questions: [first], task },
      UNHEARD,
      UNHEARD,
      UNHEARD,
      { type: "required", questions: [again], task },
      { type: "required", questions: [{ ...again, key: "question-3", id: "3" }], task },
      UNHEARD,
      UNHEARD,
      UNHEARD,
      { type: "required", questions: [{ ...again, key: "question-4", id: "4" }], task },
      { type: "result", result: { done: true } },
    ];
    const [one, other] = [
      { action: "accept", content: { answer: 1 } },
      { action: "accept", content: { answer: 2 } },
    ] as const;
    const { result, leads, asked, letGo } = await run(() => events.shift()!, { upstream: { repeatable: true }, answers: [one, other] });
    expect(result).toEqual({ done: true });
    expect(asked).toEqual(["question-1", "question-3"]);
    expect(letGo).toEqual(["task", "task"]);
    expect(leads.filter(({ request }) => !request.round)).toHaveLength(3);
    expect(leads.map(({ request }) => request.round?.responses).filter((responses) => Object.keys(responses ?? {}).length > 0)).toEqual([
      { 1: one },
      { 2: one },
      { 3: other },
      { 4: one },
    ]);
  });
});

test("a question that was withdrawn is asked again by the call that repeats a lost one", async () => {
  const task = { id: '["session","task"]', pollMs: 1 };
  const UNHEARD: UpstreamEvent = { type: "required", questions: [], task: { ...task, isUnheard: true } };
  const first = { ...question("question-1"), id: "1" };
  const events: UpstreamEvent[] = [
    { type: "required", questions: [first], task },
    UNHEARD,
    UNHEARD,
    UNHEARD,
    { type: "required", questions: [{ ...first, key: "question-2", id: "2" }], task },
    { type: "result", result: { done: true } },
  ];
  const { asked, result } = await run(() => events.shift()!, {
    upstream: { repeatable: true },
    answers: [{ action: "withdrawn" }, { action: "accept", content: {} }],
  });
  expect([asked, result]).toEqual([["question-1", "question-2"], { done: true }]);
});

test("a call may be repeated if its tool says so, unless the file says otherwise", () => {
  const idempotent = { ...LISTED, annotations: { idempotentHint: true } };
  expect(mayRepeat(upstreamOf(), LISTED)).toBe(false);
  expect(mayRepeat(upstreamOf(), idempotent)).toBe(true);
  expect(mayRepeat(upstreamOf(), { ...LISTED, annotations: { readOnlyHint: true } })).toBe(true);
  expect(mayRepeat(upstreamOf({ repeatable: false }), idempotent)).toBe(false);
  expect(mayRepeat(upstreamOf({ repeatable: ["to*"] }), LISTED)).toBe(true);
});
