import { createMemoryEvents, createMemoryStore } from "@parley/core/memory";
import { describeStore } from "./store-contract.ts";

describeStore("in memory", async () => {
  const events = createMemoryEvents();
  return { store: createMemoryStore({ clock: { now: () => Date.now() }, events }), events, close: async () => undefined };
});
