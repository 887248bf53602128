/**
 * Somebody hears what happens at an upstream, as it is polled there:
 *
 *   may they hear it now? ─▶ poll from the cursor ─▶ deliver ─▶ the cursor moves on ─▶ wait as the publisher wants
 *
 *   P1  The cursor moves on only when everything before it was delivered, so nothing is lost with a process: who follows again from the same
 *       cursor hears what is missing, and nothing twice. A publisher that does not take its own cursor any more is heard from now on, as
 *       one that has forgotten what came after it.
 *   P2  What one may not hear is not polled. It is looked up each time.
 *   P3  What is not offered any more, or is refused by its publisher, has ended after a while, and whoever follows is told: lists and rights come
 *       back, and a silence without an end would look as if nothing happened.
 */
import type { Taker } from "../callers/shares.ts";
import { RpcFailure } from "../errors.ts";
import type { PassedOnPage, PassedOnType } from "../ports/passed-on.ts";
import type { Clock } from "../ports/clock.ts";
import type { JsonObject } from "../values/json.ts";

/** While nothing is offered or can be read; doubled with each failure. */
const AGAIN_MS = 5_000;
const AGAIN_MAX_MS = 60_000;
const INVALID_PARAMS = -32_602;
/** How long (ms, while it is waited) until what is not offered or is refused has ended. */
export const GONE_AFTER_MS = 5 * 60_000;
const NOT_FOUND = -32_011;
/** By these a publisher says that there is nothing to hear, now or later: no such method or event, not these arguments, not for this caller. */
const FINAL: ReadonlySet<number> = new Set([INVALID_PARAMS, -32_601, NOT_FOUND, -32_012, -32_023, -32_024]);
/** Pages in a row that say nothing but that there is more: they are asked for at once, up to here. */
const EMPTY_PAGES_MAX = 100;

export interface FollowPassedOn {
  /** Under which it is offered. */
  readonly name: string;
  /** The event type as it is offered now; undefined while it is not offered. */
  readonly look: () => PassedOnType | undefined | Promise<PassedOnType | undefined>;
  readonly arguments: JsonObject;
  /** Null: from now on. */
  readonly from: string | null;
  readonly limit: number;
  readonly taker?: Taker | undefined;
  readonly clock: Pick<Clock, "sleep">;
  /** Called one after the other, with pages that say something. What it rejects with ends the following. */
  readonly deliver: (page: PassedOnPage) => Promise<void> | void;
  readonly failed: (error: unknown) => void;
  /** It cannot be polled at the moment, or is not offered. It is tried again; said once until it was polled again. */
  readonly troubled: (error: unknown) => void;
  /** It is followed no more: it has not been offered for a while, or its publisher has refused it for as long, with that error. */
  readonly ended: (error: RpcFailure) => void;
  /** A page that was polled already, from that cursor. */
  readonly first?: PassedOnPage;
}

export interface PassedOnFollowing {
  /** Everything up to here was delivered, or was nothing to deliver. */
  readonly cursor: string | null;
  stop(): void;
}

/** What ends who follows an event type that has not been offered for a while. */
export function notOffered(name: string): RpcFailure {
  return new RpcFailure(NOT_FOUND, `the event type ${name} is not offered any more`, { kind: "event" });
}

export function followPassedOn(options: FollowPassedOn): PassedOnFollowing {
  // Not `options` itself, which would keep the first page for as long as somebody follows.
  const { name, look, arguments: args, limit, taker, clock, deliver, failed, troubled, ended } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  let cursor = options.from;
  let failures = 0;
  let emptyPages = 0;
  /** How long it has not been offered, or has been refused. */
  let goneMs = 0;
  let { first } = options;

  async function poll(): Promise<PassedOnPage | undefined> {
    const polled = first;
    first = undefined;
    if (polled) return polled;
    const type = await look();
    const wanted = { arguments: args, limit, isShared: true, ...(taker && { taker }) };
    if (!type || cursor === null) return await type?.poll(wanted);
    try {
      return await type.poll({ ...wanted, cursor });
    } catch (error) {
      if (!(error instanceof RpcFailure) || error.code !== INVALID_PARAMS) throw error;
      // It has forgotten what it said, and would refuse the cursor forever. If it is the arguments that it refuses, it does so again.
      return { ...(await type.poll(wanted)), isTruncated: true };
    }
  }

  /** Returns how long to wait before the next poll. */
  async function step(): Promise<number> {
    let page: PassedOnPage | undefined;
    try {
      page = await poll();
    } catch (error) {
      return missed(error, Math.min(AGAIN_MS * 2 ** failures, AGAIN_MAX_MS));
    }
    if (page === undefined) return missed(notOffered(name), AGAIN_MS);
    [failures, goneMs] = [0, 0];
    if (signal.aborted) return 0;
    if (page.events.length > 0 || page.isTruncated) await deliver(page);
    // A publisher whose cursor stays where it is always has more, and so may one that finds nothing in what it looks through.
    const isOnward = page.cursor !== null && page.cursor !== cursor;
    cursor = page.cursor;
    emptyPages = page.isMore && page.events.length === 0 ? emptyPages + 1 : 0;
    return page.isMore && isOnward && emptyPages < EMPTY_PAGES_MAX ? 0 : page.nextPollMs;
  }

  function missed(error: unknown, waitMs: number): number {
    if (signal.aborted) return 0;
    if (failures === 0) troubled(error);
    failures += 1;
    // Whoever cannot be reached says nothing.
    if (!(error instanceof RpcFailure) || !FINAL.has(error.code)) return waitMs;
    if (goneMs >= GONE_AFTER_MS) {
      stopping.abort();
      ended(error);
    }
    goneMs += waitMs;
    return waitMs;
  }

  async function run(): Promise<void> {
    let waitMs = 0;
    // oxlint-disable no-await-in-loop -- poll after poll
    while (!signal.aborted) {
      if (waitMs > 0) await clock.sleep(waitMs, signal);
      if (!signal.aborted) waitMs = await step();
    }
    // oxlint-enable no-await-in-loop
  }

  run().catch((error: unknown) => {
    if (!signal.aborted) failed(error);
  });
  return {
    get cursor() {
      return cursor;
    },
    stop: () => stopping.abort(),
  };
}
