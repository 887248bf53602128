/** MCP 2025-06-18: elicitation by forms, structured results, titles; no tasks, no url mode, no icons. */
import { present, servedCapabilities, without, type Entries } from "../../entries.ts";
import { buildDialect } from "../build-dialect.ts";
import { canAsk } from "../can-ask.ts";
import type { SessionDialect } from "../dialect.ts";
import { SESSION_ENTRIES } from "../entries.ts";
import { readOlderReply } from "../form.ts";
import { SESSION_METHODS } from "../methods.ts";
import { olderAsk } from "../older-ask.ts";
import { callResult, plainResult } from "../results.ts";

const entries: Entries = { ...SESSION_ENTRIES, tool: (tool) => without(SESSION_ENTRIES.tool(tool), "icons") };

export const rev20250618: SessionDialect = buildDialect({
  version: "2025-06-18",
  batches: false,
  closesEarly: false,
  methods: SESSION_METHODS,
  capabilities: servedCapabilities,
  serverInfo: ({ name, version, title }) => present({ name, version, title }),
  entries,
  toolResult: callResult,
  promptResult: plainResult,
  canAsk,
  ask: olderAsk,
  readReply: readOlderReply,
  tellsModel: () => false,
});
