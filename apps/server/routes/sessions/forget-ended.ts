/**
 * Sessions that are full only of what lives. A task is forgotten by whoever tells its end, and where nobody was there to tell it, it stays noted:
 * a client that left, or one that only polls. So before a session is called full, what has ended is taken out.
 */
import { isFinished, type Services, type SessionStore } from "@parley/core";

/** A session that is full of what lives is looked through once in this time, however often it is tried. */
const AGAIN_AFTER_MS = 1_000;
const REMEMBERED_MAX = 10_000;

interface Look {
  readonly atMs: number;
  readonly done: Promise<void>;
}

export function forgetEnded(sessions: SessionStore, { store, clock }: Pick<Services, "store" | "clock">): SessionStore {
  const looks = new Map<string, Look>();

  async function forget(sessionId: string): Promise<void> {
    const [calls, { taskIds }] = await Promise.all([sessions.calls(sessionId), sessions.interests(sessionId)]);
    const ended = await endedOf([...new Set([...calls.values(), ...taskIds])]);
    await Promise.all([
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

  async function endedOf(taskIds: readonly string[]): Promise<ReadonlySet<string>> {
    const summaries = await store.summaries(taskIds);
    return new Set(taskIds.filter((_, index) => isFinished(summaries[index]?.status ?? "cancelled")));
  }

  async function makeRoom(sessionId: string): Promise<void> {
    const last = looks.get(sessionId);
    if (last && clock.now() - last.atMs < AGAIN_AFTER_MS) return await last.done;
    if (looks.size >= REMEMBERED_MAX) looks.clear();
    const look = { atMs: clock.now(), done: forget(sessionId) };
    looks.set(sessionId, look);
    await look.done;
  }

  return {
    ...sessions,
    async follow(...follow) {
      const became = await sessions.follow(...follow);
      if (became === "following") return became;
      await makeRoom(follow[0]);
      return await sessions.follow(...follow);
    },
    async noteCall(...note) {
      const became = await sessions.noteCall(...note);
      if (became !== "full") return became;
      await makeRoom(note[0]);
      return await sessions.noteCall(...note);
    },
  };
}
