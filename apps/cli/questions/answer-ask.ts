/** Answers a question through /api/v1, whoever's task asks it. */
import { describeProblems } from "@parley/core";
import { setTimeout as sleep } from "node:timers/promises";
import { ApiError, type ApiClient, type Ask, type OpenAsk, type SettledAsk } from "../client/api-client.ts";
import { within, type Question, type Sent } from "./answering.ts";
import { howEnded, requestOf, showContext, whenAsked, whoAsks } from "./asked.ts";
import type { Reply } from "./form.ts";
import { cleanAll } from "../terminal/terminal.ts";

/** How often a prompt looks whether its question is still open. */
const LOOK_EVERY_MS = 1_000;

/** Undefined if there is no such question for this caller. */
export async function readAsk(api: ApiClient, taskId: string, key: string): Promise<Ask | undefined> {
  try {
    return await api.get("/asks/{taskId}/{key}", { path: { taskId, key } });
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}

/** The question for a prompt. */
export function questionOf(api: ApiClient, ask: OpenAsk, nowMs: number): Question {
  return {
    key: ask.key,
    request: requestOf(ask),
    about: {
      title: whoAsks(ask),
      notes: [showContext(ask.context ?? [], process.stderr), whenAsked(ask, nowMs)].filter((text) => text !== ""),
      hasQuorum: ask.audience?.quorum !== undefined,
      takesReason: true,
    },
    send: (reply) => sendAnswer(api, ask, reply),
    whenClosed(closed) {
      const stopped = new AbortController();
      void (async () => {
        while (!stopped.signal.aborted) {
          await sleep(LOOK_EVERY_MS, undefined, { signal: stopped.signal }).catch(() => undefined);
          if (stopped.signal.aborted) return;
          const now = await readAsk(api, ask.taskId, ask.key).catch(() => ask);
          if (!isStillAsked(ask, now)) return closed(endOf(now));
        }
      })();
      return () => stopped.abort();
    },
  };
}

function isStillAsked(ask: OpenAsk, now: Ask | undefined): boolean {
  return now !== undefined && now.state !== "settled" && now.state !== "of-others" && now.digest === ask.digest;
}

function endOf(ask: Ask | undefined): string | undefined {
  return ask?.state === "settled" ? howEnded(ask) : undefined;
}

/** Counts for the question as it was read, and not for one that was asked anew under the same name. Throws ApiError for what is not about the answer. */
export async function sendAnswer(api: ApiClient, { taskId, key, digest }: OpenAsk, reply: Reply): Promise<Sent> {
  try {
    const { missing } = cleanAll(await api.post("/asks/{taskId}/{key}", { path: { taskId, key }, body: { ...reply, digest } }));
    return { type: "accepted", ...(missing !== undefined && { missing }) };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { violations, ask, receipt } = error.problem;
    // Somebody has handed it on meanwhile.
    if (receipt === "forbidden") return { type: "late", how: "is a question for others now" };
    if (error.status === 409 || error.status === 404) return { type: "late", how: endOf(ask as SettledAsk | undefined) };
    if (!violations) throw error;
    const content = reply.action === "accept" ? (reply.content ?? {}) : {};
    const refused = new Error(`refused: ${describeProblems(violations)}`, { cause: error });
    return { type: "refused", content, violations: violations.map((each) => within(each, 0)), error: refused };
  }
}
