import { createMemoryStore, createMemoryWakeUps } from "@parley/core/memory";
import { describeStore } from "./store-contract.ts";

describeStore("in memory", async () => {
  const wakeUps = createMemoryWakeUps();
  return { store: createMemoryStore({ clock: { now: () => Date.now() }, wakeUps }), wakeUps, close: async () => undefined };
});
