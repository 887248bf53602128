/**
 * Many subscribers hear of what happens as it happens, and the outbox is read once for all of them.
 *
 *   outbox ── every readEveryMs, while anybody follows ──▶ window ──▶ whom does it concern?
 *                                     nobody of them ▶ they have heard everything, at no cost
 *                                     a subscriber   ▶ reads from its own place (read-occurrences.ts), in the window, and is told
 *
 *   F1  What each hears depends on its own place alone: the common reading is only a short cut. Who is behind the window reads the outbox by itself
 *       until it has caught up.
 *   F2  A subscriber that is not concerned by an entry reads nothing: a thousand that wait cost Redis what one does.
 *   F3  Whom an entry may concern is decided with all names under which it could be, also those that have come since (`namesVersion`).
 */
import { type Caller, DEFAULT_TENANT } from "../callers/caller.ts";
import { ParleyError } from "../errors.ts";
import type { OutboxEntry, OutboxPlace } from "../ports/outbox.ts";
import type { Log } from "../ports.ts";
import { turns } from "../values/turns.ts";
import { isAtLeast, later, outboxWindow } from "./outbox-window.ts";
import {
  concerns,
  type OccurrenceFilter,
  type OccurrenceServices,
  type OccurrencesRead,
  type Operator,
  namesOf,
  readOccurrences,
} from "./read-occurrences.ts";

/** How long after it happened somebody hears of it, at most, if nothing is slow. */
const READ_EVERY_MS = 250;
const READ_TOGETHER = 500;
/** How many subscribers read at once. */
const READERS_MAX = 16;

export interface Subscriber {
  readonly caller: Caller | Operator;
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

export interface FollowServices extends OccurrenceServices {
  readonly log: Pick<Log, "warn">;
}

class Follower {
  readonly subscriber: Subscriber;
  readonly keys = new Set<string>();
  names: ReadonlySet<string> = new Set();
  /** As of `names`; undefined until they are known. */
  namesVersion: string | undefined;
  /** Up to where it has read by itself. */
  own: OutboxPlace;
  /** It has heard everything up to the common place as well. */
  isWithAll = false;
  isReading = false;
  isConcerned = false;
  isStopped = false;
  isTroubled = false;
  /** Until it has caught up: what it reads then is younger than the subscription. */
  maxAgeMs: number | undefined;

  constructor(subscriber: Subscriber) {
    this.subscriber = subscriber;
    this.own = subscriber.from;
    this.maxAgeMs = subscriber.maxAgeMs;
  }
}

export function followOccurrences(
  services: FollowServices,
  { readEveryMs = READ_EVERY_MS }: { readonly readEveryMs?: number } = {},
): OccurrenceFeed {
  const { outbox, clock, log } = services;
  const followers = new Set<Follower>();
  const byKey = new Map<string, Set<Follower>>();
  /** By tenant that somebody follows: under which names its followers are. */
  const versions = new Map<string, string>();
  const window = outboxWindow(outbox);
  const inTurn = turns(READERS_MAX);
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

  function placeOf({ own, isWithAll }: Follower): OutboxPlace {
    return isWithAll && window.end ? later(own, window.end) : own;
  }

  /** The version first: names that come in between are learned twice. */
  async function learnNames(follower: Follower, given?: string): Promise<void> {
    const { caller } = follower.subscriber;
    if ("isOperator" in caller) {
      follower.namesVersion = "";
      return;
    }
    const version = given ?? (await outbox.namesVersion(caller.tenant));
    follower.names = await namesOf(outbox, caller);
    if (follower.isStopped) return;
    for (const name of follower.names) enter(follower, nameKey(caller.tenant, name));
    follower.namesVersion = version;
    // Others may have learned newer ones meanwhile: it is behind them, though nothing has changed since.
    if (versions.get(caller.tenant) !== version) versions.delete(caller.tenant);
  }

  async function read(follower: Follower): Promise<void> {
    follower.isConcerned = true;
    if (follower.isReading) return;
    follower.own = placeOf(follower);
    follower.isWithAll = false;
    follower.isReading = true;
    const { caller, filter, limit, urlOf, deliver } = follower.subscriber;
    try {
      // oxlint-disable no-await-in-loop -- what was delivered decides what is read next
      while (!follower.isStopped) {
        follower.isConcerned = false;
        if (follower.namesVersion === undefined) await learnNames(follower);
        const { own: from, maxAgeMs } = follower;
        const request = { caller, filter, from, limit, ...(maxAgeMs !== undefined && { maxAgeMs }), ...(urlOf && { urlOf }) };
        const found = await inTurn(() => readOccurrences({ ...services, outbox: window }, request));
        if (!found.isMore) follower.maxAgeMs = undefined;
        follower.isTroubled = false;
        if (follower.isStopped) return;
        if (found.occurrences.length > 0 || found.isTruncated) await deliver(found);
        follower.own = found.place;
        if (found.isMore || follower.isConcerned) continue;
        // Nobody reads for all yet: the next common reading begins here or later.
        if (!window.end) return;
        if (isAtLeast(follower.own, window.end)) {
          follower.isWithAll = true;
          return;
        }
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

  /** Followers learn what is new before it is decided whom entries concern (F3). */
  async function learnNewNames(entries: readonly OutboxEntry[]): Promise<void> {
    const asking = entries.filter(({ changes }) => changes.some(({ audience }) => audience.length > 0));
    if (asking.length === 0) return;
    const followed = new Set([...followers].map(({ subscriber: { caller } }) => caller.tenant));
    for (const tenant of versions.keys()) if (!followed.has(tenant)) versions.delete(tenant);
    const tenants = new Set(asking.map(({ call }) => call.tenant ?? DEFAULT_TENANT));
    await Promise.all(
      [...tenants]
        .filter((tenant) => followed.has(tenant))
        .map(async (tenant) => {
          const version = await outbox.namesVersion(tenant);
          if (versions.get(tenant) === version) return;
          const behind = [...followers].filter(
            ({ subscriber: { caller }, namesVersion }) =>
              caller.tenant === tenant && namesVersion !== undefined && namesVersion !== version,
          );
          await Promise.all(behind.map((follower) => learnNames(follower, version)));
          versions.set(tenant, version);
        }),
    );
  }

  /** Reads the next entries for all, and says whether there are more. */
  async function readForAll(): Promise<boolean> {
    if (!window.end) window.begin(await outbox.now());
    const page = await outbox.read(window.end ?? [], READ_TOGETHER);
    await learnNewNames(page.entries);
    const concerned = new Set<Follower>();
    for (const follower of followers) if (!follower.isWithAll || follower.isTroubled || page.isTruncated) concerned.add(follower);
    for (const entry of page.entries) {
      // Without its key nobody knows under which names to look.
      const may = entry.isKeyMissing ? [followers] : keysOf(entry).map((key) => byKey.get(key) ?? []);
      for (const each of may.flatMap((some) => [...some])) {
        if (!concerned.has(each) && concerns({ ...each.subscriber, names: each.names }, entry)) concerned.add(each);
      }
    }
    // They read from where they were before this page.
    for (const follower of concerned) {
      follower.own = placeOf(follower);
      follower.isWithAll = false;
    }
    window.add(page);
    for (const follower of concerned) void read(follower);
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
    else window.clear();
  }

  function schedule(): void {
    if (!isClosed) cancel ??= clock.after(readEveryMs, () => void tick());
  }

  return {
    follow(subscriber) {
      const follower = new Follower(subscriber);
      followers.add(follower);
      enter(follower, firstKey(subscriber.caller));
      void read(follower);
      schedule();
      return {
        get place() {
          return placeOf(follower);
        },
        stop: () => leave(follower),
      };
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

function firstKey(caller: Caller | Operator): string {
  if ("isOperator" in caller) return JSON.stringify(["operator", caller.tenant ?? ""]);
  return ownerKey(caller.tenant, caller.principal);
}

function ownerKey(tenant: string, principal: string): string {
  return JSON.stringify(["owner", tenant, principal]);
}

function nameKey(tenant: string, name: string): string {
  return JSON.stringify(["name", tenant, name]);
}

function keysOf({ call, changes }: OutboxEntry): string[] {
  const tenant = call.tenant ?? DEFAULT_TENANT;
  return [
    firstKey({ isOperator: true }),
    firstKey({ isOperator: true, tenant }),
    ownerKey(tenant, call.principal),
    ...changes.flatMap(({ audience }) => audience.map((name) => nameKey(tenant, name))),
  ];
}
