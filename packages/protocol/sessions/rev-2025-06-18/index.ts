/** MCP 2025-06-18: elicitation by forms, structured results, titles; no tasks, no url mode, no icons. */
import { present, servedCapabilities, without, type ListItems } from "../../list-items.ts";
import { buildDialect } from "../build-dialect.ts";
import { canAsk } from "../can-ask.ts";
import type { SessionDialect } from "../dialect.ts";
import { SESSION_LIST_ITEMS } from "../list-items.ts";
import { readOlderReply } from "../form.ts";
import { SESSION_METHODS } from "../methods.ts";
import { olderAsk } from "../older-ask.ts";
import { callResult, plainResult } from "../results.ts";

const listItems: ListItems = {
  tool: (tool) => without(SESSION_LIST_ITEMS.tool(tool), "icons"),
  prompt: (prompt) => without(SESSION_LIST_ITEMS.prompt(prompt), "icons"),
  resource: (resource) => without(SESSION_LIST_ITEMS.resource(resource), "icons"),
  template: (template) => without(SESSION_LIST_ITEMS.template(template), "icons"),
};

export const rev20250618: SessionDialect = buildDialect({
  version: "2025-06-18",
  batches: false,
  closesEarly: false,
  methods: SESSION_METHODS,
  capabilities: servedCapabilities,
  serverInfo: ({ name, version, title }) => present({ name, version, title }),
  listItems,
  toolResult: callResult,
  promptResult: plainResult,
  canAsk,
  ask: olderAsk,
  readReply: readOlderReply,
  tellsModel: () => false,
});
