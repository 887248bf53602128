import { createMemoryStore, createMemoryWakeUps } from "@parley/core/memory";
import { systemClock } from "@parley/node";
import { describeFamilies } from "./families-contract.ts";

describeFamilies("in memory", async () => {
  const wakeUps = createMemoryWakeUps();
  return { wakeUps, store: createMemoryStore({ clock: systemClock, wakeUps }), close: async () => undefined };
});
