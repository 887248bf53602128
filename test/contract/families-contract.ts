/**
 * A task and the tasks that its tool calls, on a store whose callers die: before or after each call of the store, the calling process dies
 * and others continue. In every case the result is the same, each effect has one key, and nothing is left unfinished.
 */
import {
  answerTask,
  cancelTask,
  type Catalogue,
  createTask,
  DEFAULT_SETTINGS,
  isFinished,
  type JsonObject,
  type Outcome,
  type RunRef,
  runTask,
  type Services,
  sweep,
  type TaskStore,
} from "@parley/core";
import { createScope, createValidator, sha256Digest, systemClock } from "@parley/node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callerNamed } from "../../packages/core/callers/caller.fixture.ts";
import { toolNamed } from "../../packages/core/tool.fixture.ts";
import { newTaskId, newToken } from "./builders.ts";
import type { StoreUnderTest } from "./store/under-test.ts";

const ok = { type: "form", message: "OK?", schema: { type: "object", properties: { ok: { type: "boolean" } } } } as const;
const text = (said: string): JsonObject => ({ content: [{ type: "text", text: said }] });

type Moment = "before" | "behind";

/** A deployment whose processes die: `at` is the call of the store, counted from 1, at which the calling process dies. */
function deployment(
  open: StoreUnderTest,
  at: number,
  moment: Moment,
  meanwhile: (taskId: string) => Promise<unknown> = async () => undefined,
) {
  let skippedMs = 0;
  let calls = 0;
  let isDead = false;
  let taskId = "";
  const runs: RunRef[] = [];
  /** Keys of side effects, by the step that did them. */
  const done = new Map<string, Set<string>>();
  const store = new Proxy(open.store, {
    get(target, name) {
      const method = Reflect.get(target, name) as (...given: unknown[]) => Promise<unknown>;
      return async (...given: unknown[]) => {
        if (isDead) throw new Error("the process is dead");
        calls += 1;
        const isLast = calls === at;
        if (isLast) await meanwhile(taskId);
        isDead = isLast;
        if (isLast && moment === "before") throw new Error("died before");
        const result = await method.apply(target, given);
        if (isLast) throw new Error("died behind");
        return result;
      };
    },
  }) as TaskStore;
  const clock = { ...systemClock, now: () => Date.now() + skippedMs };
  const silent = () => undefined;
  const services: Services = {
    store,
    queue: { add: async (ref) => (isDead ? Promise.reject(new Error("the process is dead")) : void runs.push(ref)) },
    wakeUps: open.wakeUps,
    clock,
    scope: createScope(),
    ids: {
      taskId: () => (open.newTaskId ?? newTaskId)(),
      token: newToken,
      uuid: () => crypto.randomUUID(),
      random: Math.random,
    },
    digest: sha256Digest,
    validate: createValidator(),
    log: { debug: silent, info: silent, warn: silent, error: silent },
    settings: { ...DEFAULT_SETTINGS, divergenceWaitMs: 50, inlineSleepMaxMs: 0 },
  };
  const alive: Services = { ...services, store: open.store, queue: { add: async (ref) => void runs.push(ref) } };
  const effect = (name: string) => (attempt: { readonly idempotencyKey: string }) => {
    done.set(name, (done.get(name) ?? new Set()).add(attempt.idempotencyKey));
    return name;
  };
  const child = toolNamed("child", async ({ step, ask }, { n }) => {
    await step("hold", effect(`hold ${Number(n)}`));
    const answer = await ask("ok", ok);
    await step("book", effect(`book ${Number(n)}`));
    return text(`${Number(n)} ${answer.action}`);
  });
  const parent = toolNamed("parent", async ({ step, ask, callTool }) => {
    await step("begin", effect("begin"));
    await ask("may", ok);
    const ends = await Promise.all([1, 2].map((n) => callTool("child", { tool: "child", arguments: { n } })));
    await step("end", effect("end"));
    return { ...text(ends.map(said).join(", ")) };
  });
  const catalogue: Catalogue = {
    tools: new Map([child, parent].map((tool) => [tool.name, tool])),
    prompts: new Map(),
    resources: new Map(),
    templates: [],
  };
  const caller = callerNamed("alice");

  async function work(): Promise<void> {
    for (let ref = runs.shift(); ref && !isDead; ref = runs.shift()) await runTask(services, catalogue, ref).catch(silent);
  }

  return {
    done,
    caller,
    alive,
    get calls() {
      return calls;
    },
    /** Runs everything, with another process for each that died. Returns the tasks as they are at the end, the root first. */
    async play() {
      ({ id: taskId } = await createTask(alive, parent, { caller, arguments: {}, capabilities: {}, hidden: false }));
      for (let round = 0; round < 40; round += 1) {
        await work();
        if (isDead) {
          isDead = false;
          // The process that received a run may have died with it.
          runs.length = 0;
        }
        const root = await open.store.load(taskId);
        if (!root || isFinished(root.status)) break;
        const [ask] = root.asks;
        if (ask) await answerTask(alive, { taskId, caller, replies: { [ask.key]: { action: "accept", content: { ok: true } } } });
        if (runs.length > 0) continue;
        skippedMs += DEFAULT_SETTINGS.leaseMs;
        await sweep(alive, { partition: 0 });
      }
      const journal = await open.store.journal(taskId);
      const ids = [taskId, ...journal.flatMap(({ child: id }) => id ?? [])];
      return await Promise.all(ids.map((id) => open.store.load(id)));
    },
  };
}

function said(end: Outcome | { readonly type: string }): string {
  return "result" in end ? JSON.stringify(end.result["content"]) : end.type;
}

const MOMENTS = ["before", "behind"] as const;

export function describeFamilies(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`a tool that calls tools, on the store ${name}`, () => {
    let opened: StoreUnderTest;
    beforeAll(async () => {
      opened = await open();
    });
    afterAll(() => opened.close());

    const keysOf = (done: ReadonlyMap<string, ReadonlySet<string>>) => [...done].map(([step, keys]) => [step, keys.size]).toSorted();

    test("has one result, and one key for each effect, if its process dies at any call of the store", async () => {
      const calm = deployment(opened, 0, "before");
      const [root, ...children] = await calm.play();
      expect(root).toMatchObject({ status: "completed" });
      expect(children.map((child) => child?.status)).toEqual(["completed", "completed"]);
      const wanted = JSON.stringify(root?.outcome);
      expect(wanted).toContain("accept");
      expect(keysOf(calm.done)).toHaveLength(6);

      for (let at = 1; at <= calm.calls; at += 1) {
        for (const moment of MOMENTS) {
          const subject = deployment(opened, at, moment);
          const [end, ...theirs] = await subject.play();
          const what = `${moment} call ${at}`;
          expect([what, end?.status, JSON.stringify(end?.outcome)]).toEqual([what, "completed", wanted]);
          expect([what, theirs.map((child) => child?.status)]).toEqual([what, ["completed", "completed"]]);
          expect([what, keysOf(subject.done)]).toEqual([what, keysOf(calm.done)]);
        }
      }
    }, 120_000);

    test("leaves nothing unfinished, if it is cancelled and its process dies at any call of the store", async () => {
      const calm = deployment(opened, 0, "before");
      await calm.play();

      for (let at = 1; at <= calm.calls; at += 1) {
        for (const moment of MOMENTS) {
          const cancel = (taskId: string) => cancelTask(subject.alive, { taskId, caller: subject.caller });
          const subject = deployment(opened, at, moment, cancel);
          const ends = await subject.play();
          const what = `${moment} call ${at}`;
          const unfinished = ends.filter((task) => task && !isFinished(task.status)).map((task) => task?.call.name);
          expect([what, ends[0]?.status === "working", unfinished]).toEqual([what, false, []]);
        }
      }
    }, 120_000);
  });
}
