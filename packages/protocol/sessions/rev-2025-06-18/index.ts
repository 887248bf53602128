/** MCP 2025-06-18: elicitation by forms, structured results, titles; no tasks, no url mode, no icons. */
import { present, servedCapabilities, without, type Entries } from "../../entries.ts";
import { canAsk } from "../can-ask.ts";
import type { SessionDialect } from "../dialect.ts";
import { SESSION_ENTRIES } from "../entries.ts";
import { failure } from "../errors.ts";
import { readOlderReply } from "../form.ts";
import { SESSION_METHODS } from "../methods.ts";
import { noTasks } from "../no-tasks.ts";
import { olderAsk } from "../older-ask.ts";
import { callResult, plainResult } from "../results.ts";
import { sessionDialect } from "../session-dialect.ts";

const VERSION = "2025-06-18";

const entries: Entries = { ...SESSION_ENTRIES, tool: (tool) => without(SESSION_ENTRIES.tool(tool), "icons") };

export const rev20250618: SessionDialect = sessionDialect({
  version: VERSION,
  batches: false,
  closesEarly: false,
  methods: SESSION_METHODS,
  capabilities: servedCapabilities,
  serverInfo: ({ name, version, title }) => present({ name, version, title }),
  entries,
  callResult,
  promptResult: plainResult,
  tasks: () => noTasks(VERSION),
  canAsk,
  ask: olderAsk,
  readReply: readOlderReply,
  failure,
});
