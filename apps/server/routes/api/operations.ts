/** All operations of /api/v1. A new file of operations gets a line here, and is then served, checked and documented. */
import { ASK_OPERATIONS } from "./asks.ts";
import type { Operation } from "./operation.ts";

export const OPERATIONS: readonly Operation[] = [...ASK_OPERATIONS];
