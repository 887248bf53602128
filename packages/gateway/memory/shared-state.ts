/** What the processes of a gateway share, in memory: the rules of packages/redis/gateway.ts in readable form. */
import { randomUUID } from "node:crypto";
import type { Share } from "../processes/gateway.ts";
import type { DeadProcess } from "../processes/membership.ts";

interface Held {
  readonly process: string;
  readonly untilMs: number;
}

type Listener = (text: string) => void;

/** A process that has not beaten for this long is dead. */
const ALIVE_MS = 7_000;
const MINUTE_MS = 60_000;
/** How long a process has to follow up on the calls of a dead one, before another takes over. */
const FOLLOW_UP_MS = 10_000;
/** How many dead processes one look takes. */
const DEAD_MAX = 10;

/** Returns a function that adds a process to the deployment. */
export function createMemoryShares(now: () => number): () => Share {
  /** Processes, by the time until which they count as alive. */
  const alive = new Map<string, number>();
  /** Dead processes, by the time until which another follows up on their calls. */
  const followedUp = new Map<string, number>();
  /** Tasks of each process, and whether their calls are final. */
  const calls = new Map<string, Map<string, boolean>>();
  const holders = new Map<string, Held>();
  const lists = new Map<string, { readonly revision: string; readonly text: string }>();
  const leases = new Map<string, Held>();
  const states = new Map<string, Held>();
  const claimed = new Map<string, number>();
  const buckets = new Map<string, { readonly tokens: number; readonly atMs: number }>();
  const listeners = new Map<string, Set<Listener>>();

  async function listen(channel: string, listener: Listener): Promise<() => void> {
    const all = listeners.get(channel) ?? new Set();
    listeners.set(channel, all.add(listener));
    return () => void all.delete(listener);
  }

  async function publish(channel: string, text: string): Promise<void> {
    for (const listener of listeners.get(channel) ?? []) setImmediate(() => listener(text));
  }

  function deadProcess(process: string): DeadProcess {
    return {
      process,
      untilMs: followedUp.get(process) ?? 0,
      calls: [...(calls.get(process) ?? [])].map(([taskId, isFinal]) => ({ taskId, isFinal })),
    };
  }

  return () => {
    const id = randomUUID();
    return {
      id,
      async claim(taskId, { isFinal, ttlMs }) {
        const own = calls.get(id) ?? new Map<string, boolean>();
        calls.set(id, own.set(taskId, isFinal));
        holders.set(taskId, { process: id, untilMs: now() + ttlMs });
      },
      async release(taskId) {
        calls.get(id)?.delete(taskId);
        // Another process may hold the task's call by now.
        if (holders.get(taskId)?.process === id) holders.delete(taskId);
      },
      async holderOf(taskId) {
        const holder = holders.get(taskId);
        if (!holder || holder.process === id || holder.untilMs <= now()) return "here";
        const { process } = holder;
        return (alive.get(process) ?? 0) > now() ? { process } : "here";
      },
      ask: (text) => publish("asked", text),
      onAsked: (listener) => listen("asked", listener),
      callers: async () => [...alive].flatMap(([process, untilMs]) => (untilMs > now() ? [process] : [])),
      async post(box, process, text) {
        const channel = `${box} ${process}`;
        await publish(channel, text);
        return (listeners.get(channel)?.size ?? 0) > 0;
      },
      onPost: (box, listener) => listen(`${box} ${id}`, listener),
      async claimAsked(request, ttlMs) {
        if ((claimed.get(request) ?? 0) > now()) return false;
        claimed.set(request, now() + ttlMs);
        return true;
      },
      async renewAsked(request, ttlMs) {
        if ((claimed.get(request) ?? 0) > now()) claimed.set(request, now() + ttlMs);
      },
      async beat() {
        const wasMember = alive.has(id);
        alive.set(id, now() + ALIVE_MS);
        return wasMember;
      },
      async takeDead() {
        const isOver = ([process, untilMs]: [string, number]) => untilMs < now() && process !== id;
        // A process that looks is alive, however long it took. If the others had declared it dead, it follows up on its own calls.
        const own: [string, number][] = followedUp.has(id) ? [[id, 0]] : [];
        const entered = [...followedUp].filter(isOver);
        const silent = [...alive].filter(isOver);
        const dead = [...own, ...entered, ...silent].slice(0, DEAD_MAX).map(([process]) => process);
        for (const process of dead) {
          if (!followedUp.has(process)) alive.delete(process);
          followedUp.set(process, now() + FOLLOW_UP_MS);
        }
        return dead.map(deadProcess);
      },
      async forgetDead({ process, untilMs, calls: followed }) {
        for (const { taskId } of followed) calls.get(process)?.delete(taskId);
        if (followedUp.get(process) === untilMs) followedUp.delete(process);
      },
      async leave() {
        alive.delete(id);
        followedUp.set(id, now() + FOLLOW_UP_MS);
        return deadProcess(id);
      },
      async readLists(known) {
        const stored = [...known].flatMap(([name, revision]) => {
          const list = lists.get(name);
          if (!list) return [];
          return [[name, list.revision === revision ? { revision } : list] as const];
        });
        return new Map(stored);
      },
      async writeList(upstream, text) {
        lists.set(upstream, { revision: randomUUID(), text });
      },
      async lease(upstream, ttlMs) {
        const lease = leases.get(upstream);
        if (lease && lease.process !== id && lease.untilMs > now()) return false;
        leases.set(upstream, { process: id, untilMs: now() + ttlMs });
        return true;
      },
      async takeState(key, ttlMs) {
        const named = states.get(key);
        if (named && named.untilMs > now()) return { process: named.process, isAlive: (alive.get(named.process) ?? 0) > now() };
        states.set(key, { process: id, untilMs: now() + ttlMs });
        return "new";
      },
      async keepState(key, ttlMs) {
        const named = states.get(key);
        if (!named || named.process === id || named.untilMs <= now()) states.set(key, { process: id, untilMs: now() + ttlMs });
      },
      async releaseState({ key, process }) {
        if (states.get(key)?.process === process) states.delete(key);
      },
      async stateAt(key) {
        const named = states.get(key);
        if (!named || named.process === id || named.untilMs <= now()) return "here";
        return (alive.get(named.process) ?? 0) > now() ? { process: named.process } : "here";
      },
      async takeQuestions(who, count, perMinute) {
        const { tokens, atMs } = buckets.get(who) ?? { tokens: perMinute, atMs: now() };
        // A clock that is behind adds nothing.
        const filled = Math.min(perMinute, tokens + (Math.max(0, now() - atMs) * perMinute) / MINUTE_MS);
        // More at once than a minute has take all of it.
        const wanted = Math.min(count, perMinute);
        if (filled < wanted) return Math.ceil(((wanted - filled) * MINUTE_MS) / perMinute);
        buckets.set(who, { tokens: filled - wanted, atMs: Math.max(now(), atMs) });
        return 0;
      },
    };
  };
}
