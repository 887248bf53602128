/** `parley answer`: answers one open question of a task. */
import { select } from "@clack/prompts";
import { asksOf, type Given, mustBeInteractive, replyFrom, sendReply } from "../questions/answering.ts";
import { printEnd } from "../call/run.ts";
import { follow, Left, watchTask, askUntilOver } from "../questions/follow.ts";
import { INTERRUPTED, onInterrupt } from "../terminal/interrupt.ts";
import type { McpClient } from "../client/mcp-client.ts";
import { showTask } from "../questions/show.ts";
import { cleanLine, isInteractive, printJson, printToStderr } from "../terminal/terminal.ts";
import { getTask } from "../tasks/one.ts";

export interface AnswerCommand extends Given {
  readonly wait?: boolean;
  readonly json?: boolean;
}

export async function answer(
  client: McpClient,
  taskId: string,
  key: string | undefined,
  { wait, json = false, ...given }: AnswerCommand,
): Promise<void> {
  const signal = onInterrupt();
  const task = await getTask(client, taskId);
  const asks = asksOf(task);
  const chosen = key ?? (await chooseFrom(Object.keys(asks)));
  if (chosen === undefined) return left();
  const request = asks[chosen];
  if (!request) throw new Error(`${Object.keys(asks).length === 0 ? "nothing is open" : `${chosen} is not open`}:\n${showTask(task)}`);

  const reply = replyFrom(request, given);
  if (reply === undefined) {
    mustBeInteractive(request);
    try {
      const outcome = await askUntilOver(client, { taskId, key: chosen, request, watching: watchTask(client, taskId, signal), signal });
      if (outcome === "late") return void (process.exitCode = 1);
    } catch (error) {
      if (!(error instanceof Left)) throw error;
      return left();
    }
  } else {
    const sent = await sendReply(client, taskId, chosen, reply);
    if (sent === "late") throw new Error(`${chosen} was already answered differently, or is no longer open`);
    if (typeof sent === "object") throw sent.error;
  }
  if (json && !wait) return printJson({ taskId, key: chosen, answered: true });
  if (!json) printToStderr("answered");
  if (wait) printEnd(await follow(client, { taskId, interactive: false, live: !json, signal }), json);
}

function left(): void {
  printToStderr("The question stays open.");
  process.exitCode = INTERRUPTED;
}

async function chooseFrom(keys: readonly string[]): Promise<string | undefined> {
  if (keys.length <= 1) return keys[0] ?? "";
  if (!isInteractive()) throw new Error(`several questions are open, name one: ${keys.join(", ")}`);
  const key = await select({
    message: "Which question?",
    options: keys.map((value) => ({ value, label: cleanLine(value) })),
    output: process.stderr,
  });
  return typeof key === "string" ? key : undefined;
}
