/** Answers one open question of a task, from what was given on the command line or else from the terminal. */
import { taskId as toTaskId } from "@modelcontextprotocol/ext-tasks/core";
import { isCancel, select } from "@clack/prompts";
import type { TaskEnabledSession } from "@modelcontextprotocol/ext-tasks/client";
import { contentOf, type Elicitation, isVisit, promptFor } from "./form.ts";
import { asksOf, type InputRequest, showTask } from "./show.ts";

export interface Given {
  readonly set?: readonly string[];
  readonly json?: string;
  readonly accept?: boolean;
  readonly decline?: boolean;
  readonly cancel?: boolean;
}

export interface AnswerAsk {
  readonly taskId: string;
  /** May be absent when only one question is open. */
  readonly key?: string;
  readonly given: Given;
}

/** False when the person left the question open. Throws an Error for a question that is not open and an answer that does not fit. */
export async function answerAsk(session: TaskEnabledSession, { taskId, key, given }: AnswerAsk): Promise<boolean> {
  const controller = session.task(toTaskId(taskId));
  const task = await controller.snapshot();
  const asks = asksOf(task);
  const chosen = key ?? (await chooseFrom(Object.keys(asks)));
  if (chosen === undefined) return false;
  const request = asks[chosen];
  if (!request) throw new Error(`${Object.keys(asks).length === 0 ? "nothing is open" : `${chosen} is not open`}:\n${showTask(task)}`);

  const reply = await replyTo(request, given);
  if (reply === undefined) return false;
  await controller.updateJson({ [chosen]: reply });
  return true;
}

async function chooseFrom(keys: readonly string[]): Promise<string | undefined> {
  if (keys.length <= 1) return keys[0] ?? "";
  if (!process.stdin.isTTY) throw new Error(`several questions are open, name one: ${keys.join(", ")}`);
  const key = await select({ message: "Which question?", options: keys.map((value) => ({ value })) });
  return isCancel(key) ? undefined : key;
}

/** MCP's result for the request. */
async function replyTo(request: InputRequest, { set, json, accept, decline, cancel }: Given): Promise<unknown> {
  const elicits = request.method === "elicitation/create";
  if (!elicits) {
    if (json === undefined) throw new Error(`the tool asks the client for ${request.method}: give its result with --json`);
    return JSON.parse(json);
  }
  if (decline) return { action: "decline" };
  if (cancel) return { action: "cancel" };
  const asked = request.params as Elicitation;
  if (isVisit(asked)) {
    if (accept) return { action: "accept" };
  } else if (json !== undefined) {
    return { action: "accept", content: JSON.parse(json) };
  } else if (set && set.length > 0) {
    return { action: "accept", content: contentOf(set, asked) };
  } else if (accept) {
    return { action: "accept", content: {} };
  }
  if (process.stdin.isTTY) return await promptFor(asked);
  throw new Error("there is no terminal to ask on: give --set, --json, --accept, --decline or --cancel");
}
