import { createMemorySnoozes } from "@parley/core/memory";
import { describeSnoozes } from "./snoozes-contract.ts";

describeSnoozes("in memory", async () => ({ snoozes: createMemorySnoozes(), close: async () => undefined }));
