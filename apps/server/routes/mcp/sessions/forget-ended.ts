/**
 * Removes what has ended from a session before it is called full. The stream that tells the end of a task also removes it; where there is no
 * such stream, because the client left or only polls, it stays noted until then.
 */
import { type ClaimedAsk, isFinished, type Services, type SessionStore, turns } from "@parley/core";

/** A session that is full of what lives is looked through once in this time, however often it is tried. */
const AGAIN_AFTER_MS = 1_000;
const REMEMBERED_MAX = 10_000;
/** Tasks that are read at once to see what they still ask. */
const TASKS_AT_ONCE = 8;

interface Look {
  readonly atMs: number;
  readonly done: Promise<void>;
}

export function forgetEnded(sessions: SessionStore, { store, clock }: Pick<Services, "store" | "clock">): SessionStore {
  const looks = new Map<string, Look>();

  async function forget(sessionId: string): Promise<void> {
    const [calls, { taskIds }, claims] = await Promise.all([
      sessions.calls(sessionId),
      sessions.interests(sessionId),
      sessions.claims(sessionId),
    ]);
    const ended = await endedOf([...new Set([...calls.values(), ...taskIds])]);
    await Promise.all([
      sessions.forgetClaims(sessionId, await closedOf(claims)),
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

  /** Those of the claims whose questions are not open any more. */
  async function closedOf(claims: readonly ClaimedAsk[]): Promise<readonly ClaimedAsk[]> {
    const inTurn = turns(TASKS_AT_ONCE);
    const byTask = Map.groupBy(claims, ({ taskId }) => taskId);
    const closed = [...byTask].map(async ([taskId, own]) => {
      const task = await inTurn(() => store.load(taskId));
      if (task?.unreadable === "key_missing") return []; // Nobody can say.
      const open = new Set(task?.asks.map(({ key }) => key));
      return own.filter(({ key }) => !open.has(key));
    });
    return (await Promise.all(closed)).flat();
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
