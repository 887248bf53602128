import { setTimeout as wait } from "node:timers/promises";
import { createScope, createValidator, sha256Digest, systemClock } from "@parley/node";
import { describe, expect, test } from "vitest";
import { callerNamed } from "../callers/caller.fixture.ts";
import type { Catalogue } from "../catalogue.ts";
import type { Effects } from "../effects.ts";
import { createHandClock } from "../hand-clock.fixture.ts";
import { createMemoryStore, createMemoryWakeUps } from "../memory/index.ts";
import type { Begun, Clock, TaskStore } from "../ports.ts";
import { DEFAULT_SETTINGS } from "../settings.ts";
import type { Task } from "../task.ts";
import { toolNamed } from "../tool.fixture.ts";
import { createTask } from "./create-task.ts";
import { runTask } from "./run-task.ts";
import type { Services } from "./services.ts";
import { createSuspects, isSuspect } from "./suspects.ts";

const forever = () => new Promise<never>(() => undefined);
const begun = async () => ({ type: "begun", takeovers: 2 }) as Begun;

describe("suspects", () => {
  test("while one runs no other begins; when it is cleared the next one does", async () => {
    const { takeOver } = createSuspects({ sleep: forever });
    const first = await takeOver(begun);
    let isTouched = false;
    const touch = async () => {
      isTouched = true;
      return await begun();
    };
    expect(await takeOver(touch)).toBe("deferred");
    expect(isTouched).toBe(false);
    if (first !== "deferred") first.cleared();
    expect(await takeOver(touch)).toMatchObject({ begun: { takeovers: 2 } });
  });

  test("of two simultaneous ones one is deferred", async () => {
    const { takeOver } = createSuspects({ sleep: forever });
    expect(await Promise.all([takeOver(begun), takeOver(begun)])).toMatchObject([{ begun: { takeovers: 2 } }, "deferred"]);
  });

  test("a begin that fails, and one that is refused, block no one", async () => {
    const { takeOver } = createSuspects({ sleep: forever });
    await expect(takeOver(() => Promise.reject(new Error("away")))).rejects.toThrow("away");
    await takeOver(async () => ({ type: "refused", reason: "held" }));
    expect(await takeOver(begun)).toMatchObject({ begun: { takeovers: 2 } });
  });

  test("one that has run for long blocks no one any more, and its own end clears no other", async () => {
    const sleeps = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let slept = 0;
    const { takeOver } = createSuspects({ sleep: () => sleeps[slept++]?.promise ?? forever() });
    const first = await takeOver(begun);
    sleeps[0]?.resolve();
    await wait(0);
    expect(await takeOver(begun)).toMatchObject({ begun: { takeovers: 2 } });
    if (first !== "deferred") first.cleared();
    expect(await takeOver(begun)).toBe("deferred");
  });
});

test.each([
  ["one that is gone", undefined, 1, false],
  ["one that was never taken over", { run: 1 }, 1, false],
  ["one that was taken over once before", { run: 1, takeovers: 1 }, 1, true],
  ["one that was taken over often, which a later run begins", { run: 1, takeovers: 4 }, 2, false],
])("of tasks that a worker may take over, %s is a suspect: %o by run %i: %s", (_which, task, run, isIt) => {
  expect(isSuspect(task as Task | undefined, run)).toBe(isIt);
});

test("a suspect blocks others for half a minute, and its timer ends with it", async () => {
  const { clock, pass, sleeping } = createHandClock();
  const { takeOver } = createSuspects(clock);
  await takeOver(begun);
  await pass(29_999);
  expect(await takeOver(begun)).toBe("deferred");
  await pass(1);
  const next = await takeOver(begun);
  expect([next, sleeping()]).toMatchObject([{ begun: { takeovers: 2 } }, [30_000]]);
  if (next !== "deferred") next.cleared();
  expect(sleeping()).toStrictEqual([]);
});

/** Processes that die one after another, with the same tool. Their open runs stay theirs until the lease expires. */
function deployment() {
  let skippedMs = 0;
  const clock: Clock = { ...systemClock, now: () => Date.now() + skippedMs };
  const wakeUps = createMemoryWakeUps();
  const store = createMemoryStore({ clock, wakeUps });
  let ids = 0;
  let death = Promise.withResolvers<void>();
  const counts: Record<string, number> = {};

  const run = async ({ step }: Effects, { kills }: { kills?: boolean }) => {
    await step("work", () => wait(kills ? 2 : 10));
    if (kills) {
      death.resolve();
      await forever();
    }
    return { content: [] };
  };
  // No step, so it is unknown whether it did anything.
  const tool = toolNamed(
    "subject",
    (effects, args) => run({ ...effects, step: async (_name, work) => (await work({} as never)) as never }, args),
    {
      settings: { runTimeoutMs: 60_000, retentionMs: 60_000 },
    },
  );
  const catalogue: Catalogue = { tools: new Map([[tool.name, tool]]), prompts: new Map(), resources: new Map(), templates: [] };
  const ports = { wakeUps, clock, digest: sha256Digest, validate: createValidator(), queue: { add: async () => undefined } };
  const quiet = () => undefined;
  const base: Services = {
    ...ports,
    store,
    scope: createScope(),
    ids: { taskId: () => `0-${(ids += 1)}`, token: () => `token-${(ids += 1)}`, uuid: () => crypto.randomUUID(), random: () => 0.5 },
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    settings: DEFAULT_SETTINGS,
  };

  /** A process from its start to its death, or until nothing is due. */
  async function live(): Promise<"died" | "idle"> {
    death = Promise.withResolvers<void>();
    let isDead = false;
    void death.promise.then(() => (isDead = true));
    const mortal =
      <Args extends unknown[], Reply>(call: (...args: Args) => Promise<Reply>) =>
      async (...args: Args) =>
        isDead ? await forever() : await call(...args);
    const mortalStore = Object.fromEntries(
      Object.entries(store).map(([name, call]) => [name, mortal(call as never)]),
    ) as unknown as TaskStore;
    const services: Services = {
      ...base,
      store: {
        ...mortalStore,
        async begin(request) {
          const reply = await mortalStore.begin(request);
          if (reply.type === "begun") counts[request.taskId] = reply.takeovers;
          return reply;
        },
      },
      suspects: createSuspects(clock),
    };
    for (;;) {
      const due = await store.overdue({ partition: 0, nowMs: clock.now(), limit: 1_000 });
      if (due.length === 0) return "idle";
      const all = Promise.all(due.map((ref) => runTask(services, catalogue, { ...ref, isSecondHand: true })));
      if ((await Promise.race([all.then(() => "done"), death.promise.then(() => "died")])) === "died") return "died";
    }
  }

  return {
    create: (args: { kills?: boolean }) =>
      createTask(base, tool, { caller: callerNamed("alice"), arguments: args, capabilities: {}, hidden: false }).then(({ id }) => id),
    live,
    skip: (ms: number) => void (skippedMs += ms),
    status: async (taskId: string) => (await store.load(taskId))?.status,
    outcome: async (taskId: string) => (await store.load(taskId))?.outcome,
    counts,
  };
}

test("of thirty tasks, the one that kills its workers fails as poisoned; no other is taken over more than twice", async () => {
  const { create, live, skip, status, outcome, counts } = deployment();
  const neighbours = await Promise.all(Array.from({ length: 15 }, () => create({})));
  const poison = await create({ kills: true });
  neighbours.push(...(await Promise.all(Array.from({ length: 14 }, () => create({})))));
  let deaths = 0;
  skip(DEFAULT_SETTINGS.graceMs + 1);
  while ((await live()) === "died") {
    deaths += 1;
    skip(DEFAULT_SETTINGS.leaseMs + 1);
  }
  expect(await status(poison)).toBe("failed");
  expect(JSON.stringify(await outcome(poison))).toContain("POISONED");
  expect(deaths).toBe(DEFAULT_SETTINGS.takeoversMax + 1);
  expect(await Promise.all(neighbours.map(status))).toEqual(neighbours.map(() => "completed"));
  expect(Math.max(...neighbours.map((taskId) => counts[taskId] ?? 0))).toBe(2);
});
