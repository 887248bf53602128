/** Several questions answered alike: each has a receipt of its own, and one that is refused takes back no other. */
import { setTimeout as sleep } from "node:timers/promises";
import { describeProblems } from "@parley/core";
import type { ApiClient, BatchAnswer, BatchReceipt, OpenAsk } from "../client/api-client.ts";
import { type Given, replyFrom } from "../questions/answering.ts";
import { NEEDS_LOGIN, requestOf } from "../questions/asked.ts";
import type { Reply } from "../questions/form.ts";
import { cleanAll, cleanLine } from "../terminal/terminal.ts";

/** Answers of one request. A server accepts 64 unless its operator says otherwise. */
const TOGETHER = 32;
/** How often an answer that a rate refused is sent again, after at most so long a wait. */
const ATTEMPTS_MAX = 20;
const WAIT_MAX_S = 5;

/** The answer that the options describe, for each question. Throws an Error that names the first question that they do not fit. */
export function alike(asks: readonly OpenAsk[], given: Given): readonly BatchAnswer[] {
  return asks.map((ask) => {
    try {
      const reply = replyFrom(requestOf(ask), given) as Reply | undefined;
      if (reply === undefined) throw new Error("it is answered on a page: use --accept when you have been there");
      return answerTo(ask, reply);
    } catch (error) {
      throw new Error(`${name(ask)}: ${error instanceof Error ? error.message : String(error)}. Nothing was answered.`, { cause: error });
    }
  });
}

/** Counts for the question as it was read. */
export function answerTo({ taskId, key, digest }: OpenAsk, reply: Reply): BatchAnswer {
  return { taskId, key, digest, ...reply };
}

/** One receipt for each answer, in their order. With `preview` nothing is answered. */
export async function sendAll(api: ApiClient, answers: readonly BatchAnswer[], preview: boolean): Promise<readonly BatchReceipt[]> {
  const receipts: BatchReceipt[] = [];
  for (let at = 0; at < answers.length; at += TOGETHER) {
    const part = answers.slice(at, at + TOGETHER);
    const got = [...(await api.post("/asks/batch", { body: { answers: part, preview } })).receipts];
    for (let attempt = 1; attempt < ATTEMPTS_MAX; attempt += 1) {
      const rated = got.flatMap((each, index) => (isRated(each) ? [index] : []));
      if (rated.length === 0) break;
      await sleep(Math.max(...rated.map((index) => got[index]?.retryAfterSeconds ?? 0)) * 1_000);
      const again = await api.post("/asks/batch", { body: { answers: rated.flatMap((index) => part[index] ?? []), preview } });
      for (const [place, index] of rated.entries()) got[index] = again.receipts[place] ?? (got[index] as BatchReceipt);
    }
    receipts.push(...got);
  }
  return receipts;
}

function isRated({ receipt, retryAfterSeconds = Infinity }: BatchReceipt): boolean {
  return receipt === "refused" && retryAfterSeconds <= WAIT_MAX_S;
}

export function counts({ receipt }: BatchReceipt): boolean {
  return receipt === "accepted" || receipt === "duplicate";
}

/** `party-size of task 0-Yuag…: accepted`. */
export function showReceipt(receipt: BatchReceipt): string {
  return `${name(receipt)}: ${became(cleanAll(receipt))}`;
}

function became({ receipt, missing = 0, violations = [], code }: BatchReceipt): string {
  switch (receipt) {
    case "valid":
      return "the answer would count";
    case "accepted":
      return missing === 0 ? "answered" : `answered; ${missing} more must accept`;
    case "duplicate":
      return "answered before in the same way";
    case "late":
      return "is closed, or was asked anew";
    case "invalid":
      return `refused: ${describeProblems(violations)}`;
    case "forbidden":
      return "is put to others";
    case "login_required":
      return NEEDS_LOGIN;
    case "unknown":
      return "is no question for you";
    case "refused":
      return `refused: ${code ?? "for an unknown reason"}`;
  }
}

function name({ taskId, key }: { readonly taskId: string; readonly key: string }): string {
  return `${cleanLine(key)} of task ${cleanLine(taskId)}`;
}
