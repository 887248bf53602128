/**
 * Many subscribers hear of what happens as it happens, and the outbox is read once for all of them.
 *
 *   outbox ── every READ_EVERY_MS, while anybody follows ──▶ whom does it concern?
 *                                     nobody of them ▶ their places move on
 *                                     a subscriber   ▶ reads from its own place (read-occurrences.ts), and is told
 *
 * A subscriber whose place is behind reads by itself until it has caught up, so the common reading is only a short cut: what
 * each hears depends on its own place alone.
 */
import { type Caller, DEFAULT_TENANT } from "../callers/caller.ts";
import { ParleyError } from "../errors.ts";
import type { OutboxEntry, OutboxPlace } from "../ports/outbox.ts";
import type { Log } from "../ports.ts";
import { type OccurrenceFilter, type OccurrenceServices, type OccurrencesRead, namesOf, readOccurrences } from "./read-occurrences.ts";

/** How long after it happened somebody hears of it, at most, if nothing is slow. */
const READ_EVERY_MS = 250;
const READ_TOGETHER = 500;
/** Names of sealed tasks have new digests from time to time. */
const NAMES_KEPT_MS = 60_000;

export interface Subscriber {
  readonly caller: Caller;
  readonly filter: OccurrenceFilter;
  readonly from: OutboxPlace;
  readonly maxAgeMs?: number;
  /** At most so many occurrences at once. */
  readonly limit: number;
  readonly urlOf?: (taskId: string, key: string) => string;
  /** Called one after the other. What it rejects with ends the subscription. */
  readonly deliver: (read: OccurrencesRead) => Promise<void> | void;
  readonly failed: (error: unknown) => void;
  /** What happened cannot be read at the moment. It is tried again; said once until it was read again. */
  readonly troubled: () => void;
}

export interface Following {
  /** Everything up to here was delivered, or was nothing to deliver. */
  readonly place: OutboxPlace;
  stop(): void;
}

export interface OccurrenceFeed {
  /** The first delivery has what already happened since the subscriber's place. */
  follow(subscriber: Subscriber): Following;
  readonly followers: number;
  close(): void;
}

interface Follower extends Following {
  place: OutboxPlace;
  readonly subscriber: Subscriber;
  readonly keys: Set<string>;
  namesReadAtMs: number;
  isReading: boolean;
  isConcerned: boolean;
  isStopped: boolean;
  isTroubled: boolean;
  /** Of the first read only: later ones are as old as the subscription. */
  maxAgeMs: number | undefined;
}

export function followOccurrences(services: OccurrenceServices & { readonly log: Pick<Log, "warn"> }): OccurrenceFeed {
  const { outbox, clock, log } = services;
  const followers = new Set<Follower>();
  const byKey = new Map<string, Set<Follower>>();
  let place: OutboxPlace | undefined;
  let cancel: (() => void) | undefined;
  let isClosed = false;
  let isFailing = false;

  function enter(follower: Follower, key: string): void {
    follower.keys.add(key);
    const all = byKey.get(key) ?? new Set();
    all.add(follower);
    byKey.set(key, all);
  }

  function leave(follower: Follower): void {
    follower.isStopped = true;
    followers.delete(follower);
    for (const key of follower.keys) {
      const all = byKey.get(key);
      all?.delete(follower);
      if (all?.size === 0) byKey.delete(key);
    }
    follower.keys.clear();
  }

  function trouble(follower: Follower): void {
    if (follower.isTroubled || follower.isStopped) return;
    follower.isTroubled = true;
    follower.subscriber.troubled();
  }

  async function learnNames(follower: Follower): Promise<void> {
    const { caller } = follower.subscriber;
    const names = await namesOf(outbox, caller);
    if (follower.isStopped) return;
    for (const name of names) enter(follower, nameKey(caller.tenant, name));
    follower.namesReadAtMs = clock.now();
  }

  async function read(follower: Follower): Promise<void> {
    follower.isConcerned = true;
    if (follower.isReading) return;
    follower.isReading = true;
    const { caller, filter, limit, urlOf, deliver } = follower.subscriber;
    try {
      // oxlint-disable no-await-in-loop -- what was delivered decides what is read next
      while (follower.isConcerned && !follower.isStopped) {
        follower.isConcerned = false;
        if (clock.now() - follower.namesReadAtMs > NAMES_KEPT_MS) await learnNames(follower);
        const { place: from, maxAgeMs } = follower;
        const found = await readOccurrences(services, {
          caller,
          filter,
          from,
          limit,
          ...(maxAgeMs !== undefined && { maxAgeMs }),
          ...(urlOf && { urlOf }),
        });
        follower.maxAgeMs = undefined;
        follower.isTroubled = false;
        if (follower.isStopped) return;
        if (found.occurrences.length > 0 || found.isTruncated) await deliver(found);
        follower.place = found.place;
        follower.isConcerned ||= found.isMore;
      }
      // oxlint-enable no-await-in-loop
    } catch (error) {
      if (follower.isStopped) return;
      // It keeps its place, and reads from there with the next reading for all.
      if (error instanceof ParleyError && error.code === "UNAVAILABLE") return trouble(follower);
      leave(follower);
      follower.subscriber.failed(error);
    } finally {
      follower.isReading = false;
    }
  }

  /** Reads the next entries for all, and says whether there are more. */
  async function readForAll(): Promise<boolean> {
    const from = (place ??= await outbox.now());
    const page = await outbox.read(from, READ_TOGETHER);
    place = page.end;
    const concerned = new Set<Follower>();
    for (const entry of page.entries) for (const key of keysOf(entry)) for (const each of byKey.get(key) ?? []) concerned.add(each);
    for (const follower of followers) {
      // One that is behind what was read before reads everything by itself.
      if (concerned.has(follower) || follower.isTroubled || page.isTruncated || !isAtLeast(follower.place, from)) void read(follower);
      else if (!follower.isReading) follower.place = later(follower.place, page.end);
    }
    return page.isMore;
  }

  async function tick(): Promise<void> {
    try {
      // oxlint-disable-next-line no-await-in-loop -- one portion after the other
      while (followers.size > 0 && !isClosed && (await readForAll()));
      isFailing = false;
    } catch (error) {
      if (!isFailing) log.warn({ err: error }, "the outbox cannot be read; it is tried again");
      isFailing = true;
      for (const follower of followers) trouble(follower);
    }
    cancel = undefined;
    if (followers.size > 0) schedule();
    else place = undefined;
  }

  function schedule(): void {
    if (!isClosed) cancel ??= clock.after(READ_EVERY_MS, () => void tick());
  }

  return {
    follow(subscriber) {
      const follower: Follower = {
        subscriber,
        place: subscriber.from,
        keys: new Set(),
        namesReadAtMs: -Infinity,
        isReading: false,
        isConcerned: false,
        isStopped: false,
        isTroubled: false,
        maxAgeMs: subscriber.maxAgeMs,
        stop: () => leave(follower),
      };
      followers.add(follower);
      enter(follower, ownerKey(subscriber.caller.tenant, subscriber.caller.principal));
      void read(follower);
      schedule();
      return follower;
    },
    get followers() {
      return followers.size;
    },
    close() {
      isClosed = true;
      cancel?.();
      for (const follower of followers) leave(follower);
    },
  };
}

function ownerKey(tenant: string, principal: string): string {
  return JSON.stringify(["owner", tenant, principal]);
}

function nameKey(tenant: string, name: string): string {
  return JSON.stringify(["name", tenant, name]);
}

function keysOf({ call, changes }: OutboxEntry): string[] {
  const tenant = call.tenant ?? DEFAULT_TENANT;
  return [ownerKey(tenant, call.principal), ...changes.flatMap(({ audience }) => audience.map((name) => nameKey(tenant, name)))];
}

function isAtLeast(one: OutboxPlace, other: OutboxPlace): boolean {
  return other.every(({ after }, partition) => compare(one[partition]?.after ?? "0-0", after) >= 0);
}

function later(one: OutboxPlace, other: OutboxPlace): OutboxPlace {
  return other.map((place, partition) => {
    const own = one[partition];
    return own && compare(own.after, place.after) > 0 ? own : place;
  });
}

function compare(one: string, other: string): number {
  const [oneMs = "0", oneNumber = "0"] = one.split("-");
  const [otherMs = "0", otherNumber = "0"] = other.split("-");
  return Number(oneMs) - Number(otherMs) || Number(BigInt(oneNumber) - BigInt(otherNumber));
}
