/**
 * Wake-ups over pub/sub, one channel per watched task and one for announcements: by classic pub/sub over one connection per process, or, in a Cluster
 * that has it, by sharded pub/sub for all that concerns one slot (sharded-subscriber.ts).
 *
 * A wake-up can be lost. After a lost connection every listener is called once and reads again, which makes up for missed messages.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Announcement, isAnnouncement, type Log, ParleyError, type WakeUps } from "@parley/core";
import type { Redis } from "ioredis";
import type { Keys } from "../keys.ts";
import { changeOf, newsMessage } from "../tasks/wake-up-news.ts";
import { reached } from "../connection/unavailable.ts";

export interface RedisWakeUpsOptions {
  /** Where announcements and replies are published. */
  readonly redis: Redis;
  readonly subscriber: Subscriber;
  /** For channels with a hash tag, which belong to a node of a Cluster. Absent: `subscriber` has them too. */
  readonly sharded?: Subscriber | undefined;
  readonly keys: Keys;
  readonly log: Log;
  /** How long a subscription may take to be confirmed. */
  readonly timeoutMs: number;
}

/** A way to subscribe. It never subscribes again by itself; it reports lost channels, and the listener subscribes again. */
export interface Subscriber {
  /** Called once, before anything is subscribed. */
  listenTo(events: SubscriberEvents): void;
  /** Resolves when all are confirmed. */
  subscribe(channels: readonly string[]): Promise<unknown>;
  unsubscribe(channels: readonly string[]): Promise<unknown>;
}

export interface SubscriberEvents {
  message(channel: string, message: string): void;
  /** Messages of these channels may be missing, and they are to be subscribed again. */
  lost(which: (channel: string) => boolean): void;
}

/** `redis`: used for nothing else, with `autoResubscribe: false`. */
export function classicSubscriber(redis: Redis): Subscriber {
  return {
    listenTo({ message, lost }) {
      redis.on("message", message);
      // What was subscribed before the first connection waits in ioredis' own queue.
      let connectedBefore = redis.status === "ready";
      redis.on("ready", () => {
        if (connectedBefore) lost(() => true);
        connectedBefore = true;
      });
    },
    subscribe: (channels) => redis.subscribe(...channels),
    unsubscribe: (channels) => redis.unsubscribe(...channels),
  };
}

export interface RedisWakeUps extends Omit<WakeUps, "watchAsked" | "tellAsked"> {
  /**
   * Calls `onMessage` for each message of a channel, and without a message after a lost connection came back. Resolves when the
   * subscription is confirmed: anything published later arrives, or is made good by that call. Throws UNAVAILABLE when that takes too
   * long; `onMessage` is not called then.
   */
  listen(channel: string, onMessage: (message?: string) => void): Promise<() => void>;
  /**
   * Leaves a channel that no one else in this process listens to, at once. Its listener still receives what was sent
   * in the meantime. Resolves when nothing more can arrive, or when Redis does not confirm within a second.
   */
  leave(channel: string): Promise<void>;
}

/**
 * A channel without listeners is left within this time and not at once: clients come back for the tasks that they
 * have just called or answered, and leaving several channels together costs one command.
 */
const LINGER_MS = 1_000;

/** After this time, what could not be subscribed again is tried again: no other event may follow that would do so. */
const RENEW_AGAIN_MS = 1_000;

interface Channel {
  readonly listeners: Set<(message?: string) => void>;
  readonly subscribed: Promise<unknown>;
}

export function createRedisWakeUps({ redis, subscriber, sharded, keys, log, timeoutMs }: RedisWakeUpsOptions): RedisWakeUps {
  const channels = new Map<string, Channel>();
  const lingering = new Set<string>();
  /** Lost channels that could not be subscribed again, until the next try. */
  const notRenewed = new Map<Subscriber, Set<string>>();
  /** Listeners of channels that are being left. */
  const leaving = new Map<string, Channel["listeners"]>();

  const subscriberOf = (name: string) => (sharded && name.includes("{") ? sharded : subscriber);

  for (const each of new Set([subscriber, sharded ?? subscriber])) {
    each.listenTo({
      message(name, message) {
        for (const listener of channels.get(name)?.listeners ?? []) listener(message);
        for (const listener of leaving.get(name) ?? []) listener(message);
      },
      lost(which) {
        renew(each, (name) => subscriberOf(name) === each && which(name));
      },
    });
  }

  /** Subscribes these channels again, and calls their listeners, because messages may have been missed. */
  function renew(by: Subscriber, which: (name: string) => boolean): void {
    const names = [...channels.keys()].filter(which);
    if (names.length === 0) return;
    by.subscribe(names).then(
      () => {
        for (const name of names) for (const listener of channels.get(name)?.listeners ?? []) listener();
      },
      (error: unknown) => {
        log.warn({ error: error instanceof Error ? error.message : String(error) }, "subscriptions not renewed yet");
        const waiting = notRenewed.get(by) ?? new Set();
        for (const name of names) waiting.add(name);
        if (notRenewed.has(by)) return;
        notRenewed.set(by, waiting);
        setTimeout(renewAgain, RENEW_AGAIN_MS, by).unref();
      },
    );
  }

  function renewAgain(by: Subscriber): void {
    const waiting = notRenewed.get(by);
    notRenewed.delete(by);
    // The backend was closed.
    if (redis.status !== "end") renew(by, (name) => waiting?.has(name) === true);
  }

  async function listen(name: string, onMessage: (message?: string) => void): Promise<() => void> {
    let channel = channels.get(name);
    if (!channel) {
      channel = { listeners: new Set(), subscribed: subscribe(name) };
      channels.set(name, channel);
    }
    const { listeners, subscribed } = channel;
    // A separate listener, so that one function can listen twice.
    const listener = (message?: string) => onMessage(message);
    listeners.add(listener);
    try {
      await reached(subscribed);
    } catch (error) {
      listeners.delete(listener);
      // Others must not wait for it: the next listener tries again.
      if (channels.get(name) === channel) channels.delete(name);
      throw error;
    }
    return () => {
      if (listeners.delete(listener) && listeners.size === 0) linger(name);
    };
  }

  /**
   * ioredis' own command timeout is no help: it keeps a command that timed out and sends it after reconnecting, which would leave a
   * subscription without a listener. A confirmation that comes too late is undone here.
   */
  async function subscribe(name: string): Promise<void> {
    const confirmed = subscriberOf(name).subscribe([name]);
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      late.reject(new ParleyError("UNAVAILABLE", `Redis: not subscribed within ${timeoutMs} ms`));
      const leave = () => {
        if (!channels.has(name)) unsubscribe([name]);
      };
      confirmed.then(leave, () => undefined);
    }, timeoutMs);
    try {
      await Promise.race([confirmed, late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  function linger(name: string): void {
    if (lingering.size === 0) setTimeout(leaveChannels, LINGER_MS).unref();
    lingering.add(name);
  }

  function leaveChannels(): void {
    const names = [...lingering].filter((name) => channels.get(name)?.listeners.size === 0);
    lingering.clear();
    for (const name of names) channels.delete(name);
    unsubscribe(names);
  }

  /**
   * Commands of one connection keep their order, so a subscribe that follows is not undone. A failed unsubscribe means that the connection is
   * gone, and the subscription with it.
   */
  function unsubscribe(names: readonly string[]): void {
    for (const each of new Set(names.map(subscriberOf))) {
      each.unsubscribe(names.filter((name) => subscriberOf(name) === each)).catch(() => undefined);
    }
  }

  return {
    listen,
    async leave(name) {
      const channel = channels.get(name);
      if (!channel) return;
      channels.delete(name);
      leaving.set(name, channel.listeners);
      const left = subscriberOf(name)
        .unsubscribe([name])
        .catch(() => undefined); // the connection is gone, and the subscription with it
      await Promise.race([left, sleep(LINGER_MS, undefined, { ref: false })]);
      if (leaving.get(name) === channel.listeners) leaving.delete(name);
    },
    async watch(taskId, onChange) {
      const taskKeys = keys.task(taskId);
      if (!taskKeys) return () => undefined; // what cannot be a task does not change
      return await listen(taskKeys[0], (message) => onChange(message === undefined ? undefined : changeOf(message)));
    },
    isWatched(taskId) {
      const taskKeys = keys.task(taskId);
      return taskKeys !== undefined && channels.has(taskKeys[0]);
    },
    async tell(taskId, news) {
      const [channel] = keys.task(taskId) ?? [];
      if (channel === undefined) return;
      const message = newsMessage(news);
      await reached(sharded ? redis.spublish(channel, message) : redis.publish(channel, message));
    },
    async announce(announcement) {
      await reached(redis.publish(keys.announcements, JSON.stringify(announcement)));
    },
    async onAnnouncement(listener) {
      return await listen(keys.announcements, (message) => {
        // What was announced during a lost connection is unknown, so every list may have changed.
        const announcements = message === undefined ? EVERY_LIST : announced(message);
        if (announcements.length === 0) log.warn({ length: message?.length }, "announcement not understood");
        for (const announcement of announcements) listener(announcement);
      });
    },
  };
}

/** Empty for a message that is no announcement. An error here would end each process that listens. */
function announced(message: string): readonly Announcement[] {
  try {
    const announcement: unknown = JSON.parse(message);
    return isAnnouncement(announcement) ? [announcement] : [];
  } catch {
    return [];
  }
}

const EVERY_LIST: readonly Announcement[] = [{ type: "tools" }, { type: "prompts" }, { type: "resources" }];
