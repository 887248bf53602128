/**
 * Waits for a task on behalf of a client that keeps its call open, and sends the notifications that the client asked for.
 *
 * Ends when the task finishes or asks the caller, when the client disconnects, when the call takes too long, or when this front end shuts
 * down.
 */
import {
  type Ask,
  canBeAsked,
  cancelTask,
  declareUnavailable,
  findTask,
  heardTask,
  isFinished,
  isForClientOnly,
  ParleyError,
  readable,
  type Task,
  type TaskWatch,
} from "@parley/core";
import { isInWords, resultOf, waitsForOthers } from "@parley/protocol";
import { untilExpiry } from "../../../front-end/until-expiry.ts";
import type { Handled } from "../shared/answer.ts";
import { feedPages, readFeedPage } from "../shared/feed-pages.ts";
import { increased, reportsOfOthers, stillWaiting } from "../shared/still-waiting.ts";
import { unlessAway } from "../shared/unless-redis-away.ts";
import { abandon, CLIENT_CLOSED } from "./abandon.ts";
import { hasToTell, mustBeTold, revealed, TOLD_AFTER_MS, waitingResult } from "../shared/waiting-text.ts";
import { askCaller, handOver } from "./ask-caller.ts";
import type { Called, StatelessExchange, StatelessRoute } from "./stateless-route.ts";

export interface AwaitTask {
  /** The task as it was read, or written, after `watch` began. */
  readonly task: Task;
  readonly watch: TaskWatch;
  readonly feedCursor: string | undefined;
  /** The client can find the task again, by a requestState or an idempotency key. */
  readonly canComeBack: boolean;
  /** It was handed over, and comes back. */
  readonly isBack?: boolean;
}

/** Throws CALL_TIMEOUT, CAPABILITY_REQUIRED, and an RpcFailure with the task's own error. */
export async function awaitTask(route: StatelessRoute, called: Called, exchange: StatelessExchange, request: AwaitTask): Promise<Handled> {
  const { task, watch, feedCursor, canComeBack, isBack = false } = request;
  const { services, times, heartbeat } = route;
  const { channel, caller, door } = exchange;
  const isText = isInWords(called.rung);
  let seen = task;
  const needsCaller = (now: Task) => isFinished(now.status) || now.asks.length > 0 || mustBeTold(now, called);
  // What the client can be asked is asked first: its question is gone once the call has ended.
  const canAsk = ({ request }: Ask) => canBeAsked(request, exchange.client.capabilities);
  const isTold = () => !isFinished(seen.status) && !seen.asks.some(canAsk) && (isText || mustBeTold(seen, called));
  /** For the model or the folders of a client that declared none, while it has to be told of something in words. */
  const askedInVain = () =>
    called.fallsToText && hasToTell(seen, canAsk) ? seen.asks.filter((ask) => isForClientOnly(ask.request) && !canAsk(ask)) : [];
  const isReady = async () => {
    const inVain = askedInVain();
    if (inVain.length > 0) {
      // They end as in a session, and the call goes on without them.
      await unlessAway(() => Promise.all(inVain.map(({ key }) => declareUnavailable(services, { taskId: task.id, caller, door, key }))));
      return false;
    }
    return needsCaller(seen) && (!isTold() || (await revealed(services, seen)));
  };
  const inWords = () => {
    const tool = exchange.catalogue.tools.get(called.name);
    return called.encodeResult(waitingResult(route, exchange, { task: seen, tool, rung: called.rung }));
  };
  const feed = feedReporter(route, exchange, { taskId: task.id, cursor: feedCursor, isBack });
  const ends = untilExpiry(route, exchange.caller);
  let timedOut = false;
  let isLong = false;
  channel.closed.addEventListener("abort", watch.wake);
  ends.ending.addEventListener("abort", watch.wake);
  // A call that was handed over may come back here on its existing connection, which is still served.
  if (ends.ending.aborted) watch.wake();
  const stopTimeout = services.clock.after(times.callTimeoutMs, () => {
    timedOut = true;
    watch.wake();
  });
  const stopTelling = services.clock.after(TOLD_AFTER_MS, () => {
    isLong = true;
    if (isText) watch.wake();
  });
  const stopOpening = services.clock.after(times.streamAfterMs, () => {
    if (channel.acceptsStream) channel.open();
  });

  const stopBeat = heartbeat.onBeat(() => {
    if (!needsCaller(seen)) feed.reportWaiting(seen);
  });

  try {
    // A call that comes back gets the reports of its task in the meantime first. Wake-ups tell only of later ones.
    if (seen.revision > 1) await feed.report();
    for (let isOver = await isReady(); !isOver;) {
      feed.reportOthers(seen);
      await watch.next(seen.revision);
      // If the client closes a first call, its hidden task is cancelled, since no client has a handle on it. A retry has delivered answers
      // and may have been dropped by the network: its task continues, and the same retry gets the result.
      if (channel.closed.aborted) {
        const isKept = (!task.call.hidden && !isText) || canComeBack;
        const cancel = () => cancelTask(services, { taskId: task.id, caller, door, reason: CLIENT_CLOSED });
        if (isKept || (await unlessAway(cancel))) return abandon(exchange);
        continue;
      }
      const heard = heardTask(watch, { task: seen, caller });
      // The feed is read after the task, so it contains everything that was reported before the task ended. Nothing may follow the answer.
      const read = heard
        ? { now: heard }
        : await unlessAway(async () => {
            const now = await findTask(services, { taskId: task.id, caller });
            await feed.report();
            return { now };
          });
      const { now } = read ?? { now: seen };
      if (!now) throw new ParleyError("TASK_NOT_FOUND", "the task of this call no longer exists");
      seen = readable(now);
      isOver = await isReady();
      if (isOver) break;
      const mayTell = isText && (timedOut || (isLong && seen.message !== undefined && route.ladder.taskTool !== undefined));
      // What is only long goes on while Redis is away.
      if (mayTell && ((await revealed(services, seen)) || timedOut)) return inWords();
      if (timedOut) {
        // Other people are asked and may take days: the client comes back later.
        if (seen.asksOfOthers || waitsForOthers(seen, exchange.client))
          return await handOver(route, called, exchange, { task: seen, feedCursor: feed.cursor });
        if (task.call.hidden) await cancelTask(services, { taskId: task.id, caller, door, reason: "The call took too long." });
        throw new ParleyError("CALL_TIMEOUT", `${called.name} did not finish within ${times.callTimeoutMs} ms`);
      }
      if (ends.ending.aborted) return await handOver(route, called, exchange, { task: seen, feedCursor: feed.cursor });
    }
    if (isTold()) return inWords();
    if (!isFinished(seen.status)) {
      const isToldLater = isText || (called.fallsToText && seen.asks.every((ask) => canAsk(ask) || !isForClientOnly(ask.request)));
      const asks = isToldLater ? seen.asks.filter(canAsk) : seen.asks;
      return await askCaller(route, called, exchange, { task: { ...seen, asks }, feedCursor: feed.cursor });
    }
    return resultOf(seen, called.encodeResult);
  } finally {
    stopTimeout();
    stopTelling();
    stopOpening();
    stopBeat();
    channel.closed.removeEventListener("abort", watch.wake);
    ends.ending.removeEventListener("abort", watch.wake);
    ends.release();
  }
}

interface FeedReporter {
  /** Sends the feed items since the last call, if this client wants them. */
  report(): Promise<void>;
  /** Sends progress while other people are asked, here or at an upstream, if this client wants it. */
  reportWaiting(task: Task): void;
  /** The same at once when others begin to be asked, when the client has to be told something else of it, and when they are asked no more. */
  reportOthers(task: Task): void;
  readonly cursor: string | undefined;
}

function feedReporter(
  { services }: StatelessRoute,
  { wants, encode, channel, client }: StatelessExchange,
  from: { taskId: string; cursor: string | undefined; isBack: boolean },
): FeedReporter {
  let { cursor } = from;
  let progress: number | undefined;
  const others = reportsOfOthers(from);
  const isOfOthers = (task: Task) => waitsForOthers(task, client);
  const isWanted = channel.acceptsStream && (wants.progressToken !== undefined || wants.logLevel !== undefined);
  return {
    get cursor() {
      return cursor;
    },
    async report() {
      if (!isWanted) return;
      const first = await readFeedPage(services.store, from.taskId, cursor);
      for await (const page of feedPages(services.store, from.taskId, first)) {
        for (const reported of page.items) {
          const item = reported.type === "progress" ? increased(reported, progress) : reported;
          const notification = encode.feedNotification(item, wants);
          if (!notification) continue;
          if (item.type === "progress") ({ progress } = item);
          channel.send(notification);
          await channel.drained();
        }
        cursor = page.cursor;
        if (channel.closed.aborted) return;
      }
    },
    reportWaiting(task) {
      if (task.status === "input_required" || isOfOthers(task)) tell(task);
    },
    reportOthers(task) {
      if (others.isNews(task, isOfOthers(task))) tell(task);
    },
  };

  function tell(task: Task): void {
    const item = stillWaiting(progress);
    const { capabilities } = client;
    const notification = channel.acceptsStream ? encode.waitingNotification(task, item, { capabilities, wants }) : undefined;
    if (!notification) return;
    ({ progress } = item);
    channel.send(notification);
  }
}
