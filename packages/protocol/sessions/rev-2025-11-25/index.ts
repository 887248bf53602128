/** MCP 2025-11-25 with tasks, proposal #1869's non-blocking elicitations, and FastMCP's tasks/sendInput. */
import { mayBecomeTasks, present, servedCapabilities } from "../../list-items.ts";
import { EVENTS_EXTENSION } from "../../events.ts";
import { buildDialect } from "../build-dialect.ts";
import type { SessionDialect } from "../dialect.ts";
import { callResult, plainResult } from "../results.ts";
import { ask, canAsk, pageDone } from "./ask.ts";
import { listItems } from "./list-items.ts";
import { METHODS } from "./methods.ts";
import { related, tasks } from "./tasks.ts";

export const rev20251125: SessionDialect = buildDialect({
  version: "2025-11-25",
  batches: false,
  closesEarly: true,
  methods: METHODS,
  capabilities: (catalogue, facts) => ({
    ...servedCapabilities(catalogue),
    ...(facts.events && { events: {}, extensions: { [EVENTS_EXTENSION]: {} } }),
    ...(mayBecomeTasks(catalogue, facts) && {
      tasks: { ...(facts.knowsCallers && { list: {} }), cancel: {}, requests: { tools: { call: {} } } },
    }),
  }),
  serverInfo: ({ name, version, title }) => present({ name, version, title }),
  listItems,
  toolResult: callResult,
  promptResult: plainResult,
  related: (taskId) => ({ _meta: related(taskId) }),
  tasks,
  canAsk,
  ask,
  pageDone,
  // Forms are sent unchanged, so replies need no translation.
  readReply: (_request, reply) => reply,
  // A client that asked for a task expects a task, not a result.
  tellsModel: (intent) => intent.type === "callTool" && !intent.task,
});

export { taskFinished } from "./tasks.ts";
