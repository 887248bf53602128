/** `parley inbox`: everything that is asked of a person, in whoever's task: listed, asked one after another, or answered alike. */
import { isCancel } from "@clack/prompts";
import { confirm, multiselect } from "../questions/choices.ts";
import { canonicalJson } from "@parley/core";
import type { AskSummary, BatchReceipt, OpenAsk } from "../client/api-client.ts";
import type { Reached } from "../client/reach.ts";
import { LATER } from "../questions/abandoned.ts";
import type { Given, Question } from "../questions/answering.ts";
import { questionOf } from "../questions/answer-ask.ts";
import { isToReply, NEEDS_LOGIN, needsLogin, showAsked } from "../questions/asked.ts";
import { askUntilOver, Left } from "../questions/follow.ts";
import type { Reply } from "../questions/form.ts";
import { nextKey } from "../questions/next-key.ts";
import { tellTests } from "../questions/lesson.ts";
import { counted } from "../terminal/counted.ts";
import { INTERRUPTED, onInterrupt } from "../terminal/interrupt.ts";
import { cleanLine, isInteractive, print, printJson, printToStderr } from "../terminal/terminal.ts";
import { alike, answerTo, counts, sendAll, showReceipt } from "./batch.ts";
import { type Filters, type Listed, listAsks, readOpen, stillOpen } from "./list.ts";
import { watchInbox } from "./watch.ts";

export interface InboxCommand extends Filters, Pick<Given, "set" | "accept" | "decline" | "reason"> {
  readonly list?: boolean;
  readonly watch?: boolean;
  readonly json?: boolean;
  /** Answers alike without asking whether to. */
  readonly yes?: boolean;
}

/** Equal questions that are offered the same answer. */
const ALIKE_MAX = 50;

export async function inbox({ api }: Reached, command: InboxCommand): Promise<void> {
  const { json = false, list = false, watch = false, yes = false, set, accept, decline, reason, ...filters } = command;
  const given: Given = {
    ...(set && { set }),
    ...(accept && { accept }),
    ...(decline && { decline }),
    ...(reason !== undefined && { reason }),
  };
  if (watch && Object.keys(given).length > 0) throw new Error("--watch only shows questions: leave it out to answer them alike");
  if (watch) return await watchInbox({ api }, filters, json);
  const listed = await listAsks(api, filters);
  if (Object.keys(given).length > 0) return await answerAll(api, listed.asks, { given, json, yes });
  if (json) return printJson({ questions: await readOpen(api, listed.asks), isMore: listed.isMore });
  if (listed.asks.length === 0) return print("no open questions");
  if (list || !isInteractive()) {
    const open = await readOpen(api, listed.asks);
    for (const ask of open) print(showAsked(ask, Date.now()));
    if (listed.isMore) printToStderr(`There are more than ${counted(listed.asks.length, "question")}: see --limit`);
    return;
  }
  await askAll(api, listed);
}

type Api = Reached["api"];
type AskAt = Pick<AskSummary, "taskId" | "key">;

async function askAll(api: Api, { asks, isMore }: Listed): Promise<void> {
  const signal = onInterrupt();
  /** Those that were asked, and those that were answered with another one. */
  const done = new Set<string>();
  const idOf = ({ taskId, key }: AskAt) => JSON.stringify([taskId, key]);
  const asked: AskAt[] = [];
  let answered = 0;
  let count = asks.length;

  /** Undefined if it was not answered, or if the task asks nothing more at once. */
  async function askOne(at: AskAt, place: string, left: readonly AskSummary[]): Promise<AskAt | undefined> {
    done.add(idOf(at));
    asked.push(at);
    printToStderr(`\n${place}  ${cleanLine(at.key)} of task ${cleanLine(at.taskId)}`);
    const ask = await stillOpen(api, at);
    if (!ask || isToReply(ask)) {
      printToStderr(ask ? showAsked(ask, Date.now()) : `${cleanLine(at.key)} is no longer open.`);
      return undefined;
    }
    if (needsLogin(ask)) {
      printToStderr(`${cleanLine(at.key)} ${NEEDS_LOGIN}`);
      return undefined;
    }
    let given: Reply | undefined;
    const question = questionOf(api, ask, Date.now());
    const remembering: Question = { ...question, send: async (reply) => await question.send((given = reply)) };
    const outcome = await askUntilOver(remembering, signal);
    if (outcome === LATER || outcome.type !== "accepted") return undefined;
    answered += 1;
    if (outcome.missing) printToStderr(`${counted(outcome.missing, "more person", "more people")} must accept`);
    await tellTests(api, [ask]);
    const open = left.filter((each) => !done.has(idOf(each)));
    for (const each of given ? await answerAlike(api, ask, given, open) : []) {
      done.add(idOf(each));
      answered += 1;
    }
    if (outcome.missing) return undefined;
    // Those that are still to come in the list come there.
    const known = [...asks, ...asked].flatMap(({ taskId, key }) => (taskId === at.taskId ? [key] : []));
    const key = await nextKey(api, at.taskId, new Set(known));
    return key === undefined ? undefined : { taskId: at.taskId, key };
  }

  try {
    for (const [index, summary] of asks.entries()) {
      if (done.has(idOf(summary))) continue;
      const left = asks.slice(index + 1);
      let next = await askOne(summary, `${index + 1} of ${asks.length}`, left);
      // What a task asks on comes before the rest of the list.
      for (; next; next = await askOne(next, "Next", left)) count += 1;
    }
  } catch (error) {
    if (!(error instanceof Left)) throw error;
    printToStderr("The other questions stay open.");
    process.exitCode = INTERRUPTED;
  }
  printToStderr(`${answered} of ${count} answered${isMore ? "; there are more: see --limit" : ""}`);
}

/** Offers to give the same answer to other questions of the tool with the same form. Resolves to those that were answered. */
async function answerAlike(api: Api, ask: OpenAsk, reply: Reply, left: readonly AskSummary[]): Promise<readonly AskSummary[]> {
  const candidates = left
    .filter(
      (each) =>
        each.tool === ask.tool && each.kind === "form" && ask.kind === "form" && !each.isRisky && !each.isToReply && !needsLogin(each),
    )
    .slice(0, ALIKE_MAX);
  if (candidates.length === 0 || ask.isRisky) return [];
  const form = canonicalJson(ask.request.schema as never);
  const equal = (await readOpen(api, candidates)).filter((each) => canonicalJson(each.request.schema as never) === form && !each.isRisky);
  if (equal.length === 0) return [];
  const chosen = await multiselect({
    message: `Give the same answer to ${equal.length === 1 ? "this question" : `some of these ${equal.length} questions`}? (Space chooses, Enter continues)`,
    options: equal.map((each) => ({ value: each, label: cleanLine(each.message) })),
    required: false,
    maxItems: 10,
    output: process.stderr,
  });
  if (isCancel(chosen) || chosen.length === 0) return [];
  const receipts = await sendAll(
    api,
    chosen.map((each) => answerTo(each, reply)),
    false,
  );
  for (const receipt of receipts) printToStderr(showReceipt(receipt));
  await tellTests(api, answeredOf(chosen, receipts));
  const took = new Set(receipts.filter(counts).map(({ taskId, key }) => JSON.stringify([taskId, key])));
  return candidates.filter(({ taskId, key }) => took.has(JSON.stringify([taskId, key])));
}

/** Receipts are in the order of their questions. */
function answeredOf(asks: readonly OpenAsk[], receipts: readonly BatchReceipt[]): readonly OpenAsk[] {
  return asks.filter((_, index) => {
    const receipt = receipts[index];
    return receipt !== undefined && counts(receipt);
  });
}

/** What cannot be undone is asked and answered by itself. */
function staysOpen({ taskId, key }: AskSummary): string {
  const [task, name] = [cleanLine(taskId), cleanLine(key)];
  return `${name} of task ${task} stays open: it cannot be undone, so it is answered by itself, with \`parley answer ${task} ${name}\``;
}

async function answerAll(
  api: Api,
  listed: readonly AskSummary[],
  { given, json, yes }: { readonly given: Given; readonly json: boolean; readonly yes: boolean },
): Promise<void> {
  const asks = listed.filter((ask) => !ask.isToReply);
  if (asks.length === 0) return json ? printJson({ receipts: [] }) : print("no open questions");
  const risky = asks.filter((ask) => ask.isRisky);
  const leftOpen = risky.length > 0 && { leftOpen: risky.map(({ taskId, key }) => ({ taskId, key })) };
  if (!json) for (const ask of risky) printToStderr(staysOpen(ask));
  // Also if the others are answered: not all that was asked for is done.
  if (risky.length > 0) process.exitCode = 1;
  const common = await readOpen(
    api,
    asks.filter((ask) => !ask.isRisky),
  );
  if (common.length === 0) return json ? printJson({ receipts: [], ...leftOpen }) : undefined;
  const answers = alike(common, given);
  if (!yes) {
    if (!isInteractive()) throw new Error(`${counted(common.length, "question")} would be answered: add --yes to answer them`);
    for (const ask of common) printToStderr(showAsked(ask, Date.now()));
    const isMeant = await confirm({
      message: `Answer ${counted(common.length, "question")} alike?`,
      initialValue: false,
      output: process.stderr,
    });
    if (isMeant !== true) return void (process.exitCode = INTERRUPTED);
  }
  const foreseen = await sendAll(api, answers, true);
  const wrong = foreseen.filter(({ receipt }) => receipt === "invalid");
  // An answer that fits only some of the questions was not meant for all of them.
  if (wrong.length > 0) throw new Error(`nothing was answered. ${wrong.map(showReceipt).join("\n")}`);
  const receipts = await sendAll(api, answers, false);
  if (json) printJson({ receipts, ...leftOpen });
  else for (const receipt of receipts) print(showReceipt(receipt));
  await tellTests(api, answeredOf(common, receipts));
  if (!receipts.every(counts)) process.exitCode = 1;
}
