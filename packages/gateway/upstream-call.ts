/**
 * One call at an upstream, from its start to its end, with the questions in between.
 *
 *   next(given) ─▶ asked      the upstream asks and waits: give the answers, and call next again
 *               ─▶ required   nothing is held: start another call with the answers, or look at the upstream's task again later
 *               ─▶ result · error · timeout · invalid
 *
 * The run that leads a call comes and goes: it parks while people think, is taken over, or is replayed. So this is told everything that was
 * answered so far each time, and takes from it what is new (questions.ts).
 *
 * What an upstream may do is bounded: questions in all and at once, their size, and the time in which it neither asks nor ends.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, isInputRequiredResult, SdkHttpError, UnauthorizedError } from "@modelcontextprotocol/client";
import type { FeedItem, Json, JsonObject, Settings } from "@parley/core";
import { callParams, type CallRequest, elicited, mcpCapabilities, replied, responses } from "./call-request.ts";
import { completed, failure, type Judging, looked, required, withoutKind } from "./endings.ts";
import { createQuestions, type QuestionDeps } from "./questions.ts";
import { isSessionTask } from "./session-tasks.ts";
import type { Given, UpstreamEvent } from "./upstream-event.ts";
import type { UpstreamConnector, UpstreamSession } from "./upstream-session.ts";
import { MESSAGES_MAX, readTask, type TaskRequests } from "./upstream-tasks.ts";
import { wordFor } from "./word-for.ts";

export interface UpstreamCall {
  readonly callId: string;
  /** What happens next. Rejects only when `signal` is aborted: what happens then is told to the next who asks. */
  next(given: readonly Given[], leading: Leading): Promise<UpstreamEvent>;
  /** Hands answers on, and waits for nothing. */
  give(given: readonly Given[]): void;
  /** Keys of questions that were put and that the upstream does not wait for any more. */
  abandoned(): ReadonlySet<string>;
  /** Whether it waits for somebody's answer. */
  isWaiting(): boolean;
  /** Whether the upstream has to be told when nobody wants its result any more. */
  isNeeded(): boolean;
  /** Whether there is nothing left of it but what it came to. */
  isOver(): boolean;
  /** Tells the upstream to stop, and lets it go. With `continues` another call looks after the upstream's task. */
  close(options?: { readonly continues?: boolean }): Promise<void>;
}

export interface Leading {
  /** The caller's access token, as good as it is now: a held call may be older than the one that it was made with. */
  readonly accessToken?: string | undefined;
  readonly signal: AbortSignal;
  readonly report: (item: FeedItem) => void;
}

export interface CallDeps extends QuestionDeps {
  readonly connector: UpstreamConnector;
  readonly settings: QuestionDeps["settings"] & Pick<Settings, "storedValueMax">;
  /** For what nobody waits for. At once, unless said otherwise. */
  readonly whenQuiet?: (work: () => Promise<void>) => void;
}

/** The longest timer there is: how long a call may take is counted here, not by the client, which counts the time of people too. */
const NEVER_MS = 2_147_483_647;
/** How often an upstream that waits for a person is told so, if it gave a token to tell it by. */
const PROGRESS_EVERY_MS = 10_000;
const CUT_GRACE_MS = 250;
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
    // An upstream that has answered is told nothing that it waits for; a session that is used again is there at once.
    if (event.type === "result" && !upstream.reusesSessions) whenQuiet(release);
    else void release();
  }

  /** A task keeps what happened. */
  function kept(event: UpstreamEvent): UpstreamEvent {
    const size = JSON.stringify(event).length;
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

  /** The upstream's own time: it runs while nobody else is to do anything. */
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

  function prepare(client: Client): void {
    const { elicitation: mayElicit, sampling, roots } = request.capabilities;
    if (mayElicit && elicitation.isEnabled) {
      client.setRequestHandler("elicitation/create", async ({ params }, { mcpReq }) => {
        const stopTelling = tellProgress(client, mcpReq._meta?.progressToken);
        try {
          return elicited(await questions.ask(mcpReq.id, "elicitation/create", params, mcpReq.signal));
        } finally {
          stopTelling();
        }
      });
    }
    if (sampling && elicitation.isEnabled) {
      client.setRequestHandler(
        "sampling/createMessage",
        async ({ params }, { mcpReq }) => replied(await questions.ask(mcpReq.id, "sampling/createMessage", params, mcpReq.signal)) as never,
      );
    }
    if (roots && elicitation.isEnabled) {
      client.setRequestHandler(
        "roots/list",
        async ({ params }, { mcpReq }) => replied(await questions.ask(mcpReq.id, "roots/list", params, mcpReq.signal)) as never,
      );
    }
    client.setNotificationHandler("notifications/elicitation/complete", ({ params: { elicitationId } }) => {
      const key = questions.visited(elicitationId);
      if (key !== undefined) report?.({ type: "visited", key });
    });
    client.setNotificationHandler("notifications/message", ({ params: { level, data, logger } }) => {
      report?.({ type: "log", level, data: (data ?? null) as Json, ...(logger !== undefined && { logger }) });
    });
  }

  async function run(isFresh = false): Promise<void> {
    if (request.round?.task && isSessionTask(request.round.task.id)) return await look();
    let opened: UpstreamSession;
    try {
      opened = await deps.connector.open(upstream, {
        capabilities: mcpCapabilities(request, elicitation),
        prepare,
        signal: stop.signal,
        isFresh,
        principal: request.principal,
        accessToken: currentToken,
        owner: {
          onNotification: told,
          onFlood: () => end({ type: "invalid", message: `sent more than ${MESSAGES_MAX} messages in one call` }),
          // A result that came just before the end is on its way through the client.
          onCut: (message) => setTimeout(() => end({ type: "lost", message }), CUT_GRACE_MS),
        },
      });
    } catch (error) {
      return end(refusedToken(error) ?? { type: "unavailable", message: `cannot be reached (${wordFor(error)})` });
    }
    if (ended) return void opened.close();
    session = opened;
    const isPrepared = opened.isPrepared === true;
    opened.client.onclose = () => {
      if (session === opened) end({ type: "lost", message: "the connection to the upstream ended before its result" });
    };
    clock();
    try {
      if (opened.tasks && request.kind === "tool" && (opened.isStateless || request.asTask)) return end(await followed(opened.tasks));
      const { client } = opened;
      const options = {
        timeout: NEVER_MS,
        signal: stop.signal,
        allowInputRequired: true,
        onprogress: (progress: unknown) => told("notifications/progress", progress),
      } as const;
      const params = callParams(request) as never;
      const result = await (request.kind === "tool" ? client.callTool(params, options) : client.getPrompt(params, options));
      end(isInputRequiredResult(result) ? required(result, judging) : { type: "result", result: withoutKind(result) });
    } catch (error) {
      if (!isPrepared || ended || questions.asked() > 0 || !wasNotTaken(error)) return end(refusedToken(error) ?? failure(error, judging));
      session = undefined;
      void opened.close();
      await run(true);
    }
  }

  async function look(): Promise<void> {
    clock();
    try {
      end(await followed(deps.connector.sessionTasks(upstream, currentToken)));
    } catch (error) {
      end(refusedToken(error) ?? failure(error, judging));
    }
  }

  /** Authentication comes before anything else, so a call that is refused for its token was not begun. */
  function refusedToken(error: unknown): UpstreamEvent | undefined {
    return currentToken && questions.asked() === 0 && isUnauthorized(error) ? { type: "unauthorized" } : undefined;
  }

  function told(method: string, params: unknown): void {
    if (method !== "notifications/progress") return;
    const { progress, total, message } = (params ?? {}) as { progress?: unknown; total?: unknown; message?: unknown };
    if (typeof progress !== "number") return;
    report?.({
      type: "progress",
      progress,
      ...(typeof total === "number" && { total }),
      ...(typeof message === "string" && { message }),
    });
  }

  /** A call of an upstream that may answer with a task, or a look at that task, with the answers to what it asked. */
  async function followed(tasks: TaskRequests): Promise<UpstreamEvent> {
    const { signal } = stop;
    const { round } = request;
    if (round?.task) {
      const { id } = round.task;
      if (Object.keys(round.responses).length > 0) await tasks.update(id, responses(round.responses), signal);
      return looked(await tasks.get(id, signal), judging);
    }
    const params = callParams(request) as JsonObject;
    const result = await tasks.call({ ...params, _meta: { ...(params["_meta"] as object | undefined), progressToken: callId } }, signal);
    if (result["resultType"] === "task") return looked(readTask(result), judging);
    if (result["resultType"] === "input_required") return required(result, judging);
    return completed(result);
  }

  function tellProgress(client: Client, progressToken: string | number | undefined): () => void {
    if (progressToken === undefined) return () => undefined;
    let progress = 0;
    const timer = setInterval(() => {
      progress += 1;
      client.notification({ method: "notifications/progress", params: { progressToken, progress } }).catch(() => undefined);
    }, PROGRESS_EVERY_MS);
    return () => clearInterval(timer);
  }

  /** The run's task has ended, and so that of the upstream has no purpose any more, if it has not ended itself. */
  async function cancelTask(id: string): Promise<void> {
    const signal = AbortSignal.timeout(upstream.connectTimeoutMs);
    try {
      if (isSessionTask(id)) return await deps.connector.sessionTasks(upstream, currentToken).cancel(id, signal);
      const capabilities = mcpCapabilities(request, elicitation);
      const opened = await deps.connector.open(upstream, { capabilities, signal, accessToken: currentToken });
      await opened.tasks?.cancel(id, signal);
    } catch {
      // It ends there by itself.
    }
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
          // That a page was visited is said on another stream than the result, and may be read after it.
          if (ended?.type === "result" && questions.pages() > 0) {
            const giveUpAtMs = Date.now() + PAGES_GRACE_MS;
            while (questions.pages() > 0 && Date.now() < giveUpAtMs && !signal.aborted) await sleep(PAGES_GRACE_MS / 10);
          }
          if (ended) return ended;
          if (questions.waiting() > 0) {
            // Questions that were sent together are put together. One that was put already is told again to a run that has not heard of it.
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
      if (ended?.type === "required" && ended.task && !continues) return await cancelTask(ended.task.id);
      if (ended?.type === "result") return;
      end({ type: "lost", message: "the gateway has ended the call" });
      await release();
    },
  };
}

function isUnauthorized(error: unknown): boolean {
  return (error instanceof SdkHttpError && error.status === 401) || error instanceof UnauthorizedError;
}

/** Whether the upstream has certainly not begun the call: it refused the session, or nobody was there to take the request. */
function wasNotTaken(error: unknown): boolean {
  if (error instanceof SdkHttpError) return error.status === 400 || error.status === 404;
  return (error as { cause?: { code?: unknown } }).cause?.code === "ECONNREFUSED";
}
