/**
 * Sends a call to its upstream, or polls the upstream's task, and resolves to what ends it.
 *
 *   a session ─▶ the call is sent in it ─▶ result · error · required …
 *      ▲                    └▶ a session that was opened in advance, and that the upstream has forgotten
 *      └── another session ──────┘
 */
import { isInputRequiredResult, SdkHttpError } from "@modelcontextprotocol/client";
import type { FeedItem, JsonObject } from "@parley/core";
import { withBodyError } from "../wire/body-error.ts";
import { NoAccess } from "../wire/no-access.ts";
import { callParams, type CallRequest, mcpCapabilities, responses } from "../wire/call-request.ts";
import { completed, failure, type Judging, looked, required, withoutKind } from "./endings.ts";
import { answerOpening } from "./opening-requests.ts";
import type { Questions } from "./questions.ts";
import { receive, reportNotification, reportProgress, type Waits } from "./receive.ts";
import { isUnauthorized } from "../connection/sent-answers.ts";
import { isSessionTask } from "../connection/session-tasks.ts";
import { StateLost, stateKeyOf } from "../connection/kept-sessions.ts";
import { SessionBusy } from "../connection/session-busy.ts";
import type { ElicitationSettings } from "../config/settings.ts";
import { requiresOnly, type UpstreamEvent } from "../wire/upstream-event.ts";
import type { UpstreamConnector, UpstreamSession } from "../connection/upstream-session.ts";
import { ALL_LOGS, readTask, type TaskRequests, type UpstreamTask } from "../connection/upstream-tasks.ts";
import { describeFailure } from "../wire/describe-failure.ts";

export interface SendCall {
  readonly callId: string;
  readonly request: CallRequest;
  readonly connector: UpstreamConnector;
  readonly elicitation: ElicitationSettings;
  readonly questions: Questions;
  /** Returns the caller's current access token for the upstream. */
  readonly accessToken: (() => string) | undefined;
  /** Aborted when the call has ended. */
  readonly signal: AbortSignal;
  readonly report: (item: FeedItem) => void;
  readonly onWaits: (waits: Waits) => void;
  /** Ends the call before its request has ended. */
  readonly end: (event: UpstreamEvent) => void;
  readonly isOver: () => boolean;
  /** The session in which the call is made; undefined if it is made again in another one. */
  readonly onSession: (session: UpstreamSession | undefined) => void;
  /** How long it has waited for people in this call. */
  readonly waitedMs: () => number;
  /** The upstream's time begins. */
  readonly onSent: () => void;
  /** A question that may be the call's was dropped: the upstream sends it to all of its sessions. */
  readonly onDropped: () => void;
  /** An answer was refused for the access token. Resolves when `accessToken` returns another one. */
  readonly onUnauthorized: () => Promise<void>;
  /** The upstream's task for the call; undefined if it has ended. */
  readonly onTask: (id: string | undefined) => void;
}

/** The longest timer of JavaScript. The duration of a call is measured in upstream-call.ts; the MCP client would count the time that people take as well. */
const NEVER_MS = 2_147_483_647;
/** A result that arrived just before the end of the stream may still be on its way through the client. */
const CUT_GRACE_MS = 250;

/** Never rejects. */
export async function sendCall(sending: SendCall): Promise<UpstreamEvent> {
  const { task } = sending.request.round ?? {};
  const event = await (task && isSessionTask(task.id) ? pollSessionTask(sending) : sendInSession(sending));
  return await withinRate(event, sending);
}

async function pollSessionTask(sending: SendCall): Promise<UpstreamEvent> {
  const { request, connector, accessToken, onSent } = sending;
  onSent();
  try {
    const onNotification = (method: string, params: unknown) => reportNotification(method, params, sending);
    return await followTask(connector.sessionTasks(request.upstream, accessToken, onNotification), sending);
  } catch (error) {
    return refusedToken(error, sending) ?? failure(error, judging(sending));
  }
}

async function sendInSession(sending: SendCall, isFresh = false): Promise<UpstreamEvent> {
  const { request, connector, questions, isOver, onSession, onSent } = sending;
  let session: UpstreamSession;
  try {
    session = await openSession(sending, isFresh);
  } catch (error) {
    if (error instanceof StateLost) return { type: "forgotten", message: error.message, state: error.state };
    if (error instanceof SessionBusy) return { type: "busy", message: error.message };
    return refusedToken(error, sending) ?? { type: "unavailable", message: `cannot be reached: ${describeFailure(error)}` };
  }
  if (isOver()) {
    void session.close();
    return { type: "lost", message: "the call ended before it was sent" };
  }
  onSession(session);
  const replaced = cannotContinue(session, request);
  if (replaced) {
    // The next poll finds out what is spoken by then.
    connector.forget(request.upstream);
    return replaced;
  }
  await answerOpening(session, sending);
  if (isOver()) return { type: "lost", message: "the call ended before it was sent" };
  const askedBefore = questions.asked();
  onSent();
  try {
    const { tasks, isStateless } = session;
    const mayBecomeTask = tasks && request.kind === "tool" && (isStateless || request.asTask);
    return await (mayBecomeTask ? followTask(tasks, sending) : resultOf(session, sending));
  } catch (thrown) {
    // First: an upstream that answers the call has taken it.
    const error = withBodyError(thrown);
    const hasAsked = questions.asked() > askedBefore;
    if (session.state && !hasAsked && !isOver() && wasNotTaken(error))
      return { type: "forgotten", message: "its server no longer has the session", state: session.state };
    if (!session.isPrepared || isOver() || hasAsked || !wasNotTaken(error))
      return (hasAsked ? undefined : (refusedToken(error, sending) ?? refusedCall(error, sending))) ?? failure(error, judging(sending));
    onSession(undefined);
    void session.close();
    return await sendInSession(sending, true);
  }
}

async function openSession(sending: SendCall, isFresh: boolean): Promise<UpstreamSession> {
  const { request, connector, elicitation, questions, accessToken, signal, report, end } = sending;
  const capabilities = elicitation.isEnabled ? request.capabilities : undefined;
  return await connector.open(request.upstream, {
    capabilities: mcpCapabilities(request, elicitation),
    prepare: (client, isMute) => receive(client, { questions, report, capabilities: isMute ? {} : capabilities }),
    signal,
    isFresh,
    principal: request.principal,
    ...(request.session !== undefined && { session: request.session }),
    stateKey: stateKeyOf(request.upstream, request),
    accessToken,
    owner: {
      onNotification: (method, params) => reportNotification(method, params, sending),
      onDropped: sending.onDropped,
      isAsking: () => questions.waiting() > 0,
      onUnauthorized: accessToken && sending.onUnauthorized,
      onFlood: (sent) => end({ type: "invalid", message: `sent ${sent}` }),
      onCut: (message) => setTimeout(() => end({ type: "lost", message }), CUT_GRACE_MS),
    },
  });
}

async function resultOf({ client, isStateless }: UpstreamSession, sending: SendCall): Promise<UpstreamEvent> {
  const { request, signal, report, onWaits } = sending;
  const options = {
    timeout: NEVER_MS,
    signal,
    allowInputRequired: true,
    ...(isStateless && { headers: request.paramHeaders ?? {} }),
    onprogress: (progress: unknown) => reportProgress(progress, { report, onWaits }),
  } as const;
  const params = callParams(request, isStateless ? ALL_LOGS : {}) as never;
  const result = await (request.kind === "tool" ? client.callTool(params, options) : client.getPrompt(params, options));
  return isInputRequiredResult(result) ? required(result, judging(sending)) : { type: "result", result: withoutKind(result) };
}

/** A call of an upstream that may answer with a task, or a poll of that task, with the answers to its questions. */
async function followTask(tasks: TaskRequests, sending: SendCall): Promise<UpstreamEvent> {
  const { callId, request, signal, onTask } = sending;
  const { round, paramHeaders } = request;
  const noted = (task: UpstreamTask) => {
    onTask(task.status === "working" || task.status === "input_required" ? task.taskId : undefined);
    return looked(task, judging(sending));
  };
  if (round?.task) {
    const { id } = round.task;
    if (Object.keys(round.responses).length > 0) await tasks.update(id, responses(round.responses), signal);
    return noted(await tasks.get(id, signal));
  }
  const params = callParams(request, { progressToken: callId }) as JsonObject;
  const result = await tasks.call(params, signal, paramHeaders);
  if (result["resultType"] === "task") return noted(begun(readTask(result)));
  if (result["resultType"] === "input_required") return required(result, judging(sending));
  return completed(result);
}

/** A quick task may have ended in the reply that names it, which has no room for what came of it: the first poll reads that. */
function begun(task: UpstreamTask): UpstreamTask {
  const isUnread = (task.status === "completed" && !task.result) || (task.status === "failed" && !task.error);
  return isUnread ? { ...task, status: "working", pollIntervalMs: 0 } : task;
}

/**
 * Why the session's server cannot continue what the call has begun: another one has taken the place of the one that asked. What it does not know it would
 * ignore, and begin the call again.
 */
function cannotContinue({ isStateless, tasks }: UpstreamSession, { round, mayRepeat = false }: CallRequest): UpstreamEvent | undefined {
  if (!round) return undefined;
  if (round.task) return tasks ? undefined : { type: "lost", message: "it has no tasks any more, and so does not know the call's" };
  const isBegun = round.state !== undefined || Object.keys(round.responses).length > 0;
  if (isStateless || !isBegun || mayRepeat) return undefined;
  return { type: "lost", message: "it asked in a revision that it does not speak any more, and the call may not be made again" };
}

function judging({ request, questions: { admit }, waitedMs }: SendCall): Judging {
  return { request, admit, waitedMs };
}

/** For questions that the upstream does not wait for. If there are too many, the call fails with the error that a waiting upstream would get. */
async function withinRate(event: UpstreamEvent, sending: SendCall): Promise<UpstreamEvent> {
  const { request, questions } = sending;
  if (event.type !== "required" || event.questions.length === 0 || requiresOnly(event, request.awaited ?? [])) return event;
  try {
    await questions.take(event.questions.map(({ request: { type } }) => type));
    return event;
  } catch (error) {
    return failure(error, judging(sending));
  }
}

// ── refusals ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** Authentication comes first, so a call that was refused for its token has not begun. */
function refusedToken(error: unknown, { accessToken }: SendCall): UpstreamEvent | undefined {
  return accessToken && isUnauthorized(error) ? { type: "unauthorized" } : undefined;
}

function refusedCall(error: unknown, { request }: SendCall): UpstreamEvent | undefined {
  const isRefused = request.round === undefined && wasRefused(error);
  return isRefused ? { type: "unavailable", message: `did not take the call: ${describeFailure(error)}` } : undefined;
}

/** Whether the upstream has certainly not begun the call. Proxies also answer 502, 503 and 504 after they have passed a request on. */
function wasRefused(error: unknown): boolean {
  return error instanceof NoAccess || wasNotTaken(error) || (error instanceof SdkHttpError && [401, 403, 429].includes(error.status ?? 0));
}

/** Whether another session may be taken by the upstream: it refused the session, or the request did not reach it. */
function wasNotTaken(error: unknown): boolean {
  if (error instanceof SdkHttpError) return error.status === 400 || error.status === 404;
  return (error as { cause?: { code?: unknown } }).cause?.code === "ECONNREFUSED";
}
