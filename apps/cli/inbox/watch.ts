/** `parley inbox --watch`: prints each question when it is asked, and how it ended. */
import { setTimeout as sleep } from "node:timers/promises";
import type { AskSummary } from "../client/api-client.ts";
import type { Reached } from "../client/reach.ts";
import { readAsk } from "../questions/answer-ask.ts";
import { howEnded, showAsked } from "../questions/asked.ts";
import { INTERRUPTED, onInterrupt } from "../terminal/interrupt.ts";
import { cleanLine, print, printJson } from "../terminal/terminal.ts";
import { type Filters, listAsks, readOpen } from "./list.ts";

/** Besides what the stream tells: it does not tell at once of questions of one's own calls. */
const LOOK_EVERY_MS = 5_000;

type Seen = Map<string, AskSummary>;

export async function watchInbox({ api }: Pick<Reached, "api">, filters: Filters, json: boolean): Promise<void> {
  const signal = onInterrupt();
  const stopped = new AbortController();
  let wake = Promise.withResolvers<void>();
  void api.changes(() => wake.resolve(), AbortSignal.any([signal, stopped.signal]));
  const seen: Seen = new Map();
  let isFirst = true;
  try {
    while (!signal.aborted) {
      wake = Promise.withResolvers();
      const found = await look(api, filters, { seen, json });
      if (isFirst && found === 0 && !json) print("no open questions yet");
      isFirst = false;
      await Promise.race([wake.promise, sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined)]);
    }
  } finally {
    stopped.abort();
  }
  process.exitCode = INTERRUPTED;
}

/** Prints what is new, and what is no longer there. Resolves to how many are. */
async function look(
  api: Reached["api"],
  filters: Filters,
  { seen, json }: { readonly seen: Seen; readonly json: boolean },
): Promise<number> {
  const { asks, isMore } = await listAsks(api, filters);
  const now = new Map(asks.map((ask) => [idOf(ask), ask]));
  // What a limit hides is not gone.
  const gone = isMore ? [] : [...seen.values()].filter((ask) => !now.has(idOf(ask)));
  for (const ask of gone) {
    seen.delete(idOf(ask));
    await printGone(api, ask, json);
  }
  for (const ask of await readOpen(
    api,
    asks.filter((each) => !seen.has(idOf(each))),
  )) {
    const { taskId, key } = ask;
    const summary = now.get(idOf({ taskId, key }));
    if (summary) seen.set(idOf(summary), summary);
    if (json) printJson(ask);
    else print(showAsked(ask, Date.now()));
  }
  return asks.length;
}

async function printGone(api: Reached["api"], { taskId, key }: AskSummary, json: boolean): Promise<void> {
  const ask = await readAsk(api, taskId, key);
  if (json) return printJson(ask ?? { taskId, key, state: "gone" });
  const how =
    ask?.state === "settled"
      ? howEnded(ask)
      : ask?.state === "accepted"
        ? "was answered by you; others are missing"
        : "is no longer for you";
  print(`${cleanLine(key)} of task ${cleanLine(taskId)} ${how}`);
}

function idOf({ taskId, key }: Pick<AskSummary, "taskId" | "key">): string {
  return `${taskId}/${key}`;
}
