/**
 * What the gateway's processes share: which process holds the call of a task, and what upstreams list.
 *
 *   parley:{p0}:task:<id>:holder   the process, for as long as the question may wait; deleted with the call
 *   parley:gateway:holders         zset: processes by the time until which they count as alive; each extends its own. And
 *                                  dead:<process> by the time until which another process follows up on its calls
 *   parley:gateway:calls:<process> hash: its tasks; 1 for those whose call cannot be made again
 *   parley:gateway:lists           hash: the lists of each upstream as JSON, and :revision beside it
 *   parley:gateway:lister:<name>   the process that reads the lists of an upstream
 *   parley:gateway:state:<digest>  the process that has the state of a caller at an upstream
 *   parley:gateway:claim:<id>      the process that handles a front end's request with that id; expires soon after
 *   parley:gateway:letter:<id>     a message that is too long for a channel, encrypted; deleted by who reads it
 */
import { randomUUID } from "node:crypto";
import type { Redis } from "ioredis";
import { createLetters } from "./connection/letters.ts";
import type { RedisWakeUps } from "./wake-ups/wake-ups.ts";
import type { Box, Keys } from "./keys.ts";
import { loadScripts } from "./scripts/load-scripts.ts";
import { reached } from "./connection/unavailable.ts";

export interface GatewayShare {
  /** Id of this process. */
  readonly id: string;
  /** Takes effect before this process's later writes to the task, because one connection keeps their order. */
  claim(taskId: string, facts: { readonly isFinal: boolean; readonly ttlMs: number }): Promise<void>;
  release(taskId: string): Promise<void>;
  /** Where the task's run belongs: `here`, which includes calls that no process holds, or with another live process. */
  holderOf(taskId: string): Promise<"here" | { readonly process: string }>;
  /**
   * Extends this process's lease on life. False if the others had declared it dead, so that it no longer owns its
   * calls.
   */
  beat(): Promise<boolean>;
  /**
   * Processes that have stopped beating, with their calls. Each is reported to one process, and again if that has not
   * called `forgetDead` after 10 s. A process that beats again after it was declared dead is reported to itself too.
   */
  takeDead(): Promise<readonly DeadProcess[]>;
  /** Its calls have been followed up on. Changes nothing if it was taken again since. */
  forgetDead(dead: DeadProcess): Promise<void>;
  /** Ends this process's membership. Unless it calls `forgetDead` with what this returns, it is reported as dead. */
  leave(): Promise<DeadProcess>;
  readLists(known: ReadonlyMap<string, string>): Promise<ReadonlyMap<string, { readonly revision: string; readonly text?: string }>>;
  writeList(upstream: string, text: string): Promise<void>;
  lease(upstream: string, ttlMs: number): Promise<boolean>;
  /**
   * Names this process as the one that has a caller's state at an upstream, if none is named. Resolves to the process
   * that is named otherwise, and whether it lives.
   */
  takeState(key: string, ttlMs: number): Promise<"new" | { readonly process: string; readonly isAlive: boolean }>;
  /** Prolongs the name, unless another process is named. */
  keepState(key: string, ttlMs: number): Promise<void>;
  /** Removes the name of that process. */
  releaseState(state: { readonly key: string; readonly process: string }): Promise<void>;
  /** Where the state is: `here`, which includes state that no live process has, or at another process. */
  stateAt(key: string): Promise<"here" | { readonly process: string }>;
  /** Counts questions to a caller, for all processes. Resolves to how long to wait if they are too many, in which case none is counted, or to 0. */
  takeQuestions(who: string, count: number, perMinute: number): Promise<number>;
  /**
   * Asks all workers for something. One of them claims the request and posts its reply to the process that asked. The
   * request is not stored.
   */
  ask(text: string): Promise<void>;
  onAsked(listener: (text: string) => void): Promise<() => void>;
  claimAsked(id: string, ttlMs: number): Promise<boolean>;
  renewAsked(id: string, ttlMs: number): Promise<void>;
  /** The live processes that make calls. */
  callers(): Promise<readonly string[]>;
  /** Sends a message to one process. Nothing readable is stored. Resolves to false if that process certainly did not receive it. */
  post(box: Box, process: string, text: string): Promise<boolean>;
  onPost(box: Box, listener: (text: string) => void): Promise<() => void>;
}

export interface DeadProcess {
  readonly process: string;
  /** Until when the process that took it has time to follow up. Identifies this death: it may live again, and die again. */
  readonly untilMs: number;
  readonly calls: readonly { readonly taskId: string; readonly isFinal: boolean }[];
}

export interface GatewayShareOptions {
  readonly redis: Redis;
  readonly wakeUps: Pick<RedisWakeUps, "listen">;
  readonly keys: Keys;
  readonly now: () => number;
}

/** The same as a run's lease: for this long, no process repeats a call that another may hold. */
const ALIVE_MS = 7_000;
/** Longer than it takes to declare dead the process that follows up on another one's calls. */
const FOLLOW_UP_MS = 10_000;
/** Dead processes taken at once. */
const DEAD_MAX = 10;
const DAY_MS = 24 * 60 * 60 * 1_000;
/** Longer than any question waits. What a dead process leaves behind expires then. */
const CALLS_KEPT_MS = 35 * DAY_MS;
const LISTS_KEPT_MS = 30 * DAY_MS;
/**
 * Suffix of the field with a list's revision. Lists are fetched one by one and only if they changed, because each may
 * have several megabytes.
 */
const REVISION = ":revision";

export function createGatewayShare({ redis, wakeUps, keys, now }: GatewayShareOptions): GatewayShare {
  const id = randomUUID();
  const { holders, lists } = keys.gateway;

  const listen = (channel: string, listener: (text: string) => void) =>
    wakeUps.listen(channel, (text) => {
      if (text !== undefined) listener(text);
    });

  const letters = createLetters({ redis, keyOf: keys.gateway.letter });
  const rates = loadScripts(redis, { names: ["take"], folder: "rate/", keyCount: () => undefined });
  const claims = loadScripts(redis, { names: ["take", "release"], folder: "claim/", keyCount: () => 1 });
  const scripts = loadScripts(redis, { names: ["dead", "forget"], folder: "gateway/", keyCount: () => 1 });

  async function deadProcess(process: string, untilMs: number): Promise<DeadProcess> {
    const calls = await reached(redis.hgetall(keys.gateway.calls(process)));
    return { process, untilMs, calls: Object.entries(calls).map(([taskId, isFinal]) => ({ taskId, isFinal: isFinal === "1" })) };
  }

  async function isAlive(process: string): Promise<boolean> {
    const aliveUntilMs = await reached(redis.zscore(holders, process));
    return aliveUntilMs !== null && Number(aliveUntilMs) > now();
  }

  /** The live process that the key names, unless it is this one. */
  async function livingIn(key: string): Promise<"here" | { readonly process: string }> {
    const process = await reached(redis.get(key));
    return process !== null && process !== id && (await isAlive(process)) ? { process } : "here";
  }

  return {
    id,
    async takeQuestions(who, count, perMinute) {
      // More at once than a minute has take all of it.
      const wanted = Math.min(count, perMinute);
      const bucket = keys.rate(`questions:${who}`);
      const reply = await reached(rates.take([1, bucket, Math.floor(now()), "questions", wanted, wanted, perMinute / 60, perMinute]));
      return (reply as [waitMs: number])[0];
    },
    async claim(taskId, { isFinal, ttlMs }) {
      const holder = keys.holder(taskId);
      if (holder === undefined) return;
      const calls = keys.gateway.calls(id);
      await reached(
        Promise.all([
          redis.hset(calls, taskId, isFinal ? "1" : "0"),
          redis.pexpire(calls, CALLS_KEPT_MS),
          redis.set(holder, id, "PX", Math.ceil(ttlMs)),
        ]),
      );
    },
    async release(taskId) {
      const holder = keys.holder(taskId);
      if (holder === undefined) return;
      // Another process may hold the task's call by now.
      await reached(Promise.all([redis.hdel(keys.gateway.calls(id), taskId), claims.release([holder, id])]));
    },
    async holderOf(taskId) {
      const holder = keys.holder(taskId);
      return holder === undefined ? "here" : await livingIn(holder);
    },
    async takeState(key, ttlMs) {
      const named = keys.gateway.state(key);
      if ((await reached(redis.set(named, id, "PX", ttlMs, "NX"))) !== null) return "new";
      const process = await reached(redis.get(named));
      // It was removed in between: the caller was told.
      return process === null ? await this.takeState(key, ttlMs) : { process, isAlive: await isAlive(process) };
    },
    async keepState(key, ttlMs) {
      await reached(claims.take([keys.gateway.state(key), id, ttlMs]));
    },
    async releaseState({ key, process }) {
      await reached(claims.release([keys.gateway.state(key), process]));
    },
    stateAt: (key) => livingIn(keys.gateway.state(key)),
    async ask(text) {
      await reached(redis.publish(keys.gateway.asked, text));
    },
    onAsked: (listener) => listen(keys.gateway.asked, listener),
    async claimAsked(asked, ttlMs) {
      // The claim belongs to this call: a request that arrives twice is handled once.
      return (await reached(claims.take([keys.gateway.claim(asked), `${id} ${randomUUID()}`, Math.ceil(ttlMs)]))) === 1;
    },
    async renewAsked(asked, ttlMs) {
      // If another process has claimed it meanwhile, both handle it, and the claim lasts while either does.
      await reached(redis.pexpire(keys.gateway.claim(asked), ttlMs));
    },
    async callers() {
      const members = await reached(redis.zrangebyscore(holders, `(${now()}`, "+inf"));
      return members.filter((member) => !member.startsWith("dead:"));
    },
    async post(box, process, text) {
      // Only who asked for a read takes letters: a process of an older version could not read one.
      const sent = box === "read" ? await letters.write(text) : text;
      const listening = await reached(redis.publish(keys.gateway.box(box, process), sent));
      // A node of a Cluster counts only its own listeners.
      return listening > 0 || redis.isCluster;
    },
    onPost: (box, listener) => listen(keys.gateway.box(box, id), (text) => letters.read(text, listener)),
    async beat() {
      const isNew = await reached(redis.zadd(holders, now() + ALIVE_MS, id));
      await reached(redis.pexpire(holders, CALLS_KEPT_MS));
      return Number(isNew) === 0;
    },
    async takeDead() {
      const nowMs = now();
      const untilMs = nowMs + FOLLOW_UP_MS;
      const taken = await reached(scripts.dead([holders, nowMs, untilMs, id, DEAD_MAX]));
      const dead: DeadProcess[] = [];
      for (const process of taken as string[]) dead.push(await deadProcess(process, untilMs));
      return dead;
    },
    async forgetDead({ process, untilMs, calls }) {
      // Only those calls, because a process that lives again may have others by now. And the entry last, because this process may die
      // between the two.
      if (calls.length > 0) await reached(redis.hdel(keys.gateway.calls(process), ...calls.map(({ taskId }) => taskId)));
      await reached(scripts.forget([holders, process, untilMs]));
    },
    async leave() {
      const untilMs = now() + FOLLOW_UP_MS;
      await reached(Promise.all([redis.zadd(holders, untilMs, `dead:${id}`), redis.zrem(holders, id)]));
      return await deadProcess(id, untilMs);
    },
    async readLists(known) {
      const names = [...known.keys()];
      if (names.length === 0) return new Map();
      const revisions = await reached(redis.hmget(lists, ...names.map((name) => name + REVISION)));
      const found = new Map<string, { revision: string; text?: string }>();
      for (const [index, name] of names.entries()) {
        const revision = revisions[index];
        if (!revision) continue;
        const text = revision === known.get(name) ? undefined : await reached(redis.hget(lists, name));
        found.set(name, { revision, ...(text && { text }) });
      }
      return found;
    },
    async writeList(upstream, text) {
      await reached(
        Promise.all([redis.hset(lists, upstream, text, upstream + REVISION, randomUUID()), redis.pexpire(lists, LISTS_KEPT_MS)]),
      );
    },
    async lease(upstream, ttlMs) {
      return (await reached(claims.take([keys.gateway.lister(upstream), id, Math.ceil(ttlMs)]))) === 1;
    },
  };
}
