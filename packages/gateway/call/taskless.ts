/**
 * Calls without a task, for upstreams with `taskless: true`: a tool that may be repeated, or a prompt, is called while its client waits, and nothing is
 * written. Front ends have no connection to upstreams, so they send the call to a worker, which has.
 *
 *   front end ── call ──▶ one worker ──▶ upstream ── result ──▶ worker ── reply ──▶ front end
 *                                           └─ asks, or takes longer ─▶ worker ── "needs a task" ──▶ front end creates the task
 *
 * Every failure, from a lost message to a worker that dies, has one outcome: the front end creates the task that the call would have had from
 * the start, and the task calls again. Therefore only calls that may be repeated are made in this way. What asked will ask again, and what took long may
 * take long again: for a while, its calls are tasks from the start.
 */
import { randomUUID } from "node:crypto";
import { type FeedItem, type JsonObject, RpcFailure, type TasklessCall, type TasklessResult } from "@parley/core";
import { askable } from "../wire/call-request.ts";
import type { Calls } from "./calls.ts";
import type { ParamHeaders } from "../wire/param-headers.ts";
import type { Post } from "../process-messages.ts";
import { createReplies } from "../process-replies.ts";
import type { UpstreamEvent, UpstreamFailure } from "../wire/upstream-event.ts";
import type { Upstream } from "../config/upstreams.ts";

/** packages/redis implements it. */
export interface Callers extends Post {
  /** The processes that make calls and are alive. */
  callers(): Promise<readonly string[]>;
}

/** Limits: maximum duration at the upstream; characters of a reply; log messages of a call. Beyond them, the call becomes a task. */
export const TASKLESS_MS = 2_000;
export const TASKLESS_CHARS_MAX = 1_048_576;
export const TASKLESS_LOGS_MAX = 20;
/** How long calls are tasks from the start: of what asked, or returned or logged too much; of what took too long, which may be the machine's fault. */
const AS_TASKS_MS = 10 * 60_000;
const SLOW_AS_TASKS_MS = 30_000;
/** How many tools and prompts that need tasks a front end remembers. */
export const AS_TASKS_MAX = 10_000;
/** Maximum time for which a reply is on its way. */
const REPLY_MARGIN_MS = 500;
const LOOK_EVERY_MS = 1_000;
/** A worker that did not reply is left alone for as long as it may be dead without others noticing. */
const SILENT_MS = 7_000;

export interface Callee {
  readonly kind: "tool" | "prompt";
  /** The upstream's own name of it. */
  readonly name: string;
  readonly headersOf?: (args: JsonObject) => ParamHeaders;
}

/** What a call will do again if it is repeated. */
const HABITS: ReadonlySet<UpstreamEvent["type"]> = new Set(["asked", "required", "large", "timeout"]);

interface Sent extends Pick<Callee, "kind" | "name">, Omit<TasklessCall, "signal" | "hidden"> {
  readonly id: string;
  readonly from: string;
  readonly upstream: string;
  readonly paramHeaders?: ParamHeaders;
  readonly sentAtMs: number;
}

type Came =
  | { readonly type: "result"; readonly result: JsonObject; readonly reports: readonly FeedItem[] }
  | { readonly type: "error"; readonly error: UpstreamFailure }
  /** `forMs`: for this long, its calls are tasks from the start. */
  | { readonly type: "task"; readonly forMs: number };

type Reply = Came & { readonly id: string };

// ── front ends ───────────────────────────────────────────────────────────────────────────────────────────────────

export interface TasklessCalls {
  /** Resolves to undefined if the call needs a task. Throws RpcFailure with the upstream's own error. */
  call(upstream: Upstream, callee: Callee, call: TasklessCall): Promise<TasklessResult | undefined>;
  close(): void;
}

interface Worker {
  calls: number;
  silentUntilMs: number;
}

export async function createTasklessCalls(post: Callers, now: () => number): Promise<TasklessCalls> {
  const replies = await createReplies<Reply>((listener) => post.onPost("reply", listener));
  /** Until when the calls of a tool or prompt are tasks from the start. Oldest first. */
  const asTasks = new Map<string, number>();
  const workers = new Map<string, Worker>();
  let lookedAtMs = -Infinity;
  let looking: Promise<void> | undefined;

  async function look(): Promise<void> {
    lookedAtMs = performance.now();
    try {
      const callers = new Set(await post.callers());
      for (const id of workers.keys()) if (!callers.has(id)) workers.delete(id);
      for (const id of callers) if (!workers.has(id)) workers.set(id, { calls: 0, silentUntilMs: 0 });
    } catch {
      // Those that are known are asked; without Redis, no task can be created either.
    } finally {
      looking = undefined;
    }
  }

  /** The worker with the fewest calls of this front end; of several, the one whose turn is longest ago. */
  async function choose(): Promise<readonly [string, Worker] | undefined> {
    if (performance.now() - lookedAtMs > LOOK_EVERY_MS) looking ??= look();
    if (workers.size === 0) await looking;
    let best: readonly [string, Worker] | undefined;
    for (const each of workers) {
      if (each[1].silentUntilMs <= performance.now() && (!best || each[1].calls < best[1].calls)) best = each;
    }
    if (best) {
      workers.delete(best[0]);
      workers.set(...best);
    }
    return best;
  }

  function isTask(key: string): boolean {
    const untilMs = asTasks.get(key);
    if (untilMs === undefined) return false;
    if (untilMs > performance.now()) return true;
    asTasks.delete(key);
    return false;
  }

  function remember(key: string, forMs: number): void {
    asTasks.delete(key);
    asTasks.set(key, performance.now() + forMs);
    for (const oldest of asTasks.keys()) if (asTasks.size > AS_TASKS_MAX) asTasks.delete(oldest);
  }

  async function ask(process: string, worker: Worker, sent: Sent, signal: AbortSignal): Promise<Came | undefined> {
    const { reply, giveUp } = replies.expect(sent.id, TASKLESS_MS + REPLY_MARGIN_MS);
    signal.addEventListener("abort", giveUp, { once: true });
    worker.calls += 1;
    try {
      if (!(await post.post("call", process, JSON.stringify(sent)))) giveUp();
      const came = await reply;
      if (!came && !signal.aborted) worker.silentUntilMs = performance.now() + SILENT_MS;
      return came;
    } finally {
      giveUp();
      signal.removeEventListener("abort", giveUp);
      worker.calls -= 1;
    }
  }

  return {
    async call(upstream, { kind, name, headersOf }, { signal, hidden, capabilities, ...call }) {
      const key = `${upstream.name} ${kind} ${name}`;
      const chosen = isTask(key) ? undefined : await choose();
      if (!chosen || signal.aborted) return undefined;
      const sent: Sent = {
        ...call,
        capabilities: askable({ capabilities, hidden, kind }),
        id: randomUUID(),
        from: post.id,
        upstream: upstream.name,
        kind,
        name,
        ...(headersOf && { paramHeaders: headersOf(call.arguments) }),
        sentAtMs: now(),
      };
      const came = await ask(...chosen, sent, signal);
      if (came?.type === "error") throw new RpcFailure(came.error.code, came.error.message, came.error.data);
      if (came?.type === "result") return { result: came.result, reports: came.reports };
      if (came && came.forMs > 0) remember(key, came.forMs);
      return undefined;
    },
    close: replies.close,
  };
}

// ── workers ──────────────────────────────────────────────────────────────────────────────────────────────────────

export interface ServeTaskless {
  readonly post: Post;
  readonly calls: Pick<Calls, "callOnce">;
  readonly upstreams: () => readonly Upstream[];
  readonly now: () => number;
  /** Whether this worker makes no more calls. */
  readonly isClosing: () => boolean;
  /** Whether a call of that tool or prompt, named as it is offered, must be a task: the front end may have read other rules. */
  readonly mustBeTask?: (called: Pick<Callee, "kind" | "name">) => boolean;
  /** Reports a call that was tried, and whether it was answered. */
  readonly onTried?: (upstream: string, outcome: "answered" | "task") => void;
  /** Follows the work for one call. */
  readonly inBackground: (work: Promise<void>) => void;
}

/** Makes the calls that front ends send. Returns the function that stops it. */
export async function serveTaskless({
  post,
  calls,
  upstreams,
  now,
  isClosing,
  mustBeTask,
  onTried,
  inBackground,
}: ServeTaskless): Promise<() => void> {
  async function make({
    upstream: name,
    kind,
    name: tool,
    arguments: args,
    principal,
    session,
    capabilities,
    traceparent,
    paramHeaders,
    sentAtMs,
  }: Sent): Promise<Came> {
    const upstream = upstreams().find((each) => each.name === name);
    // The front end has read a newer file, or no longer waits.
    if (!upstream?.isTaskless || isClosing() || now() - sentAtMs > TASKLESS_MS) return { type: "task", forMs: 0 };
    if (mustBeTask?.({ kind, name: `${upstream.prefix}${tool}` })) return { type: "task", forMs: 0 };
    const stop = new AbortController();
    const logs: FeedItem[] = [];
    /** The last one is enough: all are sent together with the result. */
    let progress: FeedItem | undefined;
    let isSlow = false;
    const slow = setTimeout(() => {
      isSlow = true;
      stop.abort();
    }, TASKLESS_MS);
    const event = await calls.callOnce(
      {
        upstream,
        kind,
        tool,
        args,
        ...(paramHeaders && { paramHeaders }),
        principal,
        ...(session !== undefined && { session }),
        capabilities,
        ...(traceparent !== undefined && { traceparent }),
        questionTimeoutMs: TASKLESS_MS,
        peopleTimeoutMs: TASKLESS_MS,
        askedBefore: 0,
        given: [],
      },
      {
        signal: stop.signal,
        inBackground,
        report(item) {
          if (item.type === "progress") progress = item;
          if (item.type !== "log") return;
          logs.push(item);
          if (logs.length > TASKLESS_LOGS_MAX) stop.abort();
        },
      },
    );
    clearTimeout(slow);
    onTried?.(name, event?.type === "result" || event?.type === "error" ? "answered" : "task");
    if (event?.type === "result") return { type: "result", result: event.result, reports: progress ? [...logs, progress] : logs };
    if (event?.type === "error") return event;
    if (event ? HABITS.has(event.type) : !isSlow) return { type: "task", forMs: AS_TASKS_MS };
    return { type: "task", forMs: isSlow ? SLOW_AS_TASKS_MS : 0 };
  }

  return await post.onPost("call", (text) => {
    const sent = JSON.parse(text) as Sent;
    const reply = (came: Came) => JSON.stringify({ ...came, id: sent.id } satisfies Reply);
    inBackground(
      make(sent).then(async (came) => {
        const whole = reply(came);
        await post.post("reply", sent.from, whole.length <= TASKLESS_CHARS_MAX ? whole : reply({ type: "task", forMs: AS_TASKS_MS }));
      }),
    );
  });
}
