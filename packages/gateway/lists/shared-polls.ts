/**
 * Many who wait for the same at an upstream ask for it together: what one of them polls, the others take as the answer to theirs.
 *
 *   same event type, arguments and cursor ─▶ a poll is under way ─▶ its answer; if it takes longer than a moment, the next one's, and then one's own
 *                                         ├▶ one has said nothing a moment ago ─▶ nothing
 *                                         └▶ one's own poll
 *
 * The upstream answers everybody alike, since it is asked with the headers of the file; who may hear it is decided before. A moment is shorter than the time
 * between two polls of one follower, so each hears something new with each of them. Nobody waits longer than a few moments for the place of somebody else
 * (packages/core/callers/shares.ts): a slower upstream is polled by each.
 */
import { hash } from "node:crypto";
import { codeOf } from "@parley/core";
import type { PollThrough } from "./gateway-event.ts";

const MOMENT_MS = 500;
/** How often somebody waits for others, who may all wait for places, before a poll of their own. */
const JOINS_MAX = 3;

export function sharedPolls(poll: PollThrough["poll"]): PollThrough["poll"] {
  const all = new Map<string, Promise<unknown>>();

  function begin(key: string, page: Promise<unknown>): Promise<unknown> {
    all.set(key, page);
    const forget = () => (all.get(key) === page ? void all.delete(key) : undefined);
    // Others are at most a page, and those who come later ask from another cursor.
    page.then((found) => (isQuiet(found) ? void setTimeout(forget, MOMENT_MS).unref() : forget()), forget);
    return page;
  }

  return async (upstream, wanted, taker) => {
    const own = () => poll(upstream, wanted, taker);
    // From now on: that is a place of one's own.
    if (wanted.cursor === null) return await own();
    const key = hash("sha256", JSON.stringify([upstream.name, upstream.fingerprint, wanted]), "base64url");
    let joined: Promise<unknown> | undefined;
    for (let joins = 0; joins < JOINS_MAX; joins += 1) {
      const known = all.get(key);
      if (!known || known === joined) return await begin(key, own());
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const page = await withinMoment(known);
      if (page !== LATE) return page;
      joined = known;
    }
    return await own();
  };
}

const LATE = Symbol("late");

/** Late is also who was refused a place: that is between them and whoever divides the places. Throws what else the poll throws. */
async function withinMoment(page: Promise<unknown>): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((passed) => (timer = setTimeout(passed, MOMENT_MS, LATE)));
  try {
    return await Promise.race([page, late]);
  } catch (error) {
    if (codeOf(error) === "UPSTREAM_BUSY") return LATE;
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

function isQuiet(page: unknown): boolean {
  const { events, hasMore, truncated } = (page ?? {}) as { events?: unknown; hasMore?: unknown; truncated?: unknown };
  return Array.isArray(events) && events.length === 0 && hasMore !== true && truncated !== true;
}
