/** A task's course as the page shows it. docs/playground.md shows the answer. */
import { type Ask, type Caller, type FeedItem, readTimeline, SCOPES, type JournalLine } from "@parley/core";
import type { FrontEnd } from "../../front-end/front-end.ts";
import { requireScopes } from "../../front-end/protected-resource.ts";

export interface TimelineQuery {
  readonly caller: Caller;
  readonly taskId: string;
  readonly after: string | undefined;
}

/** Throws what readTimeline throws, and SCOPE_INSUFFICIENT. */
export async function getTimeline({ services, resource }: FrontEnd, { caller, taskId, after }: TimelineQuery): Promise<object> {
  if (resource) requireScopes(caller, [SCOPES.read], "a task's timeline");
  const ref = { taskId, caller, door: "playground timeline" };
  const { task, lines, entries, settled, items, cursor, more } = await readTimeline(services, {
    ...ref,
    ...(after !== undefined && { after }),
  });
  const { call, message, expiresAtMs, asksOfOthers = [] } = task;
  return {
    task: {
      id: task.id,
      kind: call.kind,
      name: call.name,
      status: task.status,
      ...(message !== undefined && { statusMessage: message }),
      revision: task.revision,
      run: task.run,
      generation: task.generation,
      createdAtMs: call.createdAtMs,
      updatedAtMs: task.updatedAtMs,
      ...(expiresAtMs !== undefined && { expiresAtMs }),
    },
    nowMs: services.clock.now(),
    asks: [...task.asks.map((ask) => openAsk(ask, false)), ...asksOfOthers.map((ask) => openAsk(ask, true))],
    journal: { entries, settled, lines: lines.map(line) },
    feed: { items: items.filter(isTold), ...(cursor !== undefined && { cursor }), more },
  };
}

/** What others are asked is theirs to read. */
function openAsk({ key, request, askedAtMs, deadlineMs, onTimeout, refused }: Ask, isPutToOthers: boolean): object {
  return {
    key,
    type: request.type,
    ...(!isPutToOthers && "message" in request && { message: request.message }),
    askedAtMs,
    deadlineMs,
    onTimeout: typeof onTimeout === "string" ? onTimeout : "default",
    isPutToOthers,
    ...(refused && { refusals: refused.count }),
  };
}

/** `step:hold-table` is two words for a reader. */
function line({ key, ...rest }: JournalLine): object {
  const at = key.indexOf(":");
  return { kind: key.slice(0, at), name: key.slice(at + 1), ...rest };
}

/** A release is between front ends and workers. */
function isTold({ type }: FeedItem): boolean {
  return type !== "release";
}
