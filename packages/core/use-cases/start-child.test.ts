/** Tools that call tools: what a child is created from, what prevents it, and which run its end wakes. */
import { createScope, createValidator, sha256Digest, systemClock } from "@parley/node";
import { describe, expect, test } from "vitest";
import type { AuditFact } from "../callers/audit.ts";
import { callerNamed } from "../callers/caller.fixture.ts";
import type { Caller } from "../callers/caller.ts";
import type { Catalogue, Tool } from "../catalogue.ts";
import type { ChildEnd, Effects } from "../effects.ts";
import type { ParleyError } from "../errors.ts";
import { createMemoryStore, createMemoryWakeUps } from "../memory/index.ts";
import type { CreateRequest, Observer, RunRef, TaskStore } from "../ports.ts";
import { createHandClock } from "../hand-clock.fixture.ts";
import { DEFAULT_SETTINGS, type Settings } from "../settings.ts";
import type { Call, JsonObject } from "../task.ts";
import { toolNamed } from "../tool.fixture.ts";
import { ARGUMENTS_CHECK_MAX_MS } from "./check-in-time.ts";
import { createTask } from "./create-task.ts";
import { runTask } from "./run-task.ts";
import type { Services } from "./services.ts";

const alice = callerNamed("alice", { person: "https://id.test alice", tenant: "acme" });

interface Given {
  readonly settings?: Partial<Settings>;
  readonly store?: (memory: TaskStore) => Partial<TaskStore>;
  readonly services?: Partial<Services>;
  readonly caller?: Caller;
}

function deployment(tools: readonly Tool[], { settings, store, services: more, caller = alice }: Given = {}) {
  let ids = 0;
  const clock = { ...systemClock, now: () => 1_000_000 };
  const wakeUps = createMemoryWakeUps();
  const memory = createMemoryStore({ clock, wakeUps });
  const made: CreateRequest[] = [];
  const added: (RunRef & { readonly cause?: string })[] = [];
  const logged: { message: string; fields: object }[] = [];
  const write = (fields: object, message: string) => void logged.push({ message, fields });
  const kept = { ...memory, ...store?.(memory) };
  const services: Services = {
    store: { ...kept, create: (request) => (made.push(request), kept.create(request)) },
    queue: { add: async (ref) => void added.push(ref) },
    wakeUps,
    clock,
    scope: createScope(),
    ids: { taskId: () => `0-${(ids += 1)}`, token: () => `token-${(ids += 1)}`, uuid: () => "uuid", random: () => 0.5 },
    digest: sha256Digest,
    validate: createValidator(),
    log: { debug: write, info: write, warn: write, error: write },
    settings: { ...DEFAULT_SETTINGS, ...settings },
    ...more,
  };
  const catalogue: Catalogue = {
    tools: new Map(tools.map((tool) => [tool.name, tool])),
    prompts: new Map(),
    resources: new Map(),
    templates: [],
  };
  return {
    services,
    made,
    added,
    logged,
    run: (ref: RunRef) => runTask(services, catalogue, ref),
    /** Calls the first tool, and performs all runs. */
    async call() {
      const [first] = tools;
      if (!first) throw new Error("no tool");
      const capabilities = { elicitation: { form: true, url: false } };
      const { id } = await createTask(services, first, { caller, arguments: {}, capabilities, hidden: false });
      for (let ref = added.shift(); ref; ref = added.shift()) await runTask(services, catalogue, ref);
      return { id, task: await services.store.load(id) };
    },
  };
}

/** The result of a call. */
const toldOf = async (called: Promise<ChildEnd>): Promise<JsonObject> => {
  try {
    return { ...(await called) } as JsonObject;
  } catch (error) {
    return { code: (error as ParleyError).code, message: (error as ParleyError).message };
  }
};
const caller = (name: string, tool: string, args: JsonObject = {}) =>
  toolNamed(name, ({ callTool }: Effects) => toldOf(callTool("sub", { tool, arguments: args })));
const resultOf = (task: Awaited<ReturnType<TaskStore["load"]>>) => (task?.outcome?.type === "result" ? task.outcome.result : task);

describe("a child", () => {
  test("whose result exceeds what its parent may still store is a failed call that names the setting, only beyond the limit", async () => {
    const told = JSON.stringify({ type: "answer", answer: { action: "accept", content: { result: { text: "x".repeat(1_000) } } } }).length;
    const large = toolNamed("large", async () => ({ text: "x".repeat(1_000) }));
    const parent = toolNamed("parent", async ({ callTool }) => {
      const ends = [1, 2, 3].map((part) => toldOf(callTool(`part-${part}`, { tool: "large", arguments: {} })));
      return { ends: (await Promise.all(ends)).map(({ type, code, message }) => (type ?? [code, message]) as string) };
    });
    const full = ["JOURNAL_FULL", expect.stringContaining("PARLEY_JOURNAL_SIZE_MAX")];
    for (const [journalSizeMax, ends] of [
      [3 * told, ["result", "result", "result"]],
      [3 * told - 1, ["result", "result", full]],
    ] as const) {
      const { task } = await deployment([parent, large], { settings: { journalSizeMax } }).call();
      expect(resultOf(task)).toStrictEqual({ ends });
    }
  });

  test("is a hidden task of its parent's owner, says where it belongs, and its end answers the call", async () => {
    const subject = deployment([
      caller("parent", "middle", { seats: 4 }),
      toolNamed("middle", async ({ callTool }, args) => ({ args, below: await toldOf(callTool("deep", { tool: "leaf", arguments: {} })) })),
      toolNamed("leaf", async () => ({ leaf: true })),
    ]);
    const { id, task } = await subject.call();
    expect(resultOf(task)).toStrictEqual({
      type: "result",
      result: { args: { seats: 4 }, below: { type: "result", result: { leaf: true } } },
    });
    const [, middle, leaf] = subject.made;
    const owned: Partial<Call> = {
      kind: "tool",
      principal: "alice",
      person: "https://id.test alice",
      tenant: "acme",
      capabilities: { elicitation: { form: true, url: false } },
      hidden: true,
    };
    const parent = { taskId: id, key: "sub", rootId: id, depth: 1, path: "sub" };
    expect(middle?.call).toMatchObject({ ...owned, name: "middle", arguments: { seats: 4 }, parent });
    expect(leaf?.call).toMatchObject({
      ...owned,
      name: "leaf",
      parent: { taskId: middle?.taskId, key: "deep", rootId: id, depth: 2, path: "sub:deep" },
    });
    expect(subject.logged.filter(({ message }) => message === "child task created").map(({ fields }) => fields)).toStrictEqual([
      { taskId: middle?.taskId, tool: "middle", parentId: id },
      { taskId: leaf?.taskId, tool: "leaf", parentId: middle?.taskId },
    ]);
  });

  test("knows the caller's groups if its parent does, which keeps them only where a rule may ask for them", async () => {
    const staff = callerNamed("alice", { groups: ["staff"], roles: ["lead"] });
    const madeBy = async (keeps: boolean) => {
      const asked = { keepsMembership: () => keeps };
      const child = toolNamed("child", async ({ call }) => ({ known: JSON.stringify(call.membership ?? "nothing") }), asked);
      const subject = deployment([{ ...caller("parent", "child"), ...asked }, child], { caller: staff });
      const { task } = await subject.call();
      return [subject.made.map(({ call }) => call.membership), resultOf(task), "membership" in (task?.call ?? {})];
    };
    const membership = { groups: ["staff"], roles: ["lead"] };
    expect(await madeBy(true)).toEqual([
      [membership, membership],
      { type: "result", result: { known: JSON.stringify(membership) } },
      false,
    ]);
    expect(await madeBy(false)).toEqual([[undefined, undefined], { type: "result", result: { known: '"nothing"' } }, false]);
  });

  test("has the same caller by name, as its parent's call was made", async () => {
    const ada = callerNamed("alice", { displayName: "Ada Lovelace", names: ["sub:7", "email:ada@acme.io"] });
    const child = toolNamed("child", async ({ call }) => ({ known: JSON.stringify(call.caller) }));
    const subject = deployment([caller("parent", "child"), child], { caller: ada });
    const { task } = await subject.call();
    const known = JSON.stringify({ name: "Ada Lovelace", email: "ada@acme.io", subject: "7" });
    expect(resultOf(task)).toEqual({ type: "result", result: { known } });
  });

  test.each([
    ["result", async () => ({ done: true }), { type: "result", result: { done: true } }],
    [
      "error",
      () => Promise.reject(new Error("secret")),
      { type: "result", result: { isError: true, content: [{ type: "text", text: expect.stringContaining("under defect uuid") }] } },
    ],
  ] as const)("wakes its parent by its %s, once", async (_, run, end) => {
    const subject = deployment([caller("parent", "child"), toolNamed("child", run)]);
    const added: unknown[] = [];
    Object.assign(subject.services.queue, {
      add: async (ref: RunRef) => void (added.push(ref), subject.added.push(ref)),
    });
    const { id, task } = await subject.call();
    const child = subject.made[1]?.taskId;
    expect(resultOf(task)).toMatchObject(end);
    expect(added).toMatchObject([
      { taskId: id, run: 1, cause: "created" },
      { taskId: child, run: 1, cause: "created", calls: { kind: "tool", name: "child" } },
      { taskId: id, run: 2, cause: "answered" },
    ]);
  });

  test("is observed, and its audit record says whose it is and which tool created it", async () => {
    const created: string[] = [];
    const observer: Observer = {
      traceparent: () => undefined,
      created: ({ name }) => void created.push(name),
      answering: (_, work) => work(),
      running: (_, work) => work(),
    };
    const subject = deployment([caller("parent", "child"), toolNamed("child", async () => ({}), { version: "2" })], {
      services: { observer, audit: { note: async () => undefined } },
    });
    const { id } = await subject.call();
    expect(created).toStrictEqual(["parent", "child"]);
    const child = subject.made[1];
    expect(child?.audit).toStrictEqual({
      principal: "alice",
      tenant: "acme",
      door: "tool parent",
      action: "call",
      taskId: child?.taskId,
      tool: "tool child",
      toolVersion: "2",
      parent: id,
      call: child?.call.binding,
    });
    expect(child?.call.binding).toMatch(/^\S{22}$/);
  });
});

test.each<[string, () => Promise<JsonObject>]>([
  ["its result", async () => ({})],
  ["an error", () => Promise.reject(new Error("no"))],
])("the end of a child by %s names its parent to the store, and that of a root names none", async (_, end) => {
  const parents: unknown[] = [];
  const subject = deployment([caller("parent", "child"), toolNamed("child", end)], {
    store: (memory) => ({
      finish: (request) => {
        parents.push("parent" in request ? request.parent : "none");
        return memory.finish(request);
      },
    }),
  });
  const { id } = await subject.call();
  expect(parents).toStrictEqual([
    { link: { taskId: id, key: "sub", rootId: id, depth: 1, path: "sub" }, childEndsMax: DEFAULT_SETTINGS.journalSizeMax },
    "none",
  ]);
});

describe("a call that creates no child", () => {
  const taskQuotas = { principal: { tasks: 10, bytes: 1_000 }, tenant: { tasks: 20, bytes: 2_000 } };

  test("names the tool that is not there", async () => {
    const { task } = await deployment([caller("parent", "nobody")]).call();
    expect(resultOf(task)).toStrictEqual({ code: "TOOL_NOT_FOUND", message: 'this worker has no tool "nobody" to call' });
  });

  test("lists the invalid arguments", async () => {
    const picky = toolNamed("picky", async () => ({}), {
      readArguments: () => ({ ok: false, violations: [{ path: "/seats", message: "is missing" }] }),
    });
    const { task } = await deployment([caller("parent", "picky"), picky]).call();
    expect(resultOf(task)).toMatchObject({ code: "INVALID_ARGUMENTS", message: expect.stringContaining("/seats is missing") });
  });

  test("says that the check of the arguments took too long, and its parent goes on", async () => {
    const hand = createHandClock();
    const slow = toolNamed("slow", async () => ({}), { readArguments: () => new Promise(() => undefined) });
    const subject = deployment([caller("parent", "slow"), slow], { services: { clock: hand.clock } });
    const called = subject.call();
    await hand.pass(ARGUMENTS_CHECK_MAX_MS);
    const { task } = await called;
    expect(resultOf(task)).toMatchObject({ code: "CALL_TIMEOUT", message: expect.stringContaining("the arguments of tool slow") });
    expect(subject.made).toHaveLength(1);
  });

  test("is the sixth of a circle: the five above it are created", async () => {
    const circle = toolNamed("circle", async ({ callTool }, { depth = 0 }) =>
      toldOf(callTool(`n${depth as number}`, { tool: "circle", arguments: { depth: (depth as number) + 1 } })),
    );
    const subject = deployment([circle]);
    const { task } = await subject.call();
    expect(subject.made).toHaveLength(6);
    let told: unknown = resultOf(task);
    for (let depth = 0; depth < 5; depth += 1) told = (told as { readonly result: unknown }).result;
    expect(told).toStrictEqual({
      code: "CHILD_REFUSED",
      message: "tools may call each other at most 5 levels deep: n0 → n1 → n2 → n3 → n4 → n5",
    });
  });

  test.each<[Awaited<ReturnType<TaskStore["create"]>>, JsonObject]>([
    ["crowded", { code: "CHILD_REFUSED", message: "one call may have at most 1000 unfinished tasks below it" }],
    [
      { over: "tasks", of: "principal" },
      { code: "QUOTA_EXCEEDED", message: "the caller has reached the maximum of 10 unfinished tasks (PARLEY_QUOTA_TASKS)" },
    ],
  ])("says that the store refused it, and the audit says so if it was a quota: %j", async (answer, told) => {
    const facts: AuditFact[] = [];
    const subject = deployment([caller("parent", "child"), toolNamed("child", async () => ({}))], {
      store: (memory) => ({ create: async (request) => (request.parent ? answer : await memory.create(request)) }),
      settings: { taskQuotas },
      services: { audit: { note: async (fact) => void facts.push(fact) } },
    });
    const { task } = await subject.call();
    expect(resultOf(task)).toStrictEqual(told);
    const { code, message: verdict } = told;
    const quota = { principal: "alice", tenant: "acme", door: "tool parent", action: "quota", verdict };
    expect(facts).toStrictEqual(code === "QUOTA_EXCEEDED" ? [quota] : []);
    expect(subject.logged.filter(({ message }) => message === "child task created")).toStrictEqual([]);
  });
});

test.each([
  ["exists", 1, "parked"],
  ["refused", 0, "fenced"],
  ["cancelled", 0, "fenced"],
  ["settled", 0, "parked"],
] as const)("a child that the store answers %j for has %d runs added, and its parent is %s", async (answer, runs, type) => {
  const subject = deployment([caller("parent", "child"), toolNamed("child", async () => ({}))], {
    store: (memory) => ({ create: async (request) => (request.parent ? answer : await memory.create(request)) }),
  });
  const { id } = await createTask(subject.services, caller("parent", "child"), {
    caller: alice,
    arguments: {},
    capabilities: {},
    hidden: false,
  });
  subject.added.length = 0;
  expect(await subject.run({ taskId: id, run: 1 })).toStrictEqual({ type });
  expect(subject.logged.filter(({ message }) => message === "child task created")).toStrictEqual([]);
  expect(subject.added.map(({ run, cause }) => [run, cause])).toStrictEqual(Array.from({ length: runs }, () => [1, "created"]));
});
