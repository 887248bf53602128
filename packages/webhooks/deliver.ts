/**
 * Posts what happens to one webhook, in order, at least once.
 *
 *   place ─▶ feed ─▶ POST ── 2xx ──▶ place moves on, and is saved
 *                     │ other, no answer ─▶ again, later and later, for GIVE_UP_MS
 *                     │ 400 413 415 422   ─▶ again MALFORMED_TRIES times: it does not want this one
 *                     │ 410               ─▶ this webhook is over, until a worker starts again; where the target
 *                     │                      says so (`refusesOne`), only this event is given up, at once
 *                     └ given up          ─▶ kept with the dead ones, and the next one
 *
 * Each goes on from its own place in its source (source.ts): the outbox, which a process reads once for all of its deliveries (follow-occurrences.ts), or
 * an event type of an upstream.
 *
 * One worker does it: it holds a claim, which runs out if the worker dies. A worker that was paused for longer may post
 * once more what another has posted: the id is the same. A worker that is not offered what is posted leaves it to others, and ends it
 * only if none of them has had the claim for a while.
 */
import {
  type Caller,
  type Claims,
  type Clock,
  GONE_AFTER_MS,
  type Log,
  type OccurrenceFeed,
  type OccurrenceFilter,
  type OccurrenceServices,
  type Operator,
  type Turn,
} from "@parley/core";
import { hash, type KeyObject, randomUUID } from "node:crypto";
import { post, type Posted } from "./post.ts";
import { signatureOf } from "./sign.ts";
import { outboxSource, type Posting, type PostingsRead, type Source } from "./source.ts";
import type { Webhook } from "./webhooks-file.ts";

/** What is known of a webhook, kept where every worker finds it. */
export interface DeliveryState {
  /** A cursor. */
  readonly place?: string;
  readonly deliveredAtMs?: number;
  /** Since when the newest attempts have failed, and why. */
  readonly failingSinceMs?: number;
  readonly lastError?: string;
  /** When an event was last given up. */
  readonly gaveUpAtMs?: number;
}

/** What was given up. */
export interface DeadLetter {
  readonly id: string;
  readonly type: string;
  readonly atMs: number;
  readonly data: object;
  readonly why: string;
}

export interface Deliveries {
  load(name: string): Promise<DeliveryState>;
  save(name: string, state: DeliveryState, keepMs?: number): Promise<void>;
  bury(name: string, letter: DeadLetter): Promise<void>;
  /** Forgets everything of it. */
  drop(name: string): Promise<void>;
}

/** Where something is posted, what, and in which form. */
export interface Target {
  readonly name: string;
  readonly url: URL;
  readonly keys: readonly KeyObject[];
  readonly isPrivate: boolean;
  readonly caller: Caller | Operator;
  readonly filter: OccurrenceFilter;
  /** What it posts from instead of the outbox; its caller and filter then say nothing. */
  readonly source?: Source;
  /** The id and the body of the message for an occurrence, or for a gap. */
  readonly message: (posting: Posting) => { readonly id: string; readonly body: object };
  readonly headers?: Readonly<Record<string, string>>;
  /** Answers by which its receiver refuses one event for good, and nothing else. */
  readonly refusesOne?: ReadonlySet<number>;
  /** A cursor: where it begins if nothing is known of it. Default: now. */
  readonly from?: string;
  /** How long its state outlives the last change of it (ms). Default: about as long as anything. */
  readonly keepMs?: number;
}

export interface DeliverTo {
  readonly target: Target;
  readonly services: Pick<OccurrenceServices, "outbox"> & { readonly clock: Clock };
  /** Of all deliveries of this process. */
  readonly feed: OccurrenceFeed;
  readonly deliveries: Deliveries;
  readonly claims: Claims;
  readonly log: Pick<Log, "info" | "warn" | "error">;
  readonly urlOf?: (taskId: string, key: string) => string;
  readonly count?: (result: "delivered" | "failed" | "given_up") => void;
  /** Told how it is whenever that changed; undefined once another process may know it better. */
  readonly show?: (state: DeliveryState | undefined) => void;
  readonly pace?: Partial<Pace>;
  /** Posts wait for their turn in it. */
  readonly turn?: Turn;
}

interface Pace {
  readonly retryMs: readonly number[];
  readonly giveUpMs: number;
  readonly timeoutMs: number;
  /** How long the claim of a worker that dies outlives it. */
  readonly claimMs: number;
  /** How often the place is saved while nothing is posted. */
  readonly saveMs: number;
}

const HOUR_MS = 3_600_000;
export const PACE: Pace = {
  retryMs: [1_000, 5_000, 15_000, 60_000, 5 * 60_000, 15 * 60_000, HOUR_MS],
  giveUpMs: 72 * HOUR_MS,
  timeoutMs: 10_000,
  claimMs: 30_000,
  saveMs: 60_000,
};
const RETRY_AFTER_MAX_MS = 24 * HOUR_MS;
const MALFORMED: ReadonlySet<number> = new Set([400, 413, 415, 422]);
const MALFORMED_TRIES = 5;
const MISSED_HERE = "a webhook has missed what is no longer kept (PARLEY_OUTBOX_LENGTH_MAX, PARLEY_OUTBOX_AGE)";
const MISSED_THERE = "a webhook has missed what its upstream no longer keeps, or what could not be passed on";

export interface Delivery {
  stop(): Promise<void>;
}

export function deliverTo(options: DeliverTo): Delivery {
  const stopping = new AbortController();
  const done = new Deliverer(options, stopping.signal).run();
  return {
    async stop() {
      stopping.abort();
      await done;
    },
  };
}

class Gone extends Error {}

/** Another worker has taken over. */
class Lost extends Error {}

/** What ended a delivery, whatever it is: the feed must not try it again by itself. */
class Interrupted extends Error {
  constructor(cause: unknown) {
    super("a delivery was interrupted", { cause });
  }
}

class Deliverer {
  readonly #options: DeliverTo;
  readonly #pace: Pace;
  readonly #stopping: AbortSignal;
  readonly #holder = randomUUID();
  #state: DeliveryState = {};
  #takenAtMs = 0;
  #savedAtMs = 0;
  /** How long (ms of waiting) this worker has not been offered what is posted, and no other worker has had it. */
  #missedMs = 0;
  /** While it follows the feed: aborted when it is stopped, and when it does not hold the claim any more. */
  #signal: AbortSignal;
  /** What the feed has given it to post. */
  #posting: Promise<void> | undefined;

  constructor(options: DeliverTo, stopping: AbortSignal) {
    this.#options = options;
    this.#pace = { ...PACE, ...options.pace };
    this.#stopping = stopping;
    this.#signal = stopping;
  }

  async run(): Promise<void> {
    const { target, log, show, deliveries } = this.#options;
    let isTroubled = false;
    // oxlint-disable no-await-in-loop -- one step after the other
    while (!this.#stopping.aborted) {
      try {
        if (!(await this.#mayTake()) || !(await this.#take())) {
          await this.#pause(this.#pace.claimMs / 6);
          continue;
        }
        this.#state = await deliveries.load(target.name);
        this.#savedAtMs = this.#now();
        isTroubled = false;
        show?.(this.#state);
        await this.#follow();
        if (this.#stopping.aborted) break;
        show?.(undefined);
        await this.#release();
      } catch (error) {
        if (this.#stopping.aborted) break;
        if (error instanceof Gone) {
          log.error({ webhook: target.name }, "the receiver of a webhook says that it is gone, and nothing is posted to it any more");
          // Shown as failing from now on: nobody posts until workers start again.
          return await this.#release();
        }
        show?.(undefined);
        if (error instanceof Lost) continue;
        if (!isTroubled) log.warn({ webhook: target.name, err: error }, "a webhook waits: its place cannot be read or written");
        isTroubled = true;
        await this.#pause(5_000);
      }
    }
    // oxlint-enable no-await-in-loop
    show?.(undefined);
    await this.#release();
  }

  #now(): number {
    return this.#options.services.clock.now();
  }

  /** Whether this worker is offered what is posted. Where it is not, one that is may have it; if nobody has had it for a while, it is gone. */
  async #mayTake(): Promise<boolean> {
    const { claims, target } = this.#options;
    const { offer } = target.source ?? {};
    if (!offer) return true;
    const isHere = await offer.isHere();
    const isElsewhere = !isHere && (await claims.isTaken(`webhook ${target.name}`));
    if (isHere || isElsewhere) {
      this.#missedMs = 0;
    } else if (this.#missedMs < GONE_AFTER_MS) {
      this.#missedMs += this.#pace.claimMs / 6;
    } else {
      this.#missedMs = 0;
      offer.isGone();
    }
    return isHere;
  }

  async #release(): Promise<void> {
    const { claims, target } = this.#options;
    await claims.release(`webhook ${target.name}`, this.#holder).catch(() => undefined);
  }

  async #take(): Promise<boolean> {
    const { claims, target } = this.#options;
    const isTaken = await claims.take(`webhook ${target.name}`, this.#holder, this.#pace.claimMs);
    if (isTaken) this.#takenAtMs = this.#now();
    return isTaken;
  }

  /** Renews the claim where it has become old: a receiver may take its time for each of many events. Throws Lost. */
  async #hold(): Promise<void> {
    const isOld = this.#now() - this.#takenAtMs >= this.#pace.claimMs / 3;
    if (isOld && !(await this.#take())) throw new Lost();
  }

  async #pause(ms: number): Promise<void> {
    await this.#options.services.clock.sleep(ms, this.#signal);
  }

  /** Until it is stopped, or is not offered here any more. Throws Gone, Lost, and what Redis rejects with. */
  async #follow(): Promise<void> {
    const { target, services, feed, urlOf } = this.#options;
    const { caller, filter } = target;
    const source = target.source ?? outboxSource({ outbox: services.outbox, feed, caller, filter, urlOf });
    const { place = target.from } = this.#state;
    if (place === undefined) await this.#save({ place: await source.now() });
    const over = new AbortController();
    this.#signal = AbortSignal.any([this.#stopping, over.signal]);
    let failure: Error | undefined;
    const following = source.follow({
      from: place ?? this.#state.place ?? "",
      deliver: (read) => (this.#posting = this.#deliverAll(read).catch((error: unknown) => Promise.reject(new Interrupted(error)))),
      failed(error) {
        failure = (error instanceof Interrupted ? error.cause : error) as Error;
        over.abort();
      },
    });
    try {
      // oxlint-disable no-await-in-loop -- one look after the other
      while (!this.#signal.aborted) {
        await this.#pause(this.#pace.claimMs / 6);
        if (this.#signal.aborted) break;
        await this.#hold();
        await this.#keepPlace(following.cursor());
        if (target.source?.offer && !(await target.source.offer.isHere())) break;
      }
      // oxlint-enable no-await-in-loop
    } finally {
      following.stop();
      over.abort();
      await this.#posting?.catch(() => undefined);
      this.#posting = undefined;
      this.#signal = this.#stopping;
    }
    if (failure) throw failure;
  }

  /** A place that is not saved is only read again; but one that is never saved while nothing happens would grow too old. */
  async #keepPlace(place: string): Promise<void> {
    if (this.#posting || this.#now() - this.#savedAtMs < this.#pace.saveMs) return;
    await this.#save({ ...this.#state, place });
  }

  async #deliverAll({ postings, cursor, isTruncated }: PostingsRead): Promise<void> {
    const { target, log } = this.#options;
    if (isTruncated) {
      log.warn({ webhook: target.name }, target.source ? MISSED_THERE : MISSED_HERE);
      const atMs = this.#now();
      // Who goes on from it elsewhere hears what follows, and once more that something is missing: a cursor behind it would leave out what follows first.
      const before = postings.length > 0 ? this.#state.place : undefined;
      await this.#deliver({ id: `gap-${atMs}`, type: "gap", atMs, data: {}, cursor: before ?? cursor });
      if (this.#signal.aborted) return;
      if (postings.length === 0) await this.#save({ ...this.#state, place: cursor });
    }
    // oxlint-disable no-await-in-loop -- in their order
    for (const each of postings) {
      await this.#deliver(each);
      if (this.#signal.aborted) return;
      await this.#save({ ...this.#state, place: each.cursor });
    }
    // oxlint-enable no-await-in-loop
    this.#posting = undefined;
  }

  async #save(state: DeliveryState): Promise<void> {
    this.#state = state;
    this.#savedAtMs = this.#now();
    await this.#options.deliveries.save(this.#options.target.name, state, this.#options.target.keepMs);
  }

  /** Resolves once it was taken, or given up. Throws Gone. */
  async #deliver(occurrence: Posting): Promise<void> {
    const { target, deliveries, log, count, show } = this.#options;
    const firstMs = this.#now();
    // oxlint-disable no-await-in-loop -- attempt after attempt
    for (let tries = 1; !this.#signal.aborted; tries++) {
      await this.#hold();
      const posted = await this.#attempt(occurrence);
      const why = reasonOf(posted);
      const nowMs = this.#now();
      if (why === undefined) {
        count?.("delivered");
        const { place, gaveUpAtMs } = this.#state;
        this.#state = { ...(place !== undefined && { place }), ...(gaveUpAtMs !== undefined && { gaveUpAtMs }), deliveredAtMs: nowMs };
        show?.(this.#state);
        return;
      }
      if (this.#signal.aborted) return;
      count?.("failed");
      if (posted.type === "answered" && target.refusesOne?.has(posted.status)) {
        // The receiver's own decision: nobody else has to know.
        log.info({ webhook: target.name, id: occurrence.id, why }, "a receiver refused an event, and gets the next one");
        return;
      }
      const isMalformed = posted.type === "answered" && MALFORMED.has(posted.status);
      if (tries === 1) log.warn({ webhook: target.name, id: occurrence.id, why }, "a webhook was not taken; it is posted again");
      await this.#save({ ...this.#state, failingSinceMs: this.#state.failingSinceMs ?? nowMs, lastError: why });
      show?.(this.#state);
      if (posted.type === "answered" && posted.status === 410) throw new Gone();
      if ((isMalformed && tries >= MALFORMED_TRIES) || nowMs - firstMs > this.#pace.giveUpMs) {
        // Whom a question is put to is content, which may be sealed elsewhere in Redis: who looks finds it by the task. All that an upstream says is content.
        const { id, type, atMs } = occurrence;
        const data = target.source ? {} : { ...occurrence.data, to: undefined };
        log.error({ webhook: target.name, id, why, tries }, "a webhook was given up for this event");
        count?.("given_up");
        await deliveries.bury(target.name, { id, type, atMs, data, why });
        await this.#save({ ...this.#state, gaveUpAtMs: nowMs });
        show?.(this.#state);
        return;
      }
      await this.#pause(this.#delay(tries, posted));
    }
    // oxlint-enable no-await-in-loop
  }

  #delay(tries: number, posted: Posted): number {
    const { retryMs } = this.#pace;
    const own = (retryMs[Math.min(tries, retryMs.length) - 1] ?? HOUR_MS) * (0.8 + Math.random() * 0.4);
    const asked = posted.type === "answered" ? (posted.retryAfterMs ?? 0) : 0;
    return Math.max(own, Math.min(asked, RETRY_AFTER_MAX_MS));
  }

  #attempt(posting: Posting): Promise<Posted> {
    const { target, turn = atOnce } = this.#options;
    const message = target.message(posting);
    return turn(() => postTo(target, message, { nowMs: this.#now(), timeoutMs: this.#pace.timeoutMs, signal: this.#signal }));
  }
}

const atOnce: Turn = (work) => work();

export interface PostOnce {
  readonly nowMs: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly readsAnswer?: boolean;
}

/** One signed POST. */
export function postTo(
  { url, keys, isPrivate, headers }: Pick<Target, "url" | "keys" | "isPrivate" | "headers">,
  { id: given, body }: { readonly id: string; readonly body: object },
  { nowMs, ...bounds }: PostOnce,
): Promise<Posted> {
  const id = idInHeader(given);
  const text = JSON.stringify(body);
  const seconds = Math.floor(nowMs / 1_000);
  const signed = {
    "content-type": "application/json",
    "user-agent": "parley-webhooks",
    "webhook-id": id,
    "webhook-timestamp": String(seconds),
    "webhook-signature": signatureOf(keys, { id, seconds, body: text }),
  };
  return post({ url, headers: { ...headers, ...signed }, body: text, isPrivate, ...bounds });
}

/** The id that is signed. That of an upstream's event may have characters that no header carries, or that receivers read in different ways. */
function idInHeader(id: string): string {
  return /^[\x21-\x7e]+$/.test(id) ? id : `id_${hash("sha256", JSON.stringify(id), "base64url")}`;
}

/** A webhook of the operator's file hears everything of its tenant, in the form of Standard Webhooks. */
export function targetOf({ name, url, keys, isPrivate, events, tool, tenant }: Webhook): Target {
  return {
    name,
    url,
    keys,
    isPrivate,
    caller: { isOperator: true, ...(tenant !== undefined && { tenant }) },
    filter: { types: events, ...(tool !== undefined && { tool }) },
    message: ({ id, type, atMs, data }) => ({ id, body: { type, timestamp: new Date(atMs).toISOString(), data } }),
  };
}

/** Posts an event of type `test` once. */
export async function postTest(webhook: Webhook, nowMs: number): Promise<{ readonly isTaken: boolean; readonly why?: string }> {
  const target = targetOf(webhook);
  const message = target.message({ id: `test-${randomUUID()}`, type: "test", atMs: nowMs, data: {}, cursor: "" });
  const why = reasonOf(await postTo(target, message, { nowMs, timeoutMs: PACE.timeoutMs, signal: new AbortController().signal }));
  return why === undefined ? { isTaken: true } : { isTaken: false, why };
}

/** A redirect is a failure: it could lead anywhere. */
export function reasonOf(posted: Posted): string | undefined {
  if (posted.type === "failed") return posted.why;
  return posted.status >= 200 && posted.status < 300 ? undefined : `http_${posted.status}`;
}
