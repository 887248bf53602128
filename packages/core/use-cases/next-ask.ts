/**
 * What a task asks a person next, once they have answered: they go on with that instead of looking for it in a list.
 *
 * Of a task with children it is the root that is looked at, because the root shows what all of them ask.
 */
import { may } from "../callers/policy.ts";
import { hasAccepted } from "../callers/quorum.ts";
import { type Ask, isFinished } from "../task.ts";
import { isForPerson } from "./list-asks.ts";
import type { Services } from "./services.ts";
import { snoozesOf } from "./snoozes-of.ts";
import type { PageRef } from "./visit-page.ts";
import { watchTask } from "./watch-task.ts";

/** A question where it is answered: of a child, in the child. */
export type AskAt = Pick<PageRef, "taskId" | "key">;

/**
 * The first question of the same task that the caller may answer, other than the one that `ref` names and those that they have put aside. Waits for up to
 * `waitMs` until there is one. Undefined if there is none by then, and at once if the task has ended. A pure read.
 */
export async function nextAsk(
  services: Pick<Services, "store" | "clock" | "wakeUps" | "snoozes">,
  { caller, ...ref }: PageRef,
  waitMs: number,
): Promise<AskAt | undefined> {
  const { store, clock } = services;
  const { of: snoozeOf } = await snoozesOf(services, caller);
  const answered = await store.load(ref.taskId);
  const rootId = answered?.call.parent?.rootId ?? ref.taskId;
  const placeOf = ({ route, key }: Ask): AskAt => route ?? { taskId: rootId, key };

  async function look(): Promise<AskAt | "over" | undefined> {
    const root = await store.load(rootId);
    if (!root || isFinished(root.status)) return "over";
    const next = root.asks.find((ask) => {
      const { taskId, key } = placeOf(ask);
      if ((taskId === ref.taskId && key === ref.key) || !isForPerson(ask) || snoozeOf(taskId, { ...ask, key })) return false;
      return may(caller, "answer", root, ask) && !hasAccepted(caller, root.call, ask);
    });
    return next && placeOf(next);
  }

  const watch = waitMs > 0 ? await watchTask(services, rootId) : undefined;
  let isLast = watch === undefined;
  const stopTimer = clock.after(waitMs, () => {
    isLast = true;
    watch?.wake();
  });
  try {
    for (;;) {
      const found = await look();
      if (found !== undefined || isLast) return found === "over" ? undefined : found;
      await watch?.next();
    }
  } finally {
    stopTimer();
    watch?.close();
  }
}
