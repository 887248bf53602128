/**
 * Leads the call of a task to its result. Each event at the upstream is the result of a step, and each question of the upstream is an ask.
 *
 *   open ─▶ call ─▶ asked ─▶ continue ─▶ asked … ─▶ result, or an error
 *    ▲                           └▶ required: the call has ended; the next one carries the answers, or polls the upstream's task
 *    └───────────────────────────────────┘
 *
 * `open`, `call` and `continue` are steps (calls.ts); `asked`, `required` and `result` are events (upstream-event.ts).
 */
import { randomUUID } from "node:crypto";
import {
  type Answer,
  type AskRequest,
  type CallFacts,
  type Effects,
  type Json,
  type JsonObject,
  type Opening,
  ParleyError,
  RpcFailure,
  type StepAttempt,
  isWaitingBehind,
  waitingBehind,
} from "@parley/core";
import { type Access, createAccess, needsAccess } from "./upstream-access.ts";
import { askable, type CallRequest, type Round, withoutAnswer } from "../wire/call-request.ts";
import type { Calls } from "./calls.ts";
import { withOwnUris } from "../lists/gateway-resource.ts";
import type { ListedTool } from "../lists/listing.ts";
import type { ParamHeaders } from "../wire/param-headers.ts";
import { revealed } from "./secrets.ts";
import type { ElicitationSettings } from "../config/settings.ts";
import {
  type FollowedTask,
  type Given,
  pageOf,
  type Question,
  requiresOnly,
  type UpstreamEvent,
  type UpstreamFailure,
} from "../wire/upstream-event.ts";
import type { Upstream } from "../config/upstreams.ts";

export interface LeadCall {
  readonly kind: "tool" | "prompt";
  readonly listed: Pick<ListedTool, "name" | "execution">;
  /** Whether the call may be repeated after the outcome of the first was lost. */
  readonly mayRepeat: boolean;
  readonly args: JsonObject;
  readonly paramHeaders?: ParamHeaders;
  readonly upstream: Upstream;
  readonly hasResources: boolean;
  readonly calls: Calls;
  readonly elicitation: Pick<ElicitationSettings, "timeoutMs" | "blockingTimeoutMs">;
}

interface Leading extends LeadCall {
  readonly effects: Effects;
  readonly questionTimeoutMs: number;
  readonly answers: Answers;
  /** If the upstream requires the caller's own. */
  readonly access: Access | undefined;
  readonly visits: Visits;
  readonly statuses: Statuses;
  readonly polls: Polls;
}

interface Permit {
  readonly callId: string;
  readonly mayRepeat: boolean;
}

type Ended = Exclude<UpstreamEvent, { type: "asked" }>;
type Required = Extract<UpstreamEvent, { type: "required" }>;

/** The entry of the permit for the first call: it is the handler's first effect, in its first drain. */
const OPEN = "step:open";
/** When a task is polled again after its upstream was down, and an upstream called again that asked for that without asking anything. */
const RETRY_MS = 1_000;
/** After so many polls in a row, five seconds each, a task that waits for an answer without showing a question has lost its question. */
const UNHEARD_MAX = 3;
/** People may take days, and their answer should not be noticed another day later. */
const PEOPLE_POLL_MS = 60 * 60 * 1_000;
/** How often one call may require input first (input_required, −32042). */
const ROUNDS_MAX = 50;

/** Pauses before calls that require a visit to which the person has agreed already (−32042): they may still be on that page. After the last, they are asked again. */
const VISIT_PAUSES_MS = [1_000, 2_000, 4_000, 8_000, 16_000, 32_000] as const;
const VISITS_PATCH = "visits";
const MISSING_PATCH = "missing";

const LOST_QUESTION = "its task waits for an answer to a question that a worker read before it died, and that the upstream does not repeat";

/**
 * The permit for the first call, written together with `begin`: the step finds it recorded.
 *
 * The permit becomes valid in this process only once the journal holds it. Otherwise a second `begin` of the same task in this process would
 * invalidate the permit of the first.
 */
export function firstPermit(mayRepeat: boolean, calls: Calls): Opening {
  const callId = randomUUID();
  const outcome = { type: "value", value: { callId, mayRepeat } } as const;
  return {
    entries: [{ key: OPEN, entry: { digest: "", calledAt: "0", place: 1, outcome } }],
    begun(taskId, journal) {
      const recorded = journal.get(OPEN)?.outcome;
      if (recorded?.type === "value" && (recorded.value as JsonObject)["callId"] === callId) calls.permit(taskId, callId);
    },
  };
}

export async function leadCall(effects: Effects, led: LeadCall): Promise<JsonObject> {
  const { upstream, calls, hasResources } = led;
  const { oauth } = upstream;
  const questionTimeoutMs = questionTimeout(effects.call, led);
  const answers = createAnswers(effects, upstream);
  const access = needsAccess(effects, oauth)
    ? createAccess(effects, { upstream, oauth, what: about(led), timeoutMs: questionTimeoutMs })
    : undefined;
  const visits = createVisits(effects);
  const statuses = createStatuses(effects, upstream);
  const polls = createPolls(effects, led);
  const leading: Leading = { ...led, effects, questionTimeoutMs, answers, access, visits, statuses, polls };
  let round: Round | undefined;
  let rounds = 0;
  let unheard = 0;

  await access?.ask();
  while (rounds < ROUNDS_MAX) {
    const { event, mayRepeat } = await makeCall(leading, round);
    if (event.type === "result") return hasResources ? withOwnUris(event.result, upstream) : event.result;
    if (event.type === "expired") {
      await access?.ask();
      // No call was made. The next run may be on another worker, which cannot use this permit.
      continue;
    }
    if (event.type === "unauthorized") {
      await access?.refused();
      continue;
    }
    if (event.type === "forgotten") {
      // After the event was recorded: if this worker dies before, the next one tells the caller.
      await effects.step("told", () => calls.told(event.state).then(() => null));
      throw failureOf(event, led);
    }
    if (event.type !== "required") {
      if (!round?.task || !isAway(event)) throw failureOf(event, led);
      // The upstream's task survives an upstream that is down for a while.
      await polls.wait(RETRY_MS);
      continue;
    }
    const { task, questions, state } = event;
    if (task) statuses.report(task);
    unheard = task?.isUnheard === true ? unheard + 1 : 0;
    if (unheard === UNHEARD_MAX) {
      if (!mayRepeat) throw failureOf({ type: "lost", message: LOST_QUESTION }, led);
      // The upstream's task is cancelled, as it is when the call fails.
      await effects.step("let-go", () => calls.drop(effects.taskId));
      answers.repeat();
      round = undefined;
      unheard = 0;
      rounds += 1;
    } else if (questions.length === 0) {
      await polls.wait(task?.pollMs ?? RETRY_MS, waitedIn(event));
      round = { responses: {}, ...(state !== undefined && { state }), ...(task && { task: followed(task, round) }) };
    } else if (await visits.areUnderway(event)) {
      // The call did not begin: it is made again as it was.
      continue;
    } else {
      rounds += 1;
      polls.restart();
      round = await answerRequired(event, { effects, round, answers });
      visits.agreed(event);
    }
  }
  throw new ParleyError(
    "UPSTREAM_INVALID",
    `${about(led)} required input or a visit to a page ${ROUNDS_MAX} times without returning a result`,
  );
}

/** A session holds its request open in the meantime. A client that answers input_required comes back. */
function questionTimeout({ hidden, request }: CallFacts, { upstream, elicitation }: LeadCall): number {
  const isBlocking = hidden && request !== undefined;
  return upstream.questionTimeoutMs ?? (isBlocking ? elicitation.blockingTimeoutMs : elicitation.timeoutMs);
}

/** For people whom the upstream asks: as for the questions to others of Parley's own tools, it does not matter how their caller waits. */
function peopleTimeout({ upstream, elicitation }: LeadCall): number {
  return upstream.questionTimeoutMs ?? elicitation.timeoutMs;
}

// ── one call ─────────────────────────────────────────────────────────────────────────────────────────────────────

interface Made {
  readonly event: Ended;
  /** As the file said when the permit was drawn: the task takes the same course if that has changed. */
  readonly mayRepeat: boolean;
}

/** Makes a call, or polls the upstream's task, and answers what it asks until it ends. With `expired`, no call was made. */
async function makeCall(leading: Leading, round: Round | undefined): Promise<Made> {
  const { effects, calls, access, mayRepeat } = leading;
  const opened = await effects.step("open", () => ({ callId: calls.permit(effects.taskId), mayRepeat }));
  const recorded = opened as unknown as Permit;
  // A poll starts nothing at the upstream, and its answers count once.
  const permit = { ...recorded, mayRepeat: recorded.mayRepeat || round?.task !== undefined };
  let event = await nextEvent("call", leading, { permit, round });
  while (event.type === "asked") {
    await answerAsked(event.questions, leading, permit);
    event = await nextEvent("continue", leading, { permit, round });
    while (event.type === "expired" || event.type === "unauthorized") {
      // The call waits at the upstream for its answer, which was not sent, or was refused for the token alone.
      await (event.type === "expired" ? access?.ask() : access?.refused());
      event = await nextEvent("continue", leading, { permit, round });
    }
  }
  return { event, mayRepeat: recorded.mayRepeat };
}

async function nextEvent(
  step: "call" | "continue",
  leading: Leading,
  { permit, round }: { readonly permit: Permit; readonly round: Round | undefined },
): Promise<UpstreamEvent> {
  const { effects, calls, access, answers, statuses, polls } = leading;
  const request = requestOf(leading, round);
  const last = Promise.withResolvers<UpstreamEvent>();
  const follow = async ({ signal }: StepAttempt): Promise<UpstreamEvent> => {
    const accessToken = await access?.token();
    if (access && accessToken === undefined) return { type: "expired" };
    const { given, round: filled } = await revealed(effects, answers.given(), round);
    const event = await calls.lead({
      ...permit,
      taskId: effects.taskId,
      request: { ...request, given, ...(filled && { round: filled }), ...(accessToken !== undefined && { accessToken }) },
      accessToken,
      given,
      signal,
      report: effects.report,
      onWaits: (waits) =>
        waits ? statuses.report({ ...(waits.message !== undefined && { message: waits.message }), isWaiting: true }) : statuses.works(),
    });
    if (event.type !== "result") return polls.overdue(event, round) ?? event;
    // The task ends with this event. Both are one write, because nothing is done in between.
    last.resolve(event);
    await aborted(signal);
    return event;
  };
  const event = effects.step(step, follow, { isRecordedLater: isOfHolder });
  return await Promise.race([event as unknown as Promise<UpstreamEvent>, last.promise]);
}

function requestOf(leading: Leading, round: Round | undefined): CallRequest {
  const { effects, upstream, kind, listed, args, paramHeaders, questionTimeoutMs, answers, visits, mayRepeat } = leading;
  const { call } = effects;
  const { taskSupport } = listed.execution ?? {};
  const given = answers.given();
  const awaited = visits.awaited();
  return {
    upstream,
    kind,
    tool: listed.name,
    args,
    ...(paramHeaders && { paramHeaders }),
    // The upstream's task would take the session along, and the state in it.
    ...((upstream.keepsState ? taskSupport === "required" : taskSupport !== undefined) && { asTask: true }),
    principal: call.principal,
    ...(call.session !== undefined && { session: call.session }),
    capabilities: askable(call),
    ...(call.traceparent !== undefined && { traceparent: call.traceparent }),
    questionTimeoutMs,
    peopleTimeoutMs: peopleTimeout(leading),
    askedBefore: given.length,
    given,
    ...(awaited.length > 0 && { awaited }),
    ...(round && { round }),
    ...(mayRepeat && { mayRepeat }),
  };
}

/** The step that follows passes on the answer to a single question. One of several is passed on at once: the upstream may need it before it asks anything else. */
async function answerAsked(questions: readonly Question[], { effects, calls, answers }: Leading, { callId }: Permit): Promise<void> {
  const isOnly = questions.length === 1;
  await Promise.all(
    questions.map(async (question) => {
      await answers.to(question);
      if (!isOnly)
        await effects.step(`deliver-${question.key}`, async () => {
          calls.give(effects.taskId, callId, (await revealed(effects, answers.given())).given);
        });
    }),
  );
}

/**
 * A question of a held call is recorded together with the asks that it leads to, because it is lost with its holder in any case. Any other event is
 * recorded first: it outlives this process, and any worker continues from it.
 */
function isOfHolder(event: Json | undefined): boolean {
  return (event as UpstreamEvent | undefined)?.type === "asked";
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

// ── between calls ────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * What the next call carries. Throws the upstream's error if it was refused for input that people did not give, and the error that an upstream which
 * waits would get if nobody could be asked.
 */
async function answerRequired(
  { refused, questions, state, task }: Required,
  { effects, round, answers }: { readonly effects: Effects; readonly round: Round | undefined; readonly answers: Answers },
): Promise<Round> {
  const replies = await Promise.all(questions.map(answers.to));
  const [missing] = replies.flatMap(({ question, answer }) => withoutAnswer(question, answer) ?? []);
  // A task of an earlier version has sent `cancel`, and continues with what came of it.
  if (missing && effects.patched(MISSING_PATCH))
    throw rpcFailure({ code: missing.code, message: missing.message, data: missing.data as Json });
  if (refused && replies.some(({ answer }) => answer.action !== "accept")) throw rpcFailure(refused);
  return {
    ...(state !== undefined && { state }),
    ...(task && { task: followed(task, round, questions) }),
    responses: refused ? {} : Object.fromEntries(replies.map(({ question, answer }): [string, Answer] => [question.id, answer])),
  };
}

function followed(
  { id, message: news }: FollowedTask,
  round: Round | undefined,
  asked: readonly Question[] = [],
): NonNullable<Round["task"]> {
  const message = news ?? round?.task?.message;
  return {
    id,
    asked: [...(round?.task?.asked ?? []), ...asked.map((question) => question.id)],
    ...(message !== undefined && { message }),
  };
}

interface Answers {
  /** All answers so far, as each call receives them. */
  given(): readonly Given[];
  readonly to: (question: Question) => Promise<Given>;
  /** The next call asks again what earlier calls of this task asked. Their answers answer the same questions, each once (I4). */
  repeat(): void;
}

function createAnswers(effects: Effects, upstream: Pick<Upstream, "name">): Answers {
  const given: Given[] = [];
  const asked: Given[] = [];
  let recorded: readonly Given[] = [];
  return {
    given: () => [...given],
    async to(question) {
      const { key, request, digest, timeoutMs } = question;
      const before = recorded.find((one) => one.question.digest === digest);
      recorded = recorded.filter((one) => one !== before);
      const answer = before?.answer ?? (await effects.ask(key, fromUpstream(request, upstream), { timeoutMs, identity: request }));
      const one = { question, answer };
      given.push(one);
      if (!before) asked.push(one);
      return one;
    },
    repeat() {
      recorded = asked.filter(({ answer }) => answer.action !== "withdrawn");
    },
  };
}

/**
 * The question as people read it, wherever they do: with the name that the operator gave to the server that asks (specification, client/elicitation,
 * "Security Considerations"). Its digest is taken from the question itself.
 */
function fromUpstream(request: AskRequest, { name }: Pick<Upstream, "name">): AskRequest {
  return request.type === "form" || request.type === "url" ? { ...request, message: `${name} asks: ${request.message}` } : request;
}

/**
 * Pages that a person has agreed to visit before the call can be made. Agreeing is not being done, and the gateway learns that they are done by making
 * the call again: the upstream's notification would need a session, and is optional.
 */
interface Visits {
  /** The person has agreed to the visits that the upstream requires, if it requires any. */
  agreed(required: Required): void;
  /** Pages that they may still be on, as `pageOf` names them: they are not asked about these yet. */
  awaited(): readonly string[];
  /** Pauses, and resolves to true, if the upstream requires nothing but these. */
  areUnderway(required: Required): Promise<boolean>;
}

function createVisits(effects: Effects): Visits {
  let pages: readonly string[] = [];
  let pauses = 0;
  const awaited = () => (pauses < VISIT_PAUSES_MS.length ? pages : []);
  return {
    agreed({ refused, questions }) {
      pages = refused ? questions.map(pageOf) : [];
      pauses = 0;
    },
    awaited,
    async areUnderway(required) {
      const pauseMs = VISIT_PAUSES_MS[pauses];
      // A task that was asked again by an earlier version keeps its question.
      if (pauseMs === undefined || !requiresOnly(required, awaited()) || !effects.patched(VISITS_PATCH)) return false;
      pauses += 1;
      await effects.sleep("visit", pauseMs);
      return true;
    },
  };
}

interface Statuses {
  report(status: Pick<FollowedTask, "message" | "isWaiting">): void;
  /** It waits for people no more. An earlier run may have said that it does. */
  works(): void;
}

/** The status of the upstream's task becomes that of the caller's. That it waits for people is said with it: there may be a gateway in front of this one. */
function createStatuses(effects: Effects, { name }: Upstream): Statuses {
  let said: string | undefined;
  let waitsFor: string | undefined;
  let shown: string | undefined;
  /** Whatever a server says of itself, only `_meta` of its messages says that it waits. */
  const ofWork = () => (isWaitingBehind(said) ? `${name}: ${said}` : (said ?? `${name} is working.`));
  function show(status: string): void {
    if (status === shown) return;
    shown = status;
    effects.status(status);
  }
  return {
    report({ message, isWaiting }) {
      if (isWaiting) waitsFor = message ?? waitsFor;
      else said = message ?? said;
      if (isWaiting) show(waitingBehind(name, waitsFor ?? said));
      else if (said !== undefined || shown !== undefined) show(ofWork());
    },
    works: () => show(ofWork()),
  };
}

interface Polls {
  /**
   * The event in place of one that would be followed by another poll, if the time for these is over. It is recorded: a time that the file changes
   * later decides about later polls.
   */
  overdue(event: UpstreamEvent, round: Round | undefined): UpstreamEvent | undefined;
  /**
   * With `waitedMs`, the upstream waits for people, and has done so for that long since the last poll. Their time does not count as the upstream's: they
   * have as long as for a question of the gateway's own to a caller with a task.
   */
  wait(pollMs: number, waitedMs?: number): Promise<void>;
  /** The upstream's task asked something: its time starts again. */
  restart(): void;
}

/** How long the upstream has waited for people since the last poll; undefined if it works. */
function waitedIn({ waitedMs, task }: Required): number | undefined {
  return waitedMs ?? (task?.isWaiting ? 0 : undefined);
}

/** The interval grows with the age of the task: a long task must not fill the journal, and its end is noticed in proportion. */
function createPolls(effects: Effects, led: LeadCall): Polls {
  const { callTimeoutMs } = led.upstream;
  const peopleTimeoutMs = peopleTimeout(led);
  let workedMs = 0;
  let waitedMs = 0;
  return {
    overdue(event, round) {
      const isPolled = event.type === "required" ? event.questions.length === 0 : round?.task !== undefined && isAway(event);
      const heldMs = event.type === "required" ? waitedIn(event) : undefined;
      const isWaiting = heldMs !== undefined;
      const [passedMs, mostMs] = isWaiting ? [waitedMs + heldMs, peopleTimeoutMs] : [workedMs, callTimeoutMs];
      if (!isPolled || passedMs < mostMs) return undefined;
      const what = isWaiting ? "waited for people for" : "neither asked nor ended within";
      return { type: "timeout", message: `${what} ${mostMs} ms` };
    },
    async wait(pollMs, heldMs) {
      const isWaiting = heldMs !== undefined;
      waitedMs += heldMs ?? 0;
      const [passedMs, mostMs] = isWaiting ? [waitedMs, peopleTimeoutMs] : [workedMs, callTimeoutMs];
      // The last poll is at the end of the time, even if the upstream names a longer interval.
      const waitMs = Math.max(
        0,
        Math.min(
          Math.max(pollMs, Math.min(Math.floor(passedMs / 10), isWaiting ? PEOPLE_POLL_MS : Infinity) - (heldMs ?? 0)),
          mostMs - passedMs,
        ),
      );
      if (isWaiting) waitedMs += waitMs;
      else workedMs += waitMs;
      await effects.sleep("poll", waitMs);
    },
    restart() {
      workedMs = 0;
      waitedMs = 0;
    },
  };
}

// ── failures ─────────────────────────────────────────────────────────────────────────────────────────────────────

type Failed = Exclude<Ended, { type: "required" | "result" | "unauthorized" | "expired" }>;

function isAway({ type }: UpstreamEvent): boolean {
  return type === "unavailable" || type === "lost" || type === "busy";
}

function failureOf(event: Failed, led: LeadCall): Error {
  if (event.type === "error") return rpcFailure(event.error);
  const code = (
    {
      lost: "UPSTREAM_LOST",
      unavailable: "UPSTREAM_UNAVAILABLE",
      timeout: "UPSTREAM_TIMEOUT",
      invalid: "UPSTREAM_INVALID",
      large: "TOO_LARGE",
      busy: "UPSTREAM_BUSY",
      forgotten: "UPSTREAM_STATE_LOST",
    } as const
  )[event.type];
  const data = { upstream: led.upstream.name, ...(event.type === "busy" && { retryAfterMs: 1_000 }) };
  const message = event.type === "forgotten" ? `the state that earlier calls left there is lost, because ${event.message}` : event.message;
  return new ParleyError(code, `${about(led)}: ${message}`, { data });
}

function about({ kind, listed, upstream }: LeadCall): string {
  return `${kind} ${listed.name} of upstream ${upstream.name}`;
}

function rpcFailure({ code, message, data }: UpstreamFailure): RpcFailure {
  return new RpcFailure(code, message, data as Json | undefined);
}
