/**
 * One call at an upstream, from its start to its end, with the questions in between.
 *
 *   next(given) ─▶ asked      the upstream asks and waits: give the answers, and call next again
 *               ─▶ required   nothing is held: start another call with the answers, or look at the upstream's task again later
 *               ─▶ result · error · timeout · invalid
 *
 * The run that leads a call comes and goes: it parks while people think, is taken over, or is replayed. So this is told everything that was
 * answered so far each time, and takes from it what is new: giving an answer twice is giving it once. An answer reaches the question that it
 * was given to, by its id; in a call that repeats a lost one it reaches a question of the same digest (I4), once.
 *
 * What an upstream may do is bounded: questions in all and at once, their size, and the time in which it neither asks nor ends.
 */
import { randomUUID } from "node:crypto";
import {
  type Client,
  type ClientCapabilities as McpCapabilities,
  type ElicitResult,
  isInputRequiredResult,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
} from "@modelcontextprotocol/client";
import type { Answer, AskRequest, ClientCapabilities, FeedItem, Json, JsonObject, Settings } from "@parley/core";
import type { Gate } from "./gate.ts";
import { digestOf, NOT_SUPPORTED, type QuestionMethod, readQuestion, REFUSED } from "./question.ts";
import type { ElicitationSettings } from "./settings.ts";
import type { UpstreamConnector, UpstreamSession } from "./upstream-session.ts";
import { readTask, type TaskRequests, type UpstreamTask } from "./upstream-tasks.ts";
import type { Upstream } from "./upstreams.ts";
import { wordFor } from "./word-for.ts";

/** A question on its way to the task, as its journal keeps it. */
export interface Question {
  /** Of the ask: unique in the task. */
  readonly key: string;
  /** Of the call that asks, and of the question in it. */
  readonly from: string;
  readonly id: string;
  readonly digest: string;
  readonly request: AskRequest;
  readonly timeoutMs: number;
}

export interface Given {
  readonly question: Question;
  readonly answer: Answer;
}

export type UpstreamEvent =
  | { readonly type: "asked"; readonly questions: readonly Question[] }
  /** `state` is the upstream's own, to be sent back as it is; with `refused` the call was none, and is made anew (−32042). */
  | {
      readonly type: "required";
      readonly questions: readonly Question[];
      readonly state?: string;
      readonly refused?: UpstreamFailure;
      readonly task?: FollowedTask;
    }
  | { readonly type: "result"; readonly result: JsonObject }
  | { readonly type: "error"; readonly error: UpstreamFailure }
  | { readonly type: "lost" | "unavailable" | "timeout" | "invalid" | "large" | "busy"; readonly message: string };

/** A task of the upstream: it is looked at again with the answers, or when `pollMs` are over. */
export interface FollowedTask {
  readonly id: string;
  readonly pollMs: number;
}

/** A JSON-RPC error of the upstream, as it came. */
export interface UpstreamFailure {
  readonly code: number;
  readonly message: string;
  readonly data?: Json;
}

export interface CallRequest {
  readonly upstream: Upstream;
  readonly kind: "tool" | "prompt";
  /** As the upstream names it. */
  readonly tool: string;
  readonly args: JsonObject;
  readonly principal: string;
  /** What can be asked in this call, and so what the upstream is told. */
  readonly capabilities: ClientCapabilities;
  readonly traceparent?: string;
  readonly questionTimeoutMs: number;
  /** Questions of this task before this call. */
  readonly askedBefore: number;
  /** Answers to a call that was lost, for the same questions of this one. */
  readonly given: readonly Given[];
  /** With the answers to what a call required. */
  readonly round?: Round;
}

export interface Round {
  readonly state?: string;
  readonly responses: Readonly<Record<string, Answer>>;
  /** The upstream's task to look at; its questions by those ids have been asked. */
  readonly task?: { readonly id: string; readonly asked: readonly string[] };
}

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
  readonly signal: AbortSignal;
  readonly report: (item: FeedItem) => void;
}

export interface CallDeps {
  readonly connector: UpstreamConnector;
  readonly elicitation: ElicitationSettings;
  readonly settings: Pick<Settings, "askUrlSchemes" | "secretNames" | "storedValueMax">;
  /** Open questions of this process, and of one caller. */
  readonly open: Gate;
  readonly openOf: (principal: string) => Gate;
  /** Each question, by what became of it. */
  readonly count: (question: CountedQuestion) => void;
  /** A question that was put is not waited for any more. */
  readonly onAbandoned: () => void;
}

export interface CountedQuestion {
  readonly upstream: string;
  readonly kind: AskRequest["type"];
  readonly outcome: Answer["action"] | "refused";
}

interface Waiting {
  readonly question: Question;
  isHanded: boolean;
  settle(answer: Answer): void;
}

/** The longest timer there is: how long a call may take is counted here, not by the client, which counts the time of people too. */
const NEVER_MS = 2_147_483_647;
/** How often an upstream that waits for a person is told so, if it gave a token to tell it by. */
const PROGRESS_EVERY_MS = 10_000;
const CUT_GRACE_MS = 250;
const URL_REQUIRED = -32042;
/** When a task of an upstream is looked at again: what the upstream says, else this; never sooner than the least. */
const POLL_MS = 1_000;
const POLL_MIN_MS = 100;
const NO_REASON: UpstreamFailure = { code: -32603, message: "the task of the upstream failed" };

export function startCall(callId: string, request: CallRequest, deps: CallDeps): UpstreamCall {
  const { upstream, principal, questionTimeoutMs } = request;
  const { elicitation, settings } = deps;
  const incarnation = randomUUID();
  const stop = new AbortController();
  const waiting = new Map<string, Waiting>();
  const abandoned = new Set<string>();
  const taken = new Set<Given>();
  let known: readonly Given[] = request.given;
  let asked = 0;
  let ended: UpstreamEvent | undefined;
  let report: Leading["report"] | undefined;
  let session: UpstreamSession | undefined;
  let working: NodeJS.Timeout | undefined;
  let { promise: happened, resolve: happens } = Promise.withResolvers<void>();

  function wake(): void {
    happens();
    ({ promise: happened, resolve: happens } = Promise.withResolvers<void>());
  }

  function end(event: UpstreamEvent): void {
    if (ended) return;
    ended = kept(event);
    clearTimeout(working);
    for (const [id] of waiting) abandon(id);
    wake();
    void release();
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
    await open?.close();
  }

  /** The upstream's own time: it runs while nobody else is to do anything. */
  function clock(): void {
    clearTimeout(working);
    if (ended || waiting.size > 0) return;
    working = setTimeout(
      () => end({ type: "timeout", message: `neither asked nor ended within ${upstream.callTimeoutMs} ms` }),
      upstream.callTimeoutMs,
    );
  }

  function abandon(id: string): void {
    const one = waiting.get(id);
    if (!one) return;
    waiting.delete(id);
    one.settle({ action: "withdrawn" });
    if (one.isHanded) {
      abandoned.add(one.question.key);
      deps.onAbandoned();
    }
  }

  // ── questions ──────────────────────────────────────────────────────────────────────────────────────────────────

  function newQuestion(ask: AskRequest): Question {
    asked += 1;
    const key = `question-${request.askedBefore + asked}`;
    return { key, from: incarnation, id: String(asked), digest: digestOf(ask), request: ask, timeoutMs: questionTimeoutMs };
  }

  const requestIds = new Set<string>();

  /** Answers are sent by the id of their question: of two open ones with one id neither could be answered for certain. */
  async function askById(id: string | number, method: QuestionMethod, params: unknown, signal: AbortSignal): Promise<Answer> {
    const requestId = JSON.stringify(id);
    if (requestIds.has(requestId)) {
      end({ type: "invalid", message: "asked two questions with one id, so that their answers cannot be told apart" });
    }
    requestIds.add(requestId);
    try {
      return await ask(method, params, signal);
    } finally {
      requestIds.delete(requestId);
    }
  }

  /** Judged, counted, put, and answered: what becomes of a request of the upstream. Throws ProtocolError, which is the answer. */
  async function ask(method: QuestionMethod, params: unknown, signal: AbortSignal): Promise<Answer> {
    if (ended || stop.signal.aborted) throw new ProtocolError(REFUSED, "the call has ended");
    const question = admit(method, params);
    const replayed = takeRecorded(question.digest);
    if (replayed) return replayed;
    const leaves = enter(() => countRefused(method, params));
    const { promise, resolve } = Promise.withResolvers<Answer>();
    waiting.set(question.id, { question, isHanded: false, settle: resolve });
    const withdraw = () => abandon(question.id);
    signal.addEventListener("abort", withdraw, { once: true });
    if (signal.aborted) withdraw();
    clock();
    wake();
    try {
      const answer = await promise;
      deps.count({ upstream: upstream.name, kind: question.request.type, outcome: answer.action });
      return answer;
    } finally {
      signal.removeEventListener("abort", withdraw);
      leaves();
      clock();
    }
  }

  function countRefused(method: QuestionMethod, params: unknown): void {
    const mode = method === "elicitation/create" && (params as { mode?: unknown } | undefined)?.mode === "url" ? "url" : "form";
    const kind = method === "roots/list" ? "roots" : method === "sampling/createMessage" ? "sampling" : mode;
    deps.count({ upstream: upstream.name, kind, outcome: "refused" });
  }

  function admit(method: QuestionMethod, params: unknown): Question {
    const refused = (code: number, message: string) => {
      countRefused(method, params);
      return new ProtocolError(code, message);
    };
    if (!elicitation.isEnabled) throw refused(NOT_SUPPORTED, "the gateway does not pass questions on (PARLEY_ELICITATION)");
    // A call that is made again asks again; one that continues keeps its questions.
    if (asked + (request.round ? request.askedBefore : 0) >= elicitation.callMax) {
      throw refused(REFUSED, `a call may ask ${elicitation.callMax} questions (PARLEY_ELICITATIONS_CALL_MAX)`);
    }
    try {
      return newQuestion(readQuestion(method, params, settings));
    } catch (error) {
      countRefused(method, params);
      throw error;
    }
  }

  function enter(isFull: () => void): () => void {
    const leaveOwn = deps.openOf(principal).enter();
    const leave = leaveOwn && deps.open.enter();
    if (leave && leaveOwn) {
      return () => {
        leave();
        leaveOwn();
      };
    }
    leaveOwn?.();
    isFull();
    throw new ProtocolError(REFUSED, "too many questions are open (PARLEY_ELICITATIONS_MAX, PARLEY_ELICITATIONS_PRINCIPAL_MAX)", {
      retryAfterMs: 1_000,
    });
  }

  /** An answer that was given to a call before this one, to the same question. */
  function takeRecorded(digest: string): Answer | undefined {
    const one = known.find((given) => given.question.from !== incarnation && given.question.digest === digest && !taken.has(given));
    if (!one || one.answer.action === "withdrawn") return undefined;
    taken.add(one);
    return one.answer;
  }

  function give(given: readonly Given[]): void {
    known = given;
    for (const { question, answer } of given) {
      const one = question.from === incarnation ? waiting.get(question.id) : undefined;
      if (!one) continue;
      waiting.delete(question.id);
      one.settle(answer);
    }
  }

  // ── the call ───────────────────────────────────────────────────────────────────────────────────────────────────

  function prepare(client: Client): void {
    const { elicitation: mayElicit, sampling, roots } = request.capabilities;
    if (mayElicit && elicitation.isEnabled) {
      client.setRequestHandler("elicitation/create", async ({ params }, { mcpReq }) => {
        const stopTelling = tellProgress(client, mcpReq._meta?.progressToken);
        try {
          return elicited(await askById(mcpReq.id, "elicitation/create", params, mcpReq.signal));
        } finally {
          stopTelling();
        }
      });
    }
    if (sampling && elicitation.isEnabled) {
      client.setRequestHandler(
        "sampling/createMessage",
        async ({ params }, { mcpReq }) => replied(await askById(mcpReq.id, "sampling/createMessage", params, mcpReq.signal)) as never,
      );
    }
    if (roots && elicitation.isEnabled) {
      client.setRequestHandler(
        "roots/list",
        async ({ params }, { mcpReq }) => replied(await askById(mcpReq.id, "roots/list", params, mcpReq.signal)) as never,
      );
    }
    client.setNotificationHandler("notifications/message", ({ params: { level, data, logger } }) => {
      report?.({ type: "log", level, data: (data ?? null) as Json, ...(logger !== undefined && { logger }) });
    });
  }

  async function run(isFresh = false): Promise<void> {
    let opened: UpstreamSession;
    try {
      opened = await deps.connector.open(upstream, {
        capabilities: mcpCapabilities(request, elicitation),
        prepare,
        signal: stop.signal,
        isFresh,
        onNotification: told,
        // A result that came just before the end is on its way through the client.
        onCallCut: () =>
          setTimeout(() => end({ type: "lost", message: "the upstream ended the stream of the call before its result" }), CUT_GRACE_MS),
      });
    } catch (error) {
      return end({ type: "unavailable", message: `cannot be reached (${wordFor(error)})` });
    }
    if (ended) return void opened.close();
    session = opened;
    const isPrepared = opened.isPrepared === true;
    opened.client.onclose = () => {
      if (session === opened) end({ type: "lost", message: "the connection to the upstream ended before its result" });
    };
    clock();
    try {
      if (opened.tasks && request.kind === "tool") return end(await followed(opened.tasks));
      const { client } = opened;
      const options = {
        timeout: NEVER_MS,
        signal: stop.signal,
        allowInputRequired: true,
        onprogress: (progress: unknown) => told("notifications/progress", progress),
      } as const;
      const params = callParams(request) as never;
      const result = await (request.kind === "tool" ? client.callTool(params, options) : client.getPrompt(params, options));
      end(isInputRequiredResult(result) ? required(result) : { type: "result", result: withoutKind(result) });
    } catch (error) {
      if (!isPrepared || ended || asked > 0 || !wasNotTaken(error)) return end(failure(error));
      session = undefined;
      void opened.close();
      await run(true);
    }
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
      return looked(await tasks.get(id, signal));
    }
    const params = callParams(request) as JsonObject;
    const result = await tasks.call({ ...params, _meta: { ...(params["_meta"] as object | undefined), progressToken: callId } }, signal);
    if (result["resultType"] === "task") return looked(readTask(result));
    if (result["resultType"] === "input_required") return required(result);
    return completed(result);
  }

  function looked({ taskId, status, pollIntervalMs = POLL_MS, inputRequests, result, error }: UpstreamTask): UpstreamEvent {
    switch (status) {
      case "completed":
        return completed(result ?? {});
      case "failed":
        return { type: "error", error: error ? failureOf(new ProtocolError(error.code, error.message, error.data)) : NO_REASON };
      case "cancelled":
        return { type: "error", error: { code: REFUSED, message: "the upstream has cancelled its task" } };
      case "working":
      case "input_required": {
        const isNew = ([key]: [string, unknown]) => request.round?.task?.asked.includes(key) !== true;
        const event = required({ inputRequests: Object.fromEntries(Object.entries(inputRequests ?? {}).filter(isNew)) });
        return event.type === "required" ? { ...event, task: { id: taskId, pollMs: Math.max(pollIntervalMs, POLL_MIN_MS) } } : event;
      }
    }
  }

  /** The client, which judges other results, has not seen it. */
  function completed(result: object): UpstreamEvent {
    const { content } = result as { content?: unknown };
    const isResult = Array.isArray(content) && content.every((block) => typeof (block as { type?: unknown } | null)?.type === "string");
    return isResult
      ? { type: "result", result: withoutKind(result) }
      : { type: "invalid", message: "answered with a result that MCP does not allow" };
  }

  /** Questions of an upstream that holds nothing, judged as all others are. */
  function required({ inputRequests = {}, requestState }: { inputRequests?: unknown; requestState?: unknown }): UpstreamEvent {
    try {
      const questions = Object.entries(inputRequests as Record<string, { method: QuestionMethod; params?: unknown }>).map(
        ([id, { method, params }]) => ({
          ...admit(method, params),
          id,
        }),
      );
      return { type: "required", questions, ...(typeof requestState === "string" && { state: requestState }) };
    } catch (error) {
      return { type: "invalid", message: error instanceof Error ? error.message : "its questions cannot be read" };
    }
  }

  /** The upstream wants people to visit pages first, and has done nothing yet. */
  function urlsRequired(error: ProtocolError): UpstreamEvent | undefined {
    const { elicitations } = (error.data ?? {}) as { elicitations?: unknown };
    if (error.code !== URL_REQUIRED || !Array.isArray(elicitations) || request.capabilities.elicitation?.url !== true) return undefined;
    try {
      const questions = elicitations.map((params: object) => admit("elicitation/create", { ...params, mode: "url" }));
      return { type: "required", questions, refused: failureOf(error) };
    } catch {
      return undefined;
    }
  }

  function failure(error: unknown): UpstreamEvent {
    if (error instanceof ProtocolError) return urlsRequired(error) ?? { type: "error", error: failureOf(error) };
    if (error instanceof SdkError && error.code === SdkErrorCode.InvalidResult) {
      return { type: "invalid", message: "answered with a result that MCP does not allow" };
    }
    return { type: "lost", message: `the call did not come to its result (${wordFor(error)})` };
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
      const opened = await deps.connector.open(upstream, { capabilities: mcpCapabilities(request, elicitation), signal });
      await opened.tasks?.cancel(id, signal);
    } catch {
      // It ends there by itself.
    }
  }

  void run();

  return {
    callId,
    give,
    abandoned: () => abandoned,
    isWaiting: () => waiting.size > 0,
    isNeeded: () => ended === undefined || (ended.type === "required" && ended.task !== undefined),
    isOver: () => ended !== undefined,
    async next(given, leading) {
      give(given);
      ({ report } = leading);
      const { signal } = leading;
      const left = Promise.withResolvers<void>();
      const leave = () => left.resolve();
      signal.addEventListener("abort", leave, { once: true });
      try {
        for (;;) {
          if (signal.aborted) throw signal.reason;
          if (ended) return ended;
          if (waiting.size > 0) {
            // Questions that were sent together are put together. One that was put already is told again to a run that has not heard of it.
            await new Promise((resolve) => setImmediate(resolve));
            const open = [...waiting.values()];
            if (open.length === 0) continue;
            for (const one of open) one.isHanded = true;
            return { type: "asked", questions: open.map(({ question }) => question) };
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
      end({ type: "lost", message: "the gateway has ended the call" });
      await release();
    },
  };
}

/** What is sent to the upstream of an answer. A timeout is an error, as nobody has said anything. */
function elicited(answer: Answer): ElicitResult {
  switch (answer.action) {
    case "accept":
      return { action: "accept", ...(answer.content && { content: answer.content as NonNullable<ElicitResult["content"]> }) };
    case "decline":
    case "cancel":
      return { action: answer.action };
    case "timeout":
      throw new ProtocolError(REFUSED, "nobody answered in time (PARLEY_ELICITATION_TIMEOUT)", { reason: "timeout" });
    case "unavailable":
      throw new ProtocolError(NOT_SUPPORTED, "the caller cannot be asked this, and nobody else can", { reason: "unavailable" });
    case "withdrawn":
    case "reply":
      throw new ProtocolError(REFUSED, "the question is not waited for any more", { reason: "withdrawn" });
  }
}

function replied(answer: Answer): JsonObject {
  if (answer.action === "reply") return answer.result;
  if (answer.action === "timeout")
    throw new ProtocolError(REFUSED, "nobody answered in time (PARLEY_ELICITATION_TIMEOUT)", { reason: "timeout" });
  throw new ProtocolError(REFUSED, `the caller did not answer (${answer.action})`, { reason: answer.action });
}

function callParams({ tool, args, traceparent, round }: CallRequest): object {
  const _meta = traceparent === undefined ? undefined : { traceparent };
  return {
    name: tool,
    arguments: args,
    ...(_meta && { _meta }),
    ...(round?.state !== undefined && { requestState: round.state }),
    ...(round && Object.keys(round.responses).length > 0 && { inputResponses: responses(round.responses) }),
  };
}

/** What nobody answered is cancelled here: a response has no other word for it. */
function responses(answers: Readonly<Record<string, Answer>>): object {
  return Object.fromEntries(
    Object.entries(answers).map(([id, answer]) => {
      if (answer.action === "reply") return [id, answer.result];
      if (answer.action === "accept" || answer.action === "decline") return [id, elicited(answer)];
      return [id, { action: "cancel" }];
    }),
  );
}

function mcpCapabilities(
  { capabilities: { elicitation, sampling, roots } }: CallRequest,
  { isEnabled }: ElicitationSettings,
): McpCapabilities {
  if (!isEnabled) return {};
  return {
    ...(elicitation && { elicitation: { ...(elicitation.form && { form: {} }), ...(elicitation.url && { url: {} }) } }),
    ...(sampling && { sampling: sampling.tools ? { tools: {} } : {} }),
    ...(roots && { roots: {} }),
  };
}

function withoutKind(result: object): JsonObject {
  const { resultType: _, ...rest } = result as JsonObject;
  return rest;
}

function failureOf({ code, message, data }: ProtocolError): UpstreamFailure {
  return { code, message, ...(data !== undefined && { data: data as Json }) };
}

/** Whether the upstream has certainly not begun the call: it refused the session, or nobody was there to take the request. */
function wasNotTaken(error: unknown): boolean {
  if (error instanceof SdkHttpError) return error.status === 400 || error.status === 404;
  return (error as { cause?: { code?: unknown } }).cause?.code === "ECONNREFUSED";
}
