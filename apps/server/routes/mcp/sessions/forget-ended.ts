/**
 * Removes ended tasks, calls and asks from a session before the session is treated as full. Normally the stream that reports the end of a
 * task removes it. If there is no such stream, because the client disconnected or only polls, the entry stays until the session is full.
 */
import { type ClaimedAsk, isFinished, type Services, type SessionStore, turns } from "@parley/core";

/** A session that is full of live entries is cleaned up at most once in this time. */
const CLEANUP_INTERVAL_MS = 1_000;
const REMEMBERED_MAX = 10_000;
/** How many tasks are read at once to find their open asks. */
const TASKS_AT_ONCE = 8;

interface Cleanup {
  readonly atMs: number;
  readonly done: Promise<void>;
}

export function forgetEnded(sessions: SessionStore, { store, clock }: Pick<Services, "store" | "clock">): SessionStore {
  const cleanups = new Map<string, Cleanup>();

  async function forget(sessionId: string): Promise<void> {
    const [calls, { taskIds }, claims] = await Promise.all([
      sessions.calls(sessionId),
      sessions.interests(sessionId),
      sessions.claims(sessionId),
    ]);
    const ended = await endedAmong([...new Set([...calls.values(), ...taskIds])]);
    await Promise.all([
      sessions.forgetClaims(sessionId, await closedAmong(claims)),
      sessions.forgetCalls(
        sessionId,
        [...calls].flatMap(([call, taskId]) => (ended.has(taskId) ? [call] : [])),
      ),
      sessions.unfollow(
        sessionId,
        taskIds.filter((taskId) => ended.has(taskId)),
      ),
    ]);
  }

  async function endedAmong(taskIds: readonly string[]): Promise<ReadonlySet<string>> {
    const summaries = await store.summaries(taskIds);
    return new Set(taskIds.filter((_, index) => isFinished(summaries[index]?.status ?? "cancelled")));
  }

  /** The claims whose asks are no longer open. */
  async function closedAmong(claims: readonly ClaimedAsk[]): Promise<readonly ClaimedAsk[]> {
    const inTurn = turns(TASKS_AT_ONCE);
    const byTask = Map.groupBy(claims, ({ taskId }) => taskId);
    const closed = [...byTask].map(async ([taskId, own]) => {
      const task = await inTurn(() => store.load(taskId));
      // Without its key, the open asks of the task are unknown.
      if (task?.unreadable === "key_missing") return [];
      const open = new Set(task?.asks.map(({ key }) => key));
      return own.filter(({ key }) => !open.has(key));
    });
    return (await Promise.all(closed)).flat();
  }

  async function makeRoom(sessionId: string): Promise<void> {
    const last = cleanups.get(sessionId);
    if (last && clock.now() - last.atMs < CLEANUP_INTERVAL_MS) return await last.done;
    if (cleanups.size >= REMEMBERED_MAX) cleanups.clear();
    const cleanup = { atMs: clock.now(), done: forget(sessionId) };
    cleanups.set(sessionId, cleanup);
    await cleanup.done;
  }

  return {
    ...sessions,
    async follow(...follow) {
      const became = await sessions.follow(...follow);
      if (became === "following") return became;
      await makeRoom(follow[0]);
      return await sessions.follow(...follow);
    },
    async claimAsk(claim) {
      const became = await sessions.claimAsk(claim);
      if (became !== "full") return became;
      await makeRoom(claim.sessionId);
      return await sessions.claimAsk(claim);
    },
    async noteCall(...note) {
      const became = await sessions.noteCall(...note);
      if (became !== "full") return became;
      await makeRoom(note[0]);
      return await sessions.noteCall(...note);
    },
  };
}
