import { createMemoryStore, createMemoryWakeUps } from "@parley/core/memory";
import { systemClock } from "@parley/node";
import { describeFirstCalls } from "./first-call-contract.ts";

describeFirstCalls("in memory", async () => {
  const wakeUps = createMemoryWakeUps();
  return { wakeUps, store: createMemoryStore({ clock: systemClock, wakeUps }), close: async () => undefined };
});
