import { createMemoryApprovalRecord } from "@parley/core/memory";
import { describeApprovals } from "./approvals-contract.ts";

describeApprovals("in memory", async () => ({ approvals: createMemoryApprovalRecord(), close: async () => undefined }));
