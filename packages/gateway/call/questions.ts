/**
 * The questions of one call at an upstream: judges, counts and asks them, and delivers the answers.
 *
 * An answer reaches the question that it was given to, by its id. In a call that repeats a lost one, it reaches a question with the same digest (I4),
 * once. Giving an answer twice has no further effect.
 */
import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { ProtocolError } from "@modelcontextprotocol/client";
import type { Answer, AskRequest, Settings } from "@parley/core";
import type { CallRequest } from "../wire/call-request.ts";
import type { Gate } from "../gate.ts";
import { DISABLED, type Judged, type QuestionMethod, readQuestion, refusal, refusedFor, type RefusedFor } from "../wire/question.ts";
import type { ElicitationSettings } from "../config/settings.ts";
import type { Given, Question } from "../wire/upstream-event.ts";

export interface QuestionDeps {
  readonly elicitation: ElicitationSettings;
  readonly settings: Pick<Settings, "askUrlSchemes" | "secretNames">;
  /** Bounds the open questions of this process, of one caller, and of one session of a caller. */
  readonly open: Gate;
  readonly openOf: (principal: string) => Gate;
  readonly openOfSession: (session: string) => Gate;
  /** Counts questions to a caller. Resolves to how long the caller has to wait if there are too many, or to 0. Absent: no limit. */
  readonly rate?: (caller: Pick<CallRequest, "principal" | "session">, count: number) => Promise<number>;
  /** Counts each question by its outcome. */
  readonly count: (question: CountedQuestion) => void;
  /** Nobody was asked. Called for as many questions of a call as it may ask, so that a flood of them fills no audit. */
  readonly onRefused?: (question: RefusedQuestion) => void;
  /** The upstream stopped waiting for a question that was asked. */
  readonly onAbandoned: () => void;
}

export interface CountedQuestion {
  readonly upstream: string;
  readonly kind: AskRequest["type"];
  readonly outcome: Answer["action"] | "refused";
}

export interface RefusedQuestion {
  readonly upstream: string;
  readonly reason: RefusedFor;
}

/** What the questions need from their call. */
export interface OfCall {
  readonly isOver: () => boolean;
  /** A question started or stopped waiting. */
  readonly onChange: () => void;
  /** Two open questions have the same id. */
  readonly onAmbiguous: () => void;
}

export interface Questions {
  /** Judges a question and counts it. Throws the ProtocolError to reply with. */
  admit(method: QuestionMethod, params: unknown): Question;
  /** Counts admitted questions, which have these types, against the caller's rate. Throws the ProtocolError to reply with. */
  take(types: readonly AskRequest["type"][]): Promise<void>;
  /** Counts a question that is not asked. Returns the error. */
  refuse(method: QuestionMethod, params: unknown, error: ProtocolError): ProtocolError;
  /** Asks a question of the upstream and resolves with its answer. Throws the ProtocolError to reply with. */
  ask(id: string | number, method: QuestionMethod, params: unknown, signal: AbortSignal): Promise<Answer>;
  /** Delivers answers. */
  give(given: readonly Given[]): void;
  /** Returns the waiting questions and marks them as handed out. */
  handOut(): readonly Question[];
  /** The upstream reports that a page was completed. Returns the key of its question, once. */
  visited(elicitationId: string): string | undefined;
  /** The number of pages that a person agreed to visit and that the upstream has not reported as completed. */
  pages(): number;
  /** The number of questions asked so far, and of those that wait. */
  asked(): number;
  waiting(): number;
  /** Resolves once none waits. */
  whenAnswered(): Promise<void>;
  /** The upstream no longer waits for any of the questions. */
  abandonAll(): void;
  /** Keys of questions that were handed out and that the upstream no longer waits for. */
  readonly abandoned: ReadonlySet<string>;
}

interface Waiting {
  readonly question: Question;
  isHanded: boolean;
  settle(answer: Answer): void;
}

export function createQuestions(request: CallRequest, deps: QuestionDeps, { isOver, onChange, onAmbiguous }: OfCall): Questions {
  const { upstream, principal, session, questionTimeoutMs } = request;
  const { elicitation, settings } = deps;
  const incarnation = randomUUID();
  const waiting = new Map<string, Waiting>();
  const abandoned = new Set<string>();
  /** Recorded answers that were used. By name, because each run reads the answers from the journal anew. */
  const taken = new Set<string>();
  const nameOf = ({ question: { from, id } }: Given) => `${from} ${id}`;
  let known: readonly Given[] = request.given;
  /** Keys of questions about pages, by the upstream's elicitation ids. A task of the upstream reports on pages of which earlier polls asked. */
  const pages = new Map<string, string>(
    (request.round?.task ? request.given : []).flatMap(({ question: { elicitationId, key } }) =>
      elicitationId === undefined ? [] : [[elicitationId, key]],
    ),
  );
  const agreed = new Set<string>();
  let asked = 0;
  let { promise: noneWaits, resolve: answered } = Promise.withResolvers<void>();

  function newQuestion(judged: Judged, elicitationId: unknown): Question {
    asked += 1;
    const key = `question-${request.askedBefore + asked}`;
    const isNamedPage = judged.request.type === "url" && typeof elicitationId === "string";
    if (isNamedPage) pages.set(elicitationId, key);
    return {
      key,
      from: incarnation,
      id: String(asked),
      ...judged,
      timeoutMs: questionTimeoutMs,
      ...(isNamedPage && { elicitationId }),
    };
  }

  /** Open questions by request id. */
  const open = new Map<string, { readonly asked: unknown; readonly answer: Promise<Answer>; readonly stop: AbortController }>();

  /**
   * The upstream matches answers by request id. A question that arrives once more, for example on a stream that was resumed, is the same one. With two
   * different ones of the same id, neither could be answered reliably.
   */
  async function askById(id: string | number, method: QuestionMethod, params: unknown, signal: AbortSignal): Promise<Answer> {
    const requestId = JSON.stringify(id);
    const known = open.get(requestId);
    const isSame = known !== undefined && isDeepStrictEqual(known.asked, { method, params });
    if (known && !isSame) onAmbiguous();
    const stop = isSame ? known.stop : new AbortController();
    // The client has a signal for each arrival, and cancels the last one.
    if (signal.aborted) stop.abort();
    else signal.addEventListener("abort", () => stop.abort(), { once: true });
    if (isSame) return await known.answer;
    const answer = ask(method, params, stop.signal);
    open.set(requestId, { asked: { method, params }, answer, stop });
    try {
      return await answer;
    } finally {
      open.delete(requestId);
    }
  }

  /** Judges, counts and asks a question, and resolves with its answer. Throws the ProtocolError to reply with. */
  async function ask(method: QuestionMethod, params: unknown, signal: AbortSignal): Promise<Answer> {
    if (isOver()) throw refusal("withdrawn", "the call has ended");
    const question = admit(method, params);
    const replayed = takeRecorded(question.digest);
    if (replayed) return replayed;
    if (deps.rate) {
      await take([question.request.type]);
      if (isOver()) throw refusal("withdrawn", "the call has ended");
    }
    const leave = enter(question.request.type);
    const { promise, resolve } = Promise.withResolvers<Answer>();
    waiting.set(question.id, { question, isHanded: false, settle: resolve });
    const withdraw = () => abandon(question.id);
    signal.addEventListener("abort", withdraw, { once: true });
    if (signal.aborted) withdraw();
    onChange();
    try {
      const answer = await promise;
      deps.count({ upstream: upstream.name, kind: question.request.type, outcome: answer.action });
      return answer;
    } finally {
      signal.removeEventListener("abort", withdraw);
      leave();
      if (waiting.size === 0) {
        answered();
        ({ promise: noneWaits, resolve: answered } = Promise.withResolvers<void>());
      }
      onChange();
    }
  }

  let refusals = 0;

  function noteRefused(kind: AskRequest["type"], reason: RefusedFor): void {
    deps.count({ upstream: upstream.name, kind, outcome: "refused" });
    refusals += 1;
    if (refusals <= elicitation.callMax) deps.onRefused?.({ upstream: upstream.name, reason });
  }

  function refuse(method: QuestionMethod, params: unknown, error: ProtocolError): ProtocolError {
    const mode = method === "elicitation/create" && (params as { mode?: unknown } | undefined)?.mode === "url" ? "url" : "form";
    noteRefused(method === "roots/list" ? "roots" : method === "sampling/createMessage" ? "sampling" : mode, refusedFor(error));
    return error;
  }

  /** Throws the ProtocolError to reply with. */
  function admit(method: QuestionMethod, params: unknown): Question {
    if (!elicitation.isEnabled) throw refuse(method, params, refusal("disabled", DISABLED));
    // A repeated call asks its questions again; a call that continues keeps those it asked before.
    if (asked + (request.round ? request.askedBefore : 0) >= elicitation.callMax) {
      const message = `a call may ask ${elicitation.callMax} questions (PARLEY_ELICITATIONS_CALL_MAX)`;
      throw refuse(method, params, refusal("limit", message));
    }
    try {
      const judged = readQuestion(method, params, { settings, takesSecretsOnPages: upstream.takesSecretsOnPages });
      return newQuestion(judged, (params as { elicitationId?: unknown } | undefined)?.elicitationId);
    } catch (error) {
      throw error instanceof ProtocolError ? refuse(method, params, error) : error;
    }
  }

  async function take(types: readonly AskRequest["type"][]): Promise<void> {
    const retryAfterMs = (await deps.rate?.(request, types.length)) ?? 0;
    if (retryAfterMs === 0) return;
    for (const type of types) noteRefused(type, "rate");
    const message = `a caller may be asked ${elicitation.perMinute} questions per minute (PARLEY_ELICITATIONS_RATE)`;
    throw refusal("limit", message, { retryAfterMs });
  }

  function enter(type: AskRequest["type"]): () => void {
    const bounds = [
      ...(session === undefined
        ? []
        : [{ setting: "PARLEY_ELICITATIONS_SESSION_MAX", whose: " in this session", gate: deps.openOfSession(session) }]),
      { setting: "PARLEY_ELICITATIONS_PRINCIPAL_MAX", whose: " to this caller", gate: deps.openOf(principal) },
      { setting: "PARLEY_ELICITATIONS_MAX", whose: "", gate: deps.open },
    ];
    const entered: (() => void)[] = [];
    const leaveAll = () => {
      for (const leave of entered) leave();
    };
    for (const { setting, whose, gate } of bounds) {
      const leave = gate.enter();
      if (leave) entered.push(leave);
      else {
        leaveAll();
        noteRefused(type, "limit");
        throw refusal("limit", `too many questions${whose} are open (${setting})`, { retryAfterMs: 1_000 });
      }
    }
    return leaveAll;
  }

  /** An answer that an earlier call of the task received to the same question. */
  function takeRecorded(digest: string): Answer | undefined {
    const one = known.find((given) => given.question.from !== incarnation && given.question.digest === digest && !taken.has(nameOf(given)));
    if (!one || one.answer.action === "withdrawn") return undefined;
    taken.add(nameOf(one));
    return one.answer;
  }

  function give(given: readonly Given[]): void {
    known = given;
    for (const { question, answer } of given) {
      const one = question.from === incarnation ? waiting.get(question.id) : undefined;
      if (!one) continue;
      waiting.delete(question.id);
      if (answer.action === "accept") agreed.add(question.key);
      one.settle(answer);
    }
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

  return {
    admit,
    take,
    refuse,
    ask: askById,
    give,
    handOut() {
      const open = [...waiting.values()];
      for (const one of open) one.isHanded = true;
      return open.map(({ question }) => question);
    },
    visited(elicitationId) {
      const key = pages.get(elicitationId);
      pages.delete(elicitationId);
      return key;
    },
    pages: () => [...pages.values()].filter((key) => agreed.has(key)).length,
    asked: () => asked,
    waiting: () => waiting.size,
    whenAnswered: () => (waiting.size === 0 ? Promise.resolve() : noneWaits),
    abandonAll() {
      for (const id of waiting.keys()) abandon(id);
    },
    abandoned,
  };
}
