/**
 * The session store in memory: the rules of packages/redis/scripts/session in readable form.
 *
 * A method runs to its end without awaiting, so it is one atomic change. A session that has ended is never written
 * to: late writes find nothing and change nothing.
 */
import type { Clock } from "../ports.ts";
import { owns } from "../callers/policy.ts";
import { CANCELLED_CALL, type ClaimedAsk, type Session, type SessionStore } from "../callers/session.ts";
import type { MemoryWakeUps } from "./wake-ups.ts";

interface Stored {
  session: Session;
  expiresAtMs: number;
  readonly uris: Set<string>;
  readonly taskIds: Set<string>;
  /** Short form of the request's id → task id, or CANCELLED_CALL. */
  readonly calls: Map<string, string>;
  /** A stream is held while its lease runs. Afterwards any holder may take it over. */
  readonly streams: Map<string, { readonly token: string; readonly untilMs: number }>;
  /** Task id and ask key → the stream and event that carry the question. */
  readonly asked: Map<string, ClaimedAsk & { readonly stream: string; readonly event: number; readonly refusals: number }>;
}

export function createMemorySessions({
  clock,
  wakeUps,
}: {
  readonly clock: Pick<Clock, "now">;
  readonly wakeUps: Pick<MemoryWakeUps, "changed" | "watch">;
}): SessionStore {
  const sessions = new Map<string, Stored>();

  function find(sessionId: string): Stored | undefined {
    const stored = sessions.get(sessionId);
    if (!stored || stored.expiresAtMs > clock.now()) return stored;
    sessions.delete(sessionId);
    return undefined;
  }

  function tell(sessionId: string): void {
    wakeUps.changed(channel(sessionId));
  }

  /** Adds to a set of at most `most` items. Adding an existing item changes nothing. False if there is no room, or no set. */
  function add(sessionId: string, set: Set<string> | undefined, item: string, most: number): boolean {
    if (!set) return false;
    if (set.has(item)) return true;
    if (set.size >= most) return false;
    set.add(item);
    tell(sessionId);
    return true;
  }

  return {
    async open(session, ttlMs) {
      sessions.set(session.id, {
        session: structuredClone(session),
        expiresAtMs: clock.now() + ttlMs,
        uris: new Set(),
        taskIds: new Set(),
        calls: new Map(),
        streams: new Map(),
        asked: new Map(),
      });
    },

    async touch(sessionId, ttlMs, caller) {
      const stored = find(sessionId);
      if (!stored || (caller && !owns(caller, stored.session))) return undefined;
      stored.expiresAtMs = clock.now() + ttlMs;
      return structuredClone(stored.session);
    },

    async close(sessionId) {
      if (!find(sessionId)) return false;
      sessions.delete(sessionId);
      wakeUps.changed(channel(sessionId), ENDED);
      return true;
    },

    async setLogLevel(sessionId, logLevel) {
      const stored = find(sessionId);
      if (stored) stored.session = { ...stored.session, logLevel };
    },

    async subscribe(sessionId, uri, most) {
      return add(sessionId, find(sessionId)?.uris, uri, most) ? "subscribed" : "full";
    },

    async unsubscribe(sessionId, uri) {
      find(sessionId)?.uris.delete(uri);
      tell(sessionId);
    },

    async noteCall(sessionId, call, taskId, most) {
      const calls = find(sessionId)?.calls;
      if (!calls) return "gone";
      if (calls.get(call) === CANCELLED_CALL) return "cancelled";
      if (!calls.has(call) && calls.size >= most) return "full";
      calls.set(call, taskId);
      return "noted";
    },

    async cancelCall(sessionId, call, most) {
      const calls = find(sessionId)?.calls;
      const noted = calls?.get(call);
      if (noted !== undefined) return noted === CANCELLED_CALL ? undefined : noted;
      if (calls && calls.size < most) calls.set(call, CANCELLED_CALL);
      return undefined;
    },

    async stateOfCall(sessionId, call) {
      const calls = find(sessionId)?.calls;
      if (!calls) return "gone";
      return calls.get(call) === CANCELLED_CALL ? "cancelled" : "open";
    },

    async forgetCalls(sessionId, calls) {
      const stored = find(sessionId);
      for (const call of calls) stored?.calls.delete(call);
    },

    async calls(sessionId) {
      return new Map(find(sessionId)?.calls);
    },

    async follow(sessionId, taskId, most) {
      return add(sessionId, find(sessionId)?.taskIds, taskId, most) ? "following" : "full";
    },

    async unfollow(sessionId, taskIds) {
      const stored = find(sessionId);
      if (!stored) return;
      for (const taskId of taskIds) {
        stored.taskIds.delete(taskId);
        for (const asked of stored.asked.keys()) if (asked.startsWith(`${taskId}:`)) stored.asked.delete(asked);
      }
    },

    async interests(sessionId) {
      const stored = find(sessionId);
      return { taskIds: [...(stored?.taskIds ?? [])], resources: [...(stored?.uris ?? [])] };
    },

    async holdStream({ sessionId, stream, token, nowMs, leaseMs, after, most }) {
      const stored = find(sessionId);
      if (!stored) return { type: "gone" };
      const others = [...stored.streams].filter(([name]) => name !== stream);
      if (others.length >= most) {
        for (const [name, { untilMs }] of others) if (untilMs <= nowMs) stored.streams.delete(name);
        if (others.filter(([, { untilMs }]) => untilMs > nowMs).length >= most) return { type: "full" };
      }
      for (const [asked, { stream: on, event }] of stored.asked) if (on === stream && event > after) stored.asked.delete(asked);
      stored.streams.set(stream, { token, untilMs: nowMs + leaseMs });
      tell(sessionId);
      const put = [...stored.asked.values()].filter(({ stream: on }) => on === stream);
      return { type: "held", put: put.map(({ taskId, key, refusals }) => ({ taskId, key, refusals })) };
    },

    async keepStream({ sessionId, stream, token, nowMs, leaseMs }) {
      const stored = find(sessionId);
      if (stored?.streams.get(stream)?.token !== token) return "lost";
      stored.streams.set(stream, { token, untilMs: nowMs + leaseMs });
      return "kept";
    },

    async dropStream({ sessionId, stream, token }) {
      const stored = find(sessionId);
      if (stored?.streams.get(stream)?.token !== token) return;
      stored.streams.delete(stream);
      tell(sessionId);
    },

    async endStream({ sessionId, stream, heir, nowMs }) {
      const stored = find(sessionId);
      if (!stored?.streams.delete(stream)) return;
      if ((stored.streams.get(heir)?.untilMs ?? 0) > nowMs) {
        for (const [asked, claim] of stored.asked) if (claim.stream === stream) stored.asked.set(asked, { ...claim, stream: heir });
      }
      tell(sessionId);
    },

    async claimAsk({ sessionId, taskId, key, stream, token, refusals, event, nowMs, most }) {
      const stored = find(sessionId);
      if (stored?.streams.get(stream)?.token !== token) return "elsewhere";
      const asked = `${taskId}:${key}`;
      const before = stored.asked.get(asked);
      // The same event: this claim was sent twice, as client libraries do after a lost connection.
      if (before?.stream === stream && before.refusals === refusals) return before.event === event ? "claimed" : "put";
      if (before && before.stream !== stream && (stored.streams.get(before.stream)?.untilMs ?? 0) > nowMs) return "elsewhere";
      if (!before && stored.asked.size >= most) return "full";
      stored.asked.set(asked, { taskId, key, stream, event, refusals });
      return "claimed";
    },

    async claims(sessionId) {
      return [...(find(sessionId)?.asked.values() ?? [])].map(({ taskId, key }) => ({ taskId, key }));
    },

    async forgetClaims(sessionId, claims) {
      const stored = find(sessionId);
      for (const { taskId, key } of claims) stored?.asked.delete(`${taskId}:${key}`);
    },

    watch: (sessionId, onChange) => wakeUps.watch(channel(sessionId), (change) => onChange(change === ENDED)),
  };
}

const ENDED = { revision: 0, isEnd: true };

/** Differs from every task id. */
function channel(sessionId: string): string {
  return `session:${sessionId}`;
}
