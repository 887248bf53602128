import { createMemoryStandingApprovals } from "@parley/core/memory";
import { describeStanding } from "./standing-contract.ts";

describeStanding("in memory", async () => ({ standing: createMemoryStandingApprovals(), close: async () => undefined }));
