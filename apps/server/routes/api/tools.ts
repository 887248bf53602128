/** Tools that the caller is offered, and calls of them. */
import {
  CALL_REASON_CHARS_MAX,
  createTask,
  isCounted,
  ParleyError,
  SCOPES,
  type Tool,
  type JsonObject,
  type ClientCapabilities,
} from "@parley/core";
import { capabilityRequired, missingCapabilities } from "@parley/protocol";
import { z } from "zod";
import { requireScopes } from "../../front-end/protected-resource.ts";
import { DOOR, operation, type Operation } from "./operation.ts";
import { anyObject, cursor, limit, named, nextCursor } from "./shapes.ts";
import { task, taskShown } from "./tasks.ts";

const group = "Tools";

const tool = named(
  "Tool",
  z.object({
    name: z.string(),
    title: z.string().optional(),
    description: z.string().optional(),
    inputSchema: anyObject.describe("JSON Schema of the arguments"),
    outputSchema: anyObject.optional(),
    scopes: z.array(z.string()).readonly().optional().describe("Scopes that a call needs beside `tools:call`"),
  }),
);

const params = z.object({ name: z.string() });
const NOT_FOUND = { 404: "There is no such tool, or it is not offered to the caller" };
/** What is asked of the caller is answered through the API, which shows forms and addresses. */
const CAPABILITIES: ClientCapabilities = { elicitation: { form: true, url: true } };

export const TOOL_OPERATIONS: readonly Operation[] = [
  operation({
    name: "listTools",
    method: "get",
    path: "/tools",
    group,
    summary: "Lists the tools that the caller is offered, by name",
    scopes: [],
    rate: "reads",
    query: z.strictObject({ limit, cursor }),
    result: named("ToolPage", z.object({ tools: z.array(tool), nextCursor })),
    async handle({ offered, query: { limit: most, cursor: after = "" } }) {
      const { tools } = await offered();
      const sorted = [...tools.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1)).filter(({ name }) => name > after);
      const page = sorted.slice(0, most);
      return { tools: page.map(toolShown), ...(sorted.length > most && { nextCursor: page.at(-1)?.name }) };
    },
  }),
  operation({
    name: "getTool",
    method: "get",
    path: "/tools/{name}",
    group,
    summary: "Returns one tool",
    scopes: [],
    rate: "reads",
    params,
    result: tool,
    refusals: NOT_FOUND,
    handle: async ({ offered, params: { name } }) => toolShown(toolOf((await offered()).tools, name)),
  }),
  operation({
    name: "callTool",
    method: "post",
    path: "/tools/{name}/calls",
    group,
    summary: "Calls a tool, which becomes a task of the caller",
    description: "Its questions and its result are read at the task. A tool that needs a client with a model or folders is refused.",
    scopes: [SCOPES.call],
    params,
    body: named(
      "Call",
      z.strictObject(
        {
          arguments: z.record(z.string(), z.unknown(), { error: "must be an object" }).default({}),
          reason: z
            .string({ error: "must be a text" })
            .max(CALL_REASON_CHARS_MAX, { error: `must have at most ${CALL_REASON_CHARS_MAX} characters` })
            .optional()
            .describe("Why the call is made, for people who have to approve it"),
          keepSeconds: z
            .number({ error: "must be a number of seconds" })
            .min(0, { error: "must not be negative" })
            .optional()
            .describe("How long the finished task is kept, within the bounds of the server"),
        },
        { error: "must be an object" },
      ),
    ),
    status: 201,
    result: task,
    isRepeatable: "by itself",
    refusals: { ...NOT_FOUND, 422: "The arguments do not fit the tool, or the idempotency key belongs to another call" },
    async handle({ frontEnd: { services, rates, resource }, titleOf, caller, offered, params: { name }, body, idempotencyKey }) {
      if (isCounted(caller)) await rates.take(caller, { calls: 1 });
      const called = toolOf((await offered()).tools, name);
      if (resource && called.scopes) requireScopes(caller, called.scopes, `the tool ${called.name}`);
      const missing = missingCapabilities(called.needs, CAPABILITIES);
      if (missing) throw capabilityRequired(`the tool ${called.name}`, missing);
      const created = await createTask(services, called, {
        caller,
        door: DOOR,
        arguments: body.arguments as JsonObject,
        reason: body.reason,
        capabilities: CAPABILITIES,
        hidden: false,
        ...(body.keepSeconds !== undefined && { retentionMs: body.keepSeconds * 1_000 }),
        ...(idempotencyKey !== undefined && { idempotencyKey }),
      });
      return taskShown({ caller, titleOf, nowMs: services.clock.now() }, created);
    },
  }),
];

/** Throws TOOL_NOT_FOUND. */
function toolOf(tools: ReadonlyMap<string, Tool>, name: string): Tool {
  const found = tools.get(name);
  if (!found) throw new ParleyError("TOOL_NOT_FOUND", `no tool ${JSON.stringify(name.slice(0, 100))}`);
  return found;
}

function toolShown({ name, title, description, inputSchema, outputSchema, scopes }: Tool): z.input<typeof tool> {
  return {
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    inputSchema,
    ...(outputSchema && { outputSchema }),
    ...(scopes && scopes.length > 0 && { scopes }),
  };
}
