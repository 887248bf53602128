/** MCP 2025-03-26: batches; no elicitation, but clients that declare it are asked as in 2025-06-18. */
import { servedCapabilities } from "../../list-items.ts";
import { buildDialect } from "../build-dialect.ts";
import { canAsk } from "../can-ask.ts";
import type { SessionDialect } from "../dialect.ts";
import { readOlderReply } from "../form.ts";
import { SESSION_METHODS } from "../methods.ts";
import { olderAsk } from "../older-ask.ts";
import { listItems } from "./list-items.ts";
import { callResult, promptResult } from "./results.ts";

export const rev20250326: SessionDialect = buildDialect({
  version: "2025-03-26",
  batches: true,
  closesEarly: false,
  methods: SESSION_METHODS,
  capabilities: servedCapabilities,
  serverInfo: ({ name, version }) => ({ name, version }),
  listItems,
  toolResult: callResult,
  promptResult,
  canAsk,
  ask: olderAsk,
  readReply: readOlderReply,
  tellsModel: () => false,
});
