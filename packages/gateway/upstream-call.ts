/**
 * One call at an upstream, from its start to its end, with the questions in between.
 *
 *   next(given) ─▶ asked      the upstream asks and waits: give the answers, and call next again
 *               ─▶ required   nothing is held: start another call with the answers, or poll the upstream's task later
 *               ─▶ result · error · timeout · invalid
 *
 * The run that leads a call comes and goes: it parks while people think, is taken over, or is replayed. So each `next` receives every answer so far,
 * and takes the new ones from it (questions.ts).
 *
 * What an upstream may do is bounded: the number of questions in total and at once, their size, and the time in which it neither asks nor ends.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { isInputRequiredResult, SdkHttpError, UnauthorizedError } from "@modelcontextprotocol/client";
import { type FeedItem, jsonExceeds, type JsonObject, type Settings, STORED_DEPTH_MAX } from "@parley/core";
import { callParams, type CallRequest, mcpCapabilities, responses } from "./call-request.ts";
import { completed, failure, type Judging, looked, required, withoutKind } from "./endings.ts";
import { createQuestions, type QuestionDeps } from "./questions.ts";
import { receive, reportProgress } from "./receive.ts";
import { isSessionTask } from "./session-tasks.ts";
import type { Given, UpstreamEvent } from "./upstream-event.ts";
import type { UpstreamConnector, UpstreamSession } from "./upstream-session.ts";
import { MESSAGES_MAX, readTask, type TaskRequests, type UpstreamTask } from "./upstream-tasks.ts";
import { wordFor } from "./word-for.ts";

export interface UpstreamCall {
  readonly callId: string;
  /** Resolves with the next event. Rejects only if `signal` is aborted; the event is then returned by the following call. */
  next(given: readonly Given[], leading: Leading): Promise<UpstreamEvent>;
  /** Delivers answers without waiting for an event. */
  give(given: readonly Given[]): void;
  /** Keys of questions that were asked and that the upstream no longer waits for. */
  abandoned(): ReadonlySet<string>;
  /** Whether the upstream waits for an answer. */
  isWaiting(): boolean;
  /** Whether the upstream must be notified when its result is no longer needed. */
  isNeeded(): boolean;
  /** Whether the call has ended and only its outcome remains. */
  isOver(): boolean;
  /** Tells the upstream to stop and closes the session. With `continues`, another call follows the upstream's task. */
  close(options?: { readonly continues?: boolean }): Promise<void>;
}

export interface Leading {
  /** The caller's current access token: a held call may outlive the token that it was made with. */
  readonly accessToken?: string | undefined;
  readonly signal: AbortSignal;
  readonly report: (item: FeedItem) => void;
}

export interface CallDeps extends QuestionDeps {
  readonly connector: UpstreamConnector;
  readonly settings: QuestionDeps["settings"] & Pick<Settings, "storedValueMax">;
  /** Runs background work. Default: at once. */
  readonly whenQuiet?: (work: () => Promise<void>) => void;
}

/** The longest timer of JavaScript. The duration of a call is measured here; the MCP client would count the time that people take as well. */
const NEVER_MS = 2_147_483_647;
const CUT_GRACE_MS = 250;
/** Outcomes after which the upstream's task is polled no more. After the others, such as an upstream that is away, it may be. */
const FAILURES: ReadonlySet<UpstreamEvent["type"]> = new Set(["error", "invalid", "large"]);
const PAGES_GRACE_MS = 100;

export function startCall(callId: string, request: CallRequest, deps: CallDeps): UpstreamCall {
  const { upstream } = request;
  const { elicitation, settings, whenQuiet = (work) => void work() } = deps;
  const stop = new AbortController();
  let ended: UpstreamEvent | undefined;
  let report: Leading["report"] | undefined;
  let session: UpstreamSession | undefined;
  let working: NodeJS.Timeout | undefined;
  let isDone = false;
  /** The upstream's own task for this call, unless it has ended. */
  let openTask: string | undefined;
  let leaving: Promise<void> | undefined;
  let { accessToken } = request;
  const currentToken = accessToken === undefined ? undefined : () => accessToken ?? "";
  let { promise: happened, resolve: happens } = Promise.withResolvers<void>();

  function wake(): void {
    happens();
    ({ promise: happened, resolve: happens } = Promise.withResolvers<void>());
  }

  function end(event: UpstreamEvent): void {
    if (ended) return;
    ended = kept(event);
    clearTimeout(working);
    isDone = event.type === "result" && questions.waiting() === 0 && questions.pages() === 0;
    questions.abandonAll();
    wake();
    // An upstream that has answered does not wait for the closing; a session that is reused is available at once.
    if (event.type === "result" && !upstream.reusesSessions) whenQuiet(release);
    else if (openTask !== undefined && FAILURES.has(ended.type)) leaving = letGo(openTask);
    else void release();
  }

  /** The upstream's task would wait in vain: its question was refused, or is too large. In a session, it can be cancelled only before that ends. */
  async function letGo(id: string): Promise<void> {
    await cancelTask(id, request, { ...deps, accessToken: currentToken });
    await release();
  }

  /** The event in the form to store: one that is larger or deeper than a stored value may be is replaced. */
  function kept(event: UpstreamEvent): UpstreamEvent {
    const size = sizeOf(event);
    if (size === undefined)
      return { type: "invalid", message: `answered with arrays and objects that nest deeper than ${STORED_DEPTH_MAX} levels` };
    if (size <= settings.storedValueMax) return event;
    return {
      type: "large",
      message: `answered with ${size} characters of JSON; the limit is ${settings.storedValueMax} (PARLEY_STORED_VALUE_MAX)`,
    };
  }

  async function release(): Promise<void> {
    stop.abort();
    const open = session;
    session = undefined;
    await open?.close({ keeps: ended?.type === "required" && ended.task !== undefined, isDone });
  }

  /** The upstream's own time: the timer runs while no question waits for an answer. */
  function clock(): void {
    clearTimeout(working);
    if (ended || questions.waiting() > 0) return;
    working = setTimeout(
      () => end({ type: "timeout", message: `neither asked nor ended within ${upstream.callTimeoutMs} ms` }),
      upstream.callTimeoutMs,
    );
  }

  const questions = createQuestions(request, deps, {
    isOver: () => ended !== undefined || stop.signal.aborted,
    onChange() {
      clock();
      if (questions.waiting() > 0) wake();
    },
    onAmbiguous: () => end({ type: "invalid", message: "asked two questions with one id, so that their answers cannot be told apart" }),
  });
  const judging: Judging = { request, admit: questions.admit };

  // ── the call ───────────────────────────────────────────────────────────────────────────────────────────────────

  const sent = {
    questions,
    report: (item: FeedItem) => report?.(item),
    capabilities: elicitation.isEnabled ? request.capabilities : {},
  };

  async function run(isFresh = false): Promise<void> {
    if (request.round?.task && isSessionTask(request.round.task.id)) return await followSessionTask();
    let opened: UpstreamSession;
    try {
      opened = await deps.connector.open(upstream, {
        capabilities: mcpCapabilities(request, elicitation),
        prepare: (client) => receive(client, sent),
        signal: stop.signal,
        isFresh,
        principal: request.principal,
        accessToken: currentToken,
        owner: {
          onNotification: (method, params) => reportProgress(method, params, sent.report),
          onFlood: () => end({ type: "invalid", message: `sent more than ${MESSAGES_MAX} messages in one call` }),
          // A result that arrived just before the end of the stream may still be on its way through the client.
          onCut: (message) => setTimeout(() => end({ type: "lost", message }), CUT_GRACE_MS),
        },
      });
    } catch (error) {
      return end(refusedToken(error) ?? { type: "unavailable", message: `cannot be reached: ${wordFor(error)}` });
    }
    if (ended) return void opened.close();
    session = opened;
    const isPrepared = opened.isPrepared === true;
    opened.client.onclose = () => {
      if (session === opened) end({ type: "lost", message: "the connection to the upstream ended before its result" });
    };
    clock();
    try {
      if (opened.tasks && request.kind === "tool" && (opened.isStateless || request.asTask))
        return end(await rated(await followed(opened.tasks)));
      const { client } = opened;
      const options = {
        timeout: NEVER_MS,
        signal: stop.signal,
        allowInputRequired: true,
        ...(opened.isStateless && { headers: request.paramHeaders ?? {} }),
        onprogress: (progress: unknown) => reportProgress("notifications/progress", progress, sent.report),
      } as const;
      const params = callParams(request) as never;
      const result = await (request.kind === "tool" ? client.callTool(params, options) : client.getPrompt(params, options));
      end(isInputRequiredResult(result) ? await rated(required(result, judging)) : { type: "result", result: withoutKind(result) });
    } catch (error) {
      if (!isPrepared || ended || questions.asked() > 0 || !wasNotTaken(error))
        return end(refusedToken(error) ?? refusedCall(error) ?? (await rated(failure(error, judging))));
      session = undefined;
      void opened.close();
      await run(true);
    }
  }

  async function followSessionTask(): Promise<void> {
    clock();
    try {
      end(await rated(await followed(deps.connector.sessionTasks(upstream, currentToken))));
    } catch (error) {
      end(refusedToken(error) ?? (await rated(failure(error, judging))));
    }
  }

  /** For questions that the upstream does not wait for. If there are too many, the call fails with the error that a waiting upstream would get. */
  async function rated(event: UpstreamEvent): Promise<UpstreamEvent> {
    if (event.type !== "required" || event.questions.length === 0 || !deps.rate) return event;
    try {
      await questions.take(event.questions.length);
      return event;
    } catch (error) {
      for (const { request: asked } of event.questions) deps.count({ upstream: upstream.name, kind: asked.type, outcome: "refused" });
      return failure(error, judging);
    }
  }

  /** Authentication comes first, so a call that was refused for its token has not begun. */
  function refusedToken(error: unknown): UpstreamEvent | undefined {
    return currentToken && questions.asked() === 0 && isUnauthorized(error) ? { type: "unauthorized" } : undefined;
  }

  function refusedCall(error: unknown): UpstreamEvent | undefined {
    const isFirst = request.round === undefined && questions.asked() === 0;
    return isFirst && wasRefused(error) ? { type: "unavailable", message: `did not take the call: ${wordFor(error)}` } : undefined;
  }

  /** A call of an upstream that may answer with a task, or a poll of that task, with the answers to its questions. */
  async function followed(tasks: TaskRequests): Promise<UpstreamEvent> {
    const { signal } = stop;
    const { round } = request;
    if (round?.task) {
      const { id } = round.task;
      if (Object.keys(round.responses).length > 0) await tasks.update(id, responses(round.responses), signal);
      return looked(noted(await tasks.get(id, signal)), judging);
    }
    const params = callParams(request) as JsonObject;
    const _meta = { ...(params["_meta"] as object | undefined), progressToken: callId };
    const result = await tasks.call({ ...params, _meta }, signal, request.paramHeaders);
    if (result["resultType"] === "task") return looked(noted(readTask(result)), judging);
    if (result["resultType"] === "input_required") return required(result, judging);
    return completed(result);
  }

  function noted(task: UpstreamTask): UpstreamTask {
    openTask = task.status === "working" || task.status === "input_required" ? task.taskId : undefined;
    return task;
  }

  void run();

  return {
    callId,
    give: questions.give,
    abandoned: () => questions.abandoned,
    isWaiting: () => questions.waiting() > 0,
    isNeeded: () => ended === undefined || (ended.type === "required" && ended.task !== undefined),
    isOver: () => ended !== undefined,
    async next(given, leading) {
      accessToken = leading.accessToken ?? accessToken;
      questions.give(given);
      ({ report } = leading);
      const { signal } = leading;
      const left = Promise.withResolvers<void>();
      const leave = () => left.resolve();
      signal.addEventListener("abort", leave, { once: true });
      try {
        for (;;) {
          if (signal.aborted) throw signal.reason;
          // The completion of a page arrives on another stream than the result and may be read after it.
          if (ended?.type === "result" && questions.pages() > 0) {
            const giveUpAtMs = Date.now() + PAGES_GRACE_MS;
            while (questions.pages() > 0 && Date.now() < giveUpAtMs && !signal.aborted) await sleep(PAGES_GRACE_MS / 10);
          }
          if (ended) return ended;
          if (questions.waiting() > 0) {
            // Questions that were sent together are asked together. A run that has not heard of an earlier one receives it again.
            await new Promise((resolve) => setImmediate(resolve));
            const open = questions.handOut();
            if (open.length === 0) continue;
            return { type: "asked", questions: open };
          }
          await Promise.race([happened, left.promise]);
        }
      } finally {
        signal.removeEventListener("abort", leave);
        report = undefined;
      }
    },
    async close({ continues = false } = {}) {
      if (ended?.type === "required" && ended.task && !continues) {
        return await cancelTask(ended.task.id, request, { ...deps, accessToken: currentToken });
      }
      if (ended?.type === "result") return;
      end({ type: "lost", message: "the gateway has ended the call" });
      await leaving;
      await release();
    },
  };
}

/** In characters of JSON; undefined if it is nested too deeply to be stored. */
function sizeOf(event: UpstreamEvent): number | undefined {
  try {
    const text = JSON.stringify(event);
    return jsonExceeds(text, { depthMax: STORED_DEPTH_MAX, valuesMax: Infinity }) === undefined ? text.length : undefined;
  } catch {
    // Parsing a message takes less of the stack than serializing it.
    return undefined;
  }
}

interface Cancelling extends Pick<CallDeps, "connector" | "elicitation"> {
  readonly accessToken: (() => string) | undefined;
}

/** Cancels the upstream's task, unless it has ended: the task that needed it is over. */
async function cancelTask(id: string, request: CallRequest, { connector, elicitation, accessToken }: Cancelling): Promise<void> {
  const { upstream, principal } = request;
  const signal = AbortSignal.timeout(upstream.connectTimeoutMs);
  try {
    if (isSessionTask(id)) return await connector.sessionTasks(upstream, accessToken).cancel(id, signal);
    const capabilities = mcpCapabilities(request, elicitation);
    const opened = await connector.open(upstream, { capabilities, signal, principal, accessToken });
    try {
      await opened.tasks?.cancel(id, signal);
    } finally {
      await opened.close();
    }
  } catch {
    // If the cancellation fails, the upstream's task ends with its ttl.
  }
}

function isUnauthorized(error: unknown): boolean {
  return (error instanceof SdkHttpError && error.status === 401) || error instanceof UnauthorizedError;
}

/** Whether the upstream has certainly not begun the call. Proxies also answer 502, 503 and 504 after they have passed a request on. */
function wasRefused(error: unknown): boolean {
  return wasNotTaken(error) || (error instanceof SdkHttpError && [401, 403, 429].includes(error.status ?? 0));
}

/** Whether another session may be taken by the upstream: it refused the session, or the request did not reach it. */
function wasNotTaken(error: unknown): boolean {
  if (error instanceof SdkHttpError) return error.status === 400 || error.status === 404;
  return (error as { cause?: { code?: unknown } }).cause?.code === "ECONNREFUSED";
}
