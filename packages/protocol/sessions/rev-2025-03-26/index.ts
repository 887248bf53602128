/** MCP 2025-03-26: batches; no elicitation of its own, but clients that declare it are asked as those of 2025-06-18. */
import { servedCapabilities } from "../../entries.ts";
import { canAsk } from "../can-ask.ts";
import type { SessionDialect } from "../dialect.ts";
import { failure } from "../errors.ts";
import { readOlderReply } from "../form.ts";
import { SESSION_METHODS } from "../methods.ts";
import { noTasks } from "../no-tasks.ts";
import { olderAsk } from "../older-ask.ts";
import { sessionDialect } from "../session-dialect.ts";
import { entries } from "./entries.ts";
import { callResult, promptResult } from "./results.ts";

const VERSION = "2025-03-26";

export const rev20250326: SessionDialect = sessionDialect({
  version: VERSION,
  batches: true,
  closesEarly: false,
  methods: SESSION_METHODS,
  capabilities: servedCapabilities,
  serverInfo: ({ name, version }) => ({ name, version }),
  entries,
  callResult,
  promptResult,
  tasks: () => noTasks(VERSION),
  canAsk,
  ask: olderAsk,
  readReply: readOlderReply,
  failure,
});
