import type { SessionStore } from "@parley/core";

const REMEMBERED_MAX = 10_000;

/**
 * Sessions that follow each task only once, so that polling a waiting task does not cost a write each time. The memory of this process only
 * saves round trips (I8): if an entry is lost, the next poll writes again.
 */
export function followOnce(sessions: SessionStore): SessionStore {
  const remembered = new Set<string>();
  return {
    ...sessions,
    async follow(sessionId, taskId, most) {
      const name = `${sessionId} ${taskId}`;
      if (remembered.has(name)) return "following";
      const became = await sessions.follow(sessionId, taskId, most);
      if (remembered.size >= REMEMBERED_MAX) remembered.clear();
      if (became === "following") remembered.add(name);
      return became;
    },
    async unfollow(sessionId, taskIds) {
      for (const taskId of taskIds) remembered.delete(`${sessionId} ${taskId}`);
      await sessions.unfollow(sessionId, taskIds);
    },
  };
}
