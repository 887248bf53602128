/** `parley call`: calls a tool, shows its progress, asks its questions, and prints its result. */
import { fieldsOf, hasMore, type JsonObject } from "@parley/core";
import { CALL_REASON, IDEMPOTENCY_KEY } from "@parley/protocol";
import type { CallCommand } from "./command.ts";
import { follow, Left } from "../questions/follow.ts";
import type { Elicitation } from "../questions/form.ts";
import { ABANDONED } from "../questions/abandoned.ts";
import { INTERRUPTED, onInterrupt } from "../terminal/interrupt.ts";
import type { McpClient } from "../client/mcp-client.ts";
import { type Reached, withServer } from "../client/reach.ts";
import { type InputRequest, showResult, showTask, type TaskState, type ToolResult } from "../questions/show.ts";
import { cleanLine, isInteractive, print, printJson, shellWord, printToStderr } from "../terminal/terminal.ts";
import { argumentsOf } from "./tool-arguments.ts";
import { findTool } from "../tools/run.ts";

type Called = ToolResult & {
  readonly resultType?: "task" | "complete" | "input_required";
  readonly taskId?: string;
  readonly inputRequests?: Readonly<Record<string, InputRequest>>;
  readonly requestState?: string;
};

/** Maximum rounds of questions before the server returns a task. */
const ROUNDS_MAX = 20;

export async function call(tool: string, options: CallCommand, flags: readonly string[]): Promise<void> {
  const { url, tools, dataDir, wait } = options;
  const interactive = options.input && (isInteractive() || options.interactive === true);
  const json = options.json === true;
  const signal = onInterrupt();
  await withServer({ url, tools, dataDir, mayStart: true }, async (server) => {
    const args = await givenArguments(server, { tool, options, flags, interactive, signal });
    if (args === undefined) return leave("The tool was not called.");
    const called = await begin(server, { tool, args, interactive, signal, meta: metaOf(options) });
    if (called === undefined) return leave("The question stays open.");
    if (called.resultType !== "task" || called.taskId === undefined) return printImmediate(called, json);

    const { taskId } = called;
    if (!wait) return json ? printJson({ taskId }) : print(cleanLine(taskId));
    if (!json) printToStderr(`task ${cleanLine(taskId)}`);
    try {
      printEnd(await follow(server, { taskId, interactive: interactive && !json, live: !json, signal }), json);
    } catch (error) {
      if (!(error instanceof Left)) throw error;
      const where = server.isOwn ? " --data-dir given as here" : "";
      printToStderr(
        `The task waits. Come back with\n    parley task ${shellWord(taskId)}\n    parley answer ${shellWord(taskId)}${options.dataDir === undefined ? "" : where}`,
      );
      if (json) printJson({ taskId });
      process.exitCode = INTERRUPTED;
    }
  });
}

function leave(why: string): void {
  printToStderr(why);
  process.exitCode = INTERRUPTED;
}

function metaOf({ idempotencyKey, why }: CallCommand): JsonObject {
  return { ...(idempotencyKey !== undefined && { [IDEMPOTENCY_KEY]: idempotencyKey }), ...(why !== undefined && { [CALL_REASON]: why }) };
}

interface Calling {
  readonly tool: string;
  readonly interactive: boolean;
  readonly signal: AbortSignal;
}

/** Undefined if the person left. */
async function givenArguments(
  server: Reached,
  { tool, options, flags, interactive, signal }: Calling & { readonly options: CallCommand; readonly flags: readonly string[] },
): Promise<JsonObject | undefined> {
  let schema: JsonObject | undefined;
  const schemaOf = async () => (schema ??= (await findTool(server, tool)).inputSchema);
  const given = await argumentsOf({ arg: options.arg ?? [], args: options.args, flags }, schemaOf);
  if (!interactive) return given;
  const form = await schemaOf();
  const missing = fieldsOf(form).filter(({ name, isRequired }) => isRequired && !Object.hasOwn(given, name));
  const isUnknown = missing.length === 0 && Object.keys(given).length === 0 && hasMore(form);
  if (missing.length === 0 && !isUnknown) return given;
  const { promptForFields } = await import("../questions/prompts.ts");
  const typed = await promptForFields(form, { signal, only: new Set(missing.map(({ name }) => name)), given });
  return typed === ABANDONED ? undefined : { ...given, ...typed };
}

/** Makes the call, and answers questions that the tool asks before a task exists. Undefined if the person left. */
async function begin(
  server: McpClient,
  { tool, args, interactive, signal, meta }: Calling & { readonly args: JsonObject; readonly meta: JsonObject },
): Promise<Called | undefined> {
  const params = { name: tool, arguments: args, ...(Object.keys(meta).length > 0 && { _meta: meta }) };
  let called = await server.request<Called>("tools/call", params);
  for (let round = 0; called.resultType === "input_required" && round < ROUNDS_MAX; round += 1) {
    const asked = Object.entries(called.inputRequests ?? {});
    if (asked.length > 0 && !interactive) throw new Error("the tool asks a question before it returns a task: call it from a terminal");
    const { promptFor } = await import("../questions/prompts.ts");
    const inputResponses: Record<string, unknown> = {};
    for (const [key, { method, params: asks }] of asked) {
      if (method !== "elicitation/create") throw new Error(`the tool asks the client for ${method}, which a terminal cannot provide`);
      const reply = await promptFor(asks as Elicitation, { signal });
      if (reply === ABANDONED) return undefined;
      inputResponses[key] = reply;
    }
    const { requestState } = called;
    called = await server.request<Called>("tools/call", { ...params, inputResponses, ...(requestState !== undefined && { requestState }) });
  }
  return called;
}

function printImmediate(result: ToolResult, json: boolean): void {
  if (json) printJson({ status: "completed", result });
  else print(showResult(result));
  if (result.isError) process.exitCode = 1;
}

/** Prints how a task ended. A failure, a cancellation or a result with isError sets the exit code to 1. */
export function printEnd(task: TaskState, json = false): void {
  const { taskId, status, result, error } = task;
  if (json) printJson({ taskId, status, ...(result && { result }), ...(error && { error }) });
  else print(showTask(task).split("\n").slice(1).join("\n") || `the task is ${status}`);
  if (status !== "completed" || result?.isError) process.exitCode = 1;
}
