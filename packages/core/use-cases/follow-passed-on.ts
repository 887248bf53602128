/**
 * Somebody hears what happens at an upstream, as it is polled there:
 *
 *   may they hear it now? ─▶ poll from the cursor ─▶ deliver ─▶ the cursor moves on ─▶ wait as the publisher wants
 *
 *   P1  The cursor moves on only when everything before it was delivered, so nothing is lost with a process: who follows again from the same
 *       cursor hears what is missing, and nothing twice. A publisher that does not take its own cursor any more is heard from now on, as
 *       one that has forgotten what came after it.
 *   P2  What one may not hear is not polled. It is looked up each time.
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

export interface FollowPassedOn {
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
  /** It cannot be polled at the moment. It is tried again; said once until it was polled again. */
  readonly troubled: (error: unknown) => void;
  /** A page that was polled already, from that cursor. */
  readonly first?: PassedOnPage;
}

export interface PassedOnFollowing {
  /** Everything up to here was delivered, or was nothing to deliver. */
  readonly cursor: string | null;
  stop(): void;
}

export function followPassedOn(options: FollowPassedOn): PassedOnFollowing {
  // Not `options` itself, which would keep the first page for as long as somebody follows.
  const { look, arguments: args, limit, taker, clock, deliver, failed, troubled } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  let cursor = options.from;
  let failures = 0;
  let { first } = options;

  async function poll(): Promise<PassedOnPage | undefined> {
    const polled = first;
    first = undefined;
    if (polled) return polled;
    const type = await look();
    const wanted = { arguments: args, limit, ...(taker && { taker }) };
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
      if (failures === 0 && !signal.aborted) troubled(error);
      failures += 1;
      return Math.min(AGAIN_MS * 2 ** (failures - 1), AGAIN_MAX_MS);
    }
    failures = 0;
    if (page === undefined) return AGAIN_MS;
    if (signal.aborted) return 0;
    if (page.events.length > 0 || page.isTruncated) await deliver(page);
    // A publisher whose cursor stays where it is always has more.
    const isOnward = page.cursor !== null && page.cursor !== cursor;
    cursor = page.cursor;
    return page.isMore && page.events.length > 0 && isOnward ? 0 : page.nextPollMs;
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
