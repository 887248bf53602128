import { createMemorySlots } from "@parley/core/memory";
import { describeSlots } from "./slots-contract.ts";

describeSlots("in memory", async () => ({ slots: createMemorySlots(), close: async () => undefined }));
