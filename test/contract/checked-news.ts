/**
 * A Redis store that compares, after each change of a task, what the wake-up says of it with what is read: a listener that applies a change must know
 * the task as a reader does (packages/redis/tasks/wake-up-news.ts).
 */
import type { Task, TaskChange, TaskStore } from "@parley/core";
import { expect } from "vitest";
import { changeOf } from "../../packages/redis/tasks/wake-up-news.ts";
import { openLook } from "../support/look.ts";
import { until } from "../support/until.ts";
import type { OpenRedis } from "./open-redis.ts";
import type { StoreUnderTest } from "./store/under-test.ts";

/** The changes that wake-ups are to tell in full. Closing the test fails if one of them never did. */
const TOLD_IN_FULL = ["answered", "asked", "closed", "completed", "failed", "overdue", "withdrawn"];

export async function withCheckedNews(opened: OpenRedis): Promise<StoreUnderTest> {
  const { store, prefix, url } = opened;
  const heard = new Map<string, { readonly message: string; readonly change: TaskChange }>();
  const told = new Set<string>();
  /** Tasks as a listener knows them: read once, then made from what it hears. */
  const followed = new Map<string, Task>();
  const listener = openLook(url);
  await listener.psubscribe(`${prefix}:{p*}:task:*`);
  listener.on("pmessage", (_pattern, channel: string, message: string) => {
    const change = changeOf(message);
    heard.set(`${channel.slice(channel.lastIndexOf(":") + 1)} ${change.revision}`, { message, change });
  });

  async function compare(read: Task | undefined, after: Task | undefined): Promise<void> {
    if (!after) return;
    const before = followed.get(after.id) ?? read;
    if (before?.revision === after.revision) return;
    followed.set(after.id, after);
    // Several changes at once.
    if (before?.revision !== after.revision - 1) return;
    const { message, change } = await until(() => heard.get(`${after.id} ${after.revision}`));
    const known = change.apply?.(before);
    if (!known) return;
    // Calls of other tools are opened without a change that clients can see.
    const { calls, ...seen } = after;
    expect(known).toEqual({ ...seen, ...(known.calls && { calls }) });
    followed.set(after.id, known);
    for (const [what] of message
      .split("\n", 1)
      .join("")
      .matchAll(/[a-z]+(?=:|\s)/g))
      told.add(what);
  }

  const checked = new Proxy(store, {
    get(target, name: keyof TaskStore) {
      const method = target[name] as (...given: unknown[]) => unknown;
      return async (...given: unknown[]) => {
        const { taskId } = (given[0] ?? {}) as { taskId?: string };
        if (taskId === undefined) return await method(...given);
        // Both are sent at once, because some tests rely on the order of commands.
        const loading = store.load(taskId);
        const reply = method(...given);
        const before = await loading;
        try {
          return await reply;
        } finally {
          await compare(before, await store.load(taskId));
        }
      };
    },
  });
  return {
    ...opened,
    store: checked,
    async close() {
      listener.disconnect();
      await opened.close();
      expect([...told].filter((what) => TOLD_IN_FULL.includes(what)).toSorted()).toEqual(TOLD_IN_FULL);
    },
  };
}
