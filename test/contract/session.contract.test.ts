import { createMemorySessions, createMemoryWakeUps } from "@parley/core/memory";
import { describeSessions } from "./session-contract.ts";

describeSessions("in memory", async () => {
  const sessions = createMemorySessions({ clock: { now: () => Date.now() }, wakeUps: createMemoryWakeUps() });
  return { sessions, close: async () => undefined };
});
