/**
 * Does what is due with open asks that nobody has answered: reminds, and asks others as well (asks/prompts.ts).
 *
 * A run does it when it begins, before its handler. The store takes a change of a thread only from one who read the last one, so of two workers one
 * reminds, also if the other was thought dead. A worker that dies afterwards leaves what it did, and the next one finds it done.
 */
import { duePrompts } from "../asks/prompts.ts";
import { withPrompt } from "../callers/audit.ts";
import { namesOfAudience } from "../callers/open-asks.ts";
import { prompted } from "../callers/threads.ts";
import { ParleyError } from "../errors.ts";
import { type Ask, isQuestion, type Open, type Task } from "../task.ts";
import type { Services } from "./services.ts";

/** Each failed try means that somebody did something with the question. */
const TRIES_MAX = 20;

/** Returns the asks as they are then. Those that were settled in the meantime are returned as they were: the store knows. */
export async function promptAsks(services: Services, task: Task, asks: readonly Open[]): Promise<readonly Open[]> {
  const nowMs = services.clock.now();
  if (!asks.some((ask) => duePrompts(ask, nowMs))) return asks;
  return await Promise.all(asks.map(async (ask) => (isQuestion(ask) ? await promptAsk(services, task, ask) : ask)));
}

async function promptAsk(services: Services, task: Task, asked: Ask): Promise<Ask> {
  const { store, clock, log } = services;
  const { id: taskId, call } = task;
  let ask = asked;
  // oxlint-disable no-await-in-loop -- each try reads what the last one was overtaken by
  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    const nowMs = clock.now();
    const prompts = duePrompts(ask, nowMs);
    if (!prompts) return ask;
    const { key, digest, thread } = ask;
    const history = thread ? await store.thread(taskId, key) : [];
    const { escalations, reminded } = prompts;
    const written = prompted(ask, history, { nowMs, ...prompts });
    const became = await store.writeThread({
      taskId,
      key,
      digest,
      ...(thread && { seen: thread.revision }),
      ...written,
      ...(escalations.length > 0 && { handedTo: escalations.flatMap(namesOfAudience), places: ask }),
      tells: [...(reminded === undefined ? [] : (["reminded"] as const)), ...(escalations.length === 0 ? [] : (["escalated"] as const))],
      ...(call.tenant !== undefined && { tenant: call.tenant }),
      nowMs,
      ...withPrompt(services, task, ask, escalations),
    });
    if (became === "late") return ask;
    if (became === "accepted")
      log.info({ taskId, key, reminded: reminded !== undefined, escalations: escalations.length }, "question prompted");
    const now = (await store.load(taskId))?.asks.find((open) => open.key === key && open.digest === digest);
    if (!now) return ask;
    ask = now;
  }
  // oxlint-enable no-await-in-loop
  throw new ParleyError("UNAVAILABLE", "too many people did something with this question at once");
}
