/** The store under test, and the few operations that most tests of the contract need. */
import type { Entry, KeyedEntry, WakeUps, TaskStore } from "@parley/core";
import { expect, vi } from "vitest";
import { aLife, LEASE_MS, newTaskId as newPlainTaskId, newToken, WEEK_MS } from "../builders.ts";

export interface StoreUnderTest {
  readonly store: TaskStore;
  readonly wakeUps: WakeUps;
  /** Creates the id of a task whose content the store seals, if it seals content. */
  readonly newTaskId?: () => string;
  /** The same for a tenant other than the default one. */
  readonly taskIdOf?: (tenant: string) => string | Promise<string>;
  close(): Promise<void>;
}

export type UnderTest = ReturnType<typeof underTest>;

/** `current` is called when a test runs, because tests are defined before the store exists. */
export function underTest(current: () => StoreUnderTest, partitions: number) {
  const store = late(() => current().store);
  const wakeUps = late(() => current().wakeUps);
  const newTaskId = () => (current().newTaskId ?? newPlainTaskId)();
  const begin = (taskId: string, run: number, { token = newToken(), nowMs = Date.now() } = {}) =>
    store.begin({ taskId, run, token, nowMs, leaseMs: LEASE_MS });
  return {
    store,
    wakeUps,
    partitions,
    newTaskId,
    taskIdOf: async (tenant: string) => (await current().taskIdOf?.(tenant)) ?? newTaskId(),
    life: aLife(store, newTaskId),
    begin,
    async overdueAt(nowMs: number, taskId: string) {
      return (await store.overdue({ partition: 0, nowMs, limit: 10_000 })).find((run) => run.taskId === taskId)?.run;
    },
    record: (taskId: string, token: string, ...entries: KeyedEntry[]) =>
      store.record({ taskId, token, nowMs: Date.now(), leaseMs: LEASE_MS, entries }),
    /** The journal, as the worker that takes over the open run or begins the next one receives it. */
    async journalOf(taskId: string, run: number): Promise<ReadonlyMap<string, Entry>> {
      const begun = await begin(taskId, run, { nowMs: Date.now() + WEEK_MS });
      if (begun.type !== "begun") throw new Error(`run ${run} was refused: ${begun.reason}`);
      return begun.journal;
    },
    async countWakes(taskId: string) {
      const onChange = vi.fn();
      return { onChange, stop: await wakeUps.watch(taskId, onChange) };
    },
  };
}

/** The seed of a task, which ends in a digest of its owner if content is sealed. */
export function sealedFor(seed: string): unknown {
  return expect.stringMatching(new RegExp(`^${seed}(~[\\w-]+)?$`));
}

function late<T extends object>(current: () => T): T {
  return new Proxy({} as T, { get: (_target, name) => Reflect.get(current(), name) as unknown });
}
