import { createMemoryEvents, createMemorySessions } from "@parley/core/memory";
import { describeSessions } from "./session-contract.ts";

describeSessions("in memory", async () => {
  const sessions = createMemorySessions({ clock: { now: () => Date.now() }, events: createMemoryEvents() });
  return { sessions, close: async () => undefined };
});
