import { createMemoryLastApproved } from "@parley/core/memory";
import { describeLastApproved } from "./last-approved-contract.ts";

let count = 0;
describeLastApproved("in memory", async () => ({
  last: createMemoryLastApproved(),
  newTaskId: () => `0-${(count += 1)}`,
  close: async () => undefined,
}));
