/** The timeline of a task as the playground, the command line and the API show it. docs/playground.md describes the response. */
import {
  type Ask,
  type AwaitedCall,
  callKey,
  type Caller,
  type FeedItem,
  type JournalLine,
  readTimeline,
  SCOPES,
  toolNameOf,
  upcomingPrompts,
} from "@parley/core";
import type { TaskTimeline, TimelineAsk, TimelineCall, TimelineLine } from "@parley/core/timeline";
import type { FrontEnd } from "./front-end.ts";
import { requireScopes } from "./protected-resource.ts";
import { type TitleOf, titleShown } from "./tool-titles.ts";

export interface TimelineQuery {
  readonly caller: Caller;
  readonly taskId: string;
  readonly after: string | undefined;
  /** For the audit. */
  readonly door: string;
}

/** Throws the errors of `readTimeline`, and SCOPE_INSUFFICIENT. */
export async function getTimeline(
  { services, resource }: FrontEnd,
  { caller, taskId, after, door }: TimelineQuery,
  titleOf: TitleOf,
): Promise<TaskTimeline> {
  if (resource) requireScopes(caller, [SCOPES.read], "a task's timeline");
  const ref = { taskId, caller, door };
  const { task, lines, entries, settled, items, cursor, more } = await readTimeline(services, {
    ...ref,
    ...(after !== undefined && { after }),
  });
  const { call, message, expiresAtMs, asksOfOthers = [], calls = [] } = task;
  return {
    task: {
      id: task.id,
      kind: call.kind,
      name: toolNameOf(call),
      ...titleShown(titleOf, call),
      status: task.status,
      ...(message !== undefined && { statusMessage: message }),
      revision: task.revision,
      run: task.run,
      generation: task.generation,
      createdAtMs: call.createdAtMs,
      updatedAtMs: task.updatedAtMs,
      ...(expiresAtMs !== undefined && { expiresAtMs }),
      ...(call.parent && { parent: call.parent.taskId }),
    },
    nowMs: services.clock.now(),
    asks: [...task.asks.map((ask) => openAsk(ask, false)), ...asksOfOthers.map((ask) => openAsk(ask, true))],
    ...(calls.length > 0 && { calls: calls.map(openCall) }),
    journal: { entries, settled, lines: lines.map(line) },
    feed: { items: items.filter(isShown), ...(cursor !== undefined && { cursor }), more },
  };
}

/** Leaves out the message of an ask to others, which only they may read. */
function openAsk(ask: Ask, isPutToOthers: boolean): TimelineAsk {
  const { key, request, askedAtMs, deadlineMs, onTimeout, refused, audience, tally, thread: { reminded, escalatedTo } = {} } = ask;
  const upcoming = upcomingPrompts(ask);
  return {
    key,
    type: request.type,
    ...(!isPutToOthers && "message" in request && { message: request.message }),
    askedAtMs,
    deadlineMs,
    onTimeout: typeof onTimeout === "string" ? onTimeout : "default",
    isPutToOthers,
    ...(tally && audience?.quorum !== undefined && { accepted: tally.accepted, quorum: audience.quorum, mine: tally.mine }),
    ...(refused && { refusals: refused.count }),
    ...(reminded && { remindedAtMs: reminded.atMs }),
    ...(escalatedTo && { escalatedTo }),
    ...(upcoming.length > 0 && { upcoming }),
  };
}

function openCall({ key, digest, request, askedAtMs, deadlineMs }: AwaitedCall): TimelineCall {
  return { key: key.slice(callKey("").length), tool: request.tool, child: digest, askedAtMs, deadlineMs };
}

/** The journal records a call of another tool as an ask with this prefix. */
const CALL = "ask:call:";

/** Splits the key, such as `step:hold-table`, into kind and name. */
function line({ key, ...rest }: JournalLine): TimelineLine {
  if (key.startsWith(CALL)) return { kind: "call", name: key.slice(CALL.length), ...rest };
  const at = key.indexOf(":");
  return { kind: key.slice(0, at), name: key.slice(at + 1), ...rest };
}

/** Releases concern only front ends and workers. */
function isShown({ type }: FeedItem): boolean {
  return type !== "release";
}
