/** `parley answer`: answers one open question, whoever's task asks it. */
import { asksOf, type Given, mustBeInteractive, OVER, replyFrom, sendReply, type Sent } from "../questions/answering.ts";
import { questionOf, readAsk, sendAnswer } from "../questions/answer-ask.ts";
import { howEnded, NEEDS_LOGIN, needsLogin, notForYou, requestOf } from "../questions/asked.ts";
import { chooseKey, openKeys } from "../questions/choose-key.ts";
import { LATER } from "../questions/abandoned.ts";
import { tellTests } from "../questions/lesson.ts";
import { printEnd } from "../call/run.ts";
import { askUntilOver, follow, Left } from "../questions/follow.ts";
import type { Reply } from "../questions/form.ts";
import { nextKey } from "../questions/next-key.ts";
import { INTERRUPTED, onInterrupt } from "../terminal/interrupt.ts";
import type { OpenAsk } from "../client/api-client.ts";
import type { Reached } from "../client/reach.ts";
import { showTask } from "../questions/show.ts";
import { cleanLine, printJson, printToStderr } from "../terminal/terminal.ts";
import { counted } from "../terminal/counted.ts";
import { getTask } from "../tasks/one.ts";

export interface AnswerCommand extends Given {
  readonly wait?: boolean;
  readonly json?: boolean;
}

export async function answer(
  server: Reached,
  taskId: string,
  key: string | undefined,
  { wait, json = false, ...given }: AnswerCommand,
): Promise<void> {
  const signal = onInterrupt();
  const chosen = key ?? (await chooseKey(await keysOf(server, taskId)));
  if (chosen === undefined) return left();
  const name = cleanLine(chosen);
  const ask = await readAsk(server.api, taskId, chosen);
  if (ask?.state === "settled") throw new Error(`${name} ${howEnded(ask)}`);
  if (ask?.state === "of-others") throw new Error(`${name} ${notForYou(ask)}`);
  if (wait && ask && !ask.owner.isCaller) throw new Error("--wait is for your own tasks: the result goes to the person who made the call");

  const sent = ask ? await answerOne(server, ask, given, signal) : await answerAsClient(server, taskId, chosen, given);
  if (sent === "left") return left();
  // A prompt has said how the question ended.
  if (sent === "late") return void (process.exitCode = 1);
  if (sent.type === "late") throw new Error(`${name} ${sent.how ?? OVER}`);
  if (sent.type === "refused") throw sent.error;
  const { missing } = sent;
  if (json && !wait) printJson({ taskId, key: chosen, answered: true, ...(missing !== undefined && { missing }) });
  if (!json) printToStderr(missing ? `answered; ${counted(missing, "more person", "more people")} must accept` : "answered");
  if (ask) await tellTests(server.api, [ask]);
  if (!wait && !json && !missing && ask && replyFrom(requestOf(ask), given) === undefined) await askOn(server, ask, signal);
  if (wait) printEnd(await follow(server, { taskId, interactive: false, live: !json, signal }), json);
}

async function answerOne({ api }: Reached, ask: OpenAsk, given: Given, signal: AbortSignal): Promise<Sent | "left" | "late"> {
  const request = requestOf(ask);
  const reply = replyFrom(request, given);
  if (reply !== undefined) return await sendAnswer(api, ask, reply as Reply);
  if (needsLogin(ask)) throw new Error(`${cleanLine(ask.key)} ${NEEDS_LOGIN}`);
  mustBeInteractive(request);
  try {
    const outcome = await askUntilOver(questionOf(api, ask, Date.now()), signal);
    return outcome === LATER ? "left" : outcome.type === "late" ? "late" : outcome;
  } catch (error) {
    if (!(error instanceof Left)) throw error;
    return "left";
  }
}

/** Whoever was asked at the terminal is asked there what the task asks next. */
async function askOn(server: Reached, { taskId, key }: OpenAsk, signal: AbortSignal): Promise<void> {
  const known = new Set([key]);
  for (;;) {
    const next = await nextKey(server.api, taskId, known);
    const ask = next === undefined ? undefined : await readAsk(server.api, taskId, next);
    if (ask?.state !== "open") return;
    known.add(ask.key);
    const sent = await answerOne(server, ask, {}, signal);
    if (sent === "left") return left();
    if (sent === "late") continue;
    if (sent.type === "refused") throw sent.error;
    printToStderr("answered");
    await tellTests(server.api, [ask]);
  }
}

/** What a tool asks a client and no person, such as a text of its model, is known to MCP alone. */
async function answerAsClient(server: Reached, taskId: string, key: string, given: Given): Promise<Sent> {
  const task = await getTask(server, taskId);
  const asks = asksOf(task);
  const request = asks[key];
  if (!request) throw new Error(`${Object.keys(asks).length === 0 ? "nothing is open" : `${key} is not open`}:\n${showTask(task)}`);
  const { reason: _forPeople, ...options } = given;
  const reply = replyFrom(request, options);
  if (reply === undefined) mustBeInteractive(request);
  return await sendReply(server, taskId, key, reply);
}

function left(): void {
  printToStderr("The question stays open.");
  process.exitCode = INTERRUPTED;
}

async function keysOf(server: Reached, taskId: string): Promise<readonly string[]> {
  const keys = await openKeys(server.api, taskId);
  return keys.length > 0 ? keys : Object.keys(asksOf(await getTask(server, taskId)));
}
