import { createMemoryShares } from "@parley/gateway/memory";
import { describeShare } from "./share-contract.ts";

describeShare("in memory", async () => {
  let nowMs = 1_000_000;
  return {
    countsListeners: true,
    share: createMemoryShares(() => nowMs),
    pass: async (ms) => void (nowMs += ms),
    close: async () => undefined,
  };
});
