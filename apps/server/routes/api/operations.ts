/** All operations of /api/v1. A new file of operations gets a line here, and is then served, checked and documented. */
import { APPROVAL_OPERATIONS } from "./approvals.ts";
import { ASK_OPERATIONS } from "./asks.ts";
import { BATCH_OPERATIONS } from "./batches.ts";
import type { Operation } from "./operation.ts";
import { TASK_OPERATIONS } from "./tasks.ts";
import { SNOOZE_OPERATIONS } from "./snoozes.ts";
import { THREAD_OPERATIONS } from "./threads.ts";
import { TOOL_OPERATIONS } from "./tools.ts";

export const OPERATIONS: readonly Operation[] = [
  ...ASK_OPERATIONS,
  ...THREAD_OPERATIONS,
  ...SNOOZE_OPERATIONS,
  ...BATCH_OPERATIONS,
  ...TASK_OPERATIONS,
  ...TOOL_OPERATIONS,
  ...APPROVAL_OPERATIONS,
];
