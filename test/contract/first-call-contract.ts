/**
 * A call of an upstream through workers that die: before and after each of their calls of the store, and while the upstream is at work. A call that may not
 * be repeated is made at most once, and its task reports if the outcome is unknown; one that may be repeated gets its result.
 */
import {
  answerTask,
  createTask,
  DEFAULT_SETTINGS,
  isFinished,
  type RunRef,
  runTask,
  type Services,
  sweep,
  type TaskStore,
} from "@parley/core";
import { createScope, createValidator, sha256Digest, systemClock } from "@parley/node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callerNamed } from "../../packages/core/callers/caller.fixture.ts";
import { createCalls } from "../../packages/gateway/call/calls.ts";
import { gatewayTool } from "../../packages/gateway/offer/gateway-tool.ts";
import { type Behaviour, connectorTo, ELICITATION, someDeps } from "../../packages/gateway/upstream.fixture.ts";
import { parseUpstreams } from "../../packages/gateway/config/upstreams.ts";
import { newTaskId, newToken } from "./builders.ts";
import type { StoreUnderTest } from "./store/under-test.ts";

interface Case {
  readonly repeatable: boolean;
  /** Whether the worker knows what the task calls before it takes it. */
  readonly isKnown: boolean;
  readonly asks: boolean;
}

/** `call`: the call of the store, counted from 1, that the first worker does not survive; or it dies while the upstream is at work. */
interface Death {
  readonly call: number;
  readonly moment: "before" | "behind" | "upstream" | "given back";
}

const silent = () => undefined;
const log = { debug: silent, info: silent, warn: silent, error: silent };
const caller = callerNamed("alice");

function deployment(open: StoreUnderTest, { repeatable, isKnown, asks }: Case, { call: at, moment }: Death) {
  let skippedMs = 0;
  let calls = 0;
  let hasDied = false;
  let isDead = false;
  let isSent = false;
  let dies = Promise.withResolvers<void>();
  const runs: RunRef[] = [];
  const order: string[] = [];

  function die(): void {
    isDead = true;
    hasDied = true;
    dies.resolve();
  }

  /** Drops what a process that has died would have done afterwards. */
  const ofProcess = (number: number) => {
    const isOver = () => number !== process || isDead;
    return new Proxy(open.store, {
      get(target, name) {
        const method = Reflect.get(target, name) as (...given: unknown[]) => Promise<unknown>;
        return async (...given: unknown[]) => {
          if (isOver()) throw new Error("the process is dead");
          calls += 1;
          order.push(String(name));
          const isLast = !hasDied && calls === at;
          if (isLast && moment === "before") die();
          if (isLast && moment === "before") throw new Error("died before");
          const result = await method.apply(target, given);
          if (isLast && moment === "behind") die();
          // Only the reply is lost: the worker lives and releases the run.
          if (isLast && moment !== "upstream") throw new Error("the reply is lost");
          return result;
        };
      },
    }) as TaskStore;
  };

  const behave: Behaviour = async ({ ask }) => {
    order.push("sent");
    if (moment === "upstream" && !isSent) {
      isSent = true;
      die();
      await new Promise(() => undefined);
    }
    return asks ? await ask("?") : "done";
  };
  const connector = connectorTo(behave);
  const [upstream] = parseUpstreams("up.json", JSON.stringify({ upstreams: [{ name: "up", url: "https://up.example.com", repeatable }] }));
  if (!upstream) throw new Error("there is an upstream");
  let process = 0;

  function start() {
    process += 1;
    isDead = false;
    dies = Promise.withResolvers<void>();
    const { onAbandoned: _, ...call } = someDeps(connector);
    const holders = { claim: async () => undefined, release: async () => undefined };
    const own = createCalls({ call, holders, callsMax: 10, log, onAbandoned: silent });
    const tool = gatewayTool(
      { name: "tool", inputSchema: { type: "object" } },
      { upstream: upstream!, calls: own, elicitation: ELICITATION },
    );
    const services: Services = { ...alive, store: ofProcess(process) };
    const catalogue = { tools: new Map([[tool.name, tool]]), prompts: new Map(), resources: new Map(), templates: [] };
    return { tool, run: (ref: RunRef) => runTask(services, catalogue, ref) };
  }

  const alive: Services = {
    store: open.store,
    // As the jobs of earlier versions, which did not name what a new task calls.
    queue: { add: async ({ taskId, run }) => void runs.push({ taskId, run }) },
    wakeUps: open.wakeUps,
    clock: { ...systemClock, now: () => Date.now() + skippedMs },
    scope: createScope(),
    ids: { taskId: () => (open.newTaskId ?? newTaskId)(), token: newToken, uuid: () => crypto.randomUUID(), random: Math.random },
    digest: sha256Digest,
    validate: createValidator(),
    log,
    settings: { ...DEFAULT_SETTINGS, divergenceWaitMs: 50, inlineSleepMaxMs: 0 },
  };

  return {
    order,
    connector,
    get calls() {
      return calls;
    },
    async play() {
      let worker = start();
      const { id: taskId } = await createTask(alive, worker.tool, {
        caller,
        arguments: {},
        capabilities: { elicitation: { form: true, url: false } },
        hidden: false,
      });
      for (let round = 0; round < 40; round += 1) {
        for (let ref = runs.shift(); ref && !isDead; ref = runs.shift()) {
          const isFirst = isKnown && ref.run === 1 && round === 0;
          const due = { ...ref, ...(isFirst && { calls: { kind: "tool", name: worker.tool.name } as const }) };
          await Promise.race([worker.run(due).catch(silent), dies.promise]);
        }
        if (isDead) {
          runs.length = 0;
          worker = start();
        }
        const task = await open.store.load(taskId);
        if (!task || isFinished(task.status)) return task;
        const [ask] = task.asks;
        if (ask) await answerTask(alive, { taskId, caller, replies: { [ask.key]: { action: "accept", content: { ok: true } } } });
        if (runs.length > 0) continue;
        skippedMs += DEFAULT_SETTINGS.leaseMs;
        await sweep(alive, { partition: 0 });
      }
      return await open.store.load(taskId);
    },
  };
}

const NEVER: Death = { call: 0, moment: "before" };
const both = [true, false] as const;
const CASES = both.flatMap((repeatable) => both.flatMap((isKnown) => both.map((asks): Case => ({ repeatable, isKnown, asks }))));

export function describeFirstCalls(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`a call of an upstream, on the store ${name}`, () => {
    let opened: StoreUnderTest;
    beforeAll(async () => {
      opened = await open();
    });
    afterAll(() => opened.close());

    test("is sent after one write of its task, or none if its worker knows what it takes", async () => {
      for (const [isKnown, order] of [
        [true, ["begin", "sent", "finish"]],
        [false, ["begin", "record", "sent", "finish"]],
      ] as const) {
        const subject = deployment(opened, { repeatable: false, isKnown, asks: false }, NEVER);
        expect(await subject.play()).toMatchObject({ status: "completed" });
        expect(subject.order).toEqual(order);
      }
    });

    test("that asks is recorded in one write, together with its question", async () => {
      const subject = deployment(opened, { repeatable: false, isKnown: true, asks: true }, NEVER);
      expect(await subject.play()).toMatchObject({ status: "completed" });
      expect(subject.order).toEqual(["begin", "sent", "park", "begin", "finish"]);
    });

    test.each(CASES)(
      "is made once at most, or repeated where it may be, whenever its worker dies: %o",
      async (given) => {
        const calm = deployment(opened, given, NEVER);
        expect(await calm.play()).toMatchObject({ status: "completed" });
        const deaths: Death[] = [{ call: 0, moment: "upstream" }];
        for (let call = 1; call <= calm.calls; call += 1) for (const moment of ["before", "behind"] as const) deaths.push({ call, moment });

        for (const death of deaths) {
          const subject = deployment(opened, given, death);
          const end = await subject.play();
          const what = `${death.moment} call ${death.call}`;
          const made = subject.connector.calls();
          if (given.repeatable || end?.status === "completed") expect([what, end?.status, made > 0]).toEqual([what, "completed", true]);
          else {
            const error = { data: { code: "UPSTREAM_LOST" } };
            expect([what, end?.outcome]).toMatchObject([what, { type: "error", error }]);
          }
          if (!given.repeatable) expect([what, made <= 1]).toEqual([what, true]);
        }
      },
      60_000,
    );

    test("that its worker released before it began is made by the next worker", async () => {
      const subject = deployment(opened, { repeatable: false, isKnown: true, asks: false }, { call: 1, moment: "given back" });
      expect(await subject.play()).toMatchObject({ status: "completed" });
      expect(subject.order).toEqual(["begin", "release", "begin", "record", "sent", "finish"]);
    });
  });
}
