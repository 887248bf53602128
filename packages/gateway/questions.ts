/**
 * The questions of one call at an upstream: judged, counted, put, and answered.
 *
 * An answer reaches the question that it was given to, by its id; in a call that repeats a lost one it reaches a question of the same digest
 * (I4), once. Giving an answer twice is giving it once.
 */
import { randomUUID } from "node:crypto";
import { ProtocolError } from "@modelcontextprotocol/client";
import type { Answer, AskRequest, Settings } from "@parley/core";
import type { CallRequest } from "./call-request.ts";
import type { Gate } from "./gate.ts";
import { digestOf, NOT_SUPPORTED, type QuestionMethod, readQuestion, REFUSED } from "./question.ts";
import type { ElicitationSettings } from "./settings.ts";
import type { Given, Question } from "./upstream-event.ts";

export interface QuestionDeps {
  readonly elicitation: ElicitationSettings;
  readonly settings: Pick<Settings, "askUrlSchemes" | "secretNames">;
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

/** What the questions of a call need to know of it. */
export interface OfCall {
  readonly isOver: () => boolean;
  /** A question waits that did not, or does not any more. */
  readonly onChange: () => void;
  /** Two open questions have one id. */
  readonly onAmbiguous: () => void;
}

export interface Questions {
  /** Judges a question and counts it. Throws ProtocolError, which is the answer. */
  admit(method: QuestionMethod, params: unknown): Question;
  /** What becomes of a request of the upstream. Throws ProtocolError, which is the answer. */
  ask(id: string | number, method: QuestionMethod, params: unknown, signal: AbortSignal): Promise<Answer>;
  /** Hands answers on. */
  give(given: readonly Given[]): void;
  /** Those that wait; each is handed out from now on. */
  handOut(): readonly Question[];
  /** The upstream says that a page was visited to its end. The key of the question about it, the first time. */
  visited(elicitationId: string): string | undefined;
  /** Pages that somebody agreed to visit and of which that was not said. */
  pages(): number;
  /** How many were asked, and how many wait. */
  asked(): number;
  waiting(): number;
  /** Nobody waits for any of them any more. */
  abandonAll(): void;
  /** Keys of those that were handed out and that the upstream does not wait for any more. */
  readonly abandoned: ReadonlySet<string>;
}

interface Waiting {
  readonly question: Question;
  isHanded: boolean;
  settle(answer: Answer): void;
}

export function createQuestions(request: CallRequest, deps: QuestionDeps, { isOver, onChange, onAmbiguous }: OfCall): Questions {
  const { upstream, principal, questionTimeoutMs } = request;
  const { elicitation, settings } = deps;
  const incarnation = randomUUID();
  const waiting = new Map<string, Waiting>();
  const abandoned = new Set<string>();
  const taken = new Set<Given>();
  let known: readonly Given[] = request.given;
  /** Keys of questions about pages, by the upstream's ids of them. */
  const pages = new Map<string, string>();
  const agreed = new Set<string>();
  let asked = 0;

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
      onAmbiguous();
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
    if (isOver()) throw new ProtocolError(REFUSED, "the call has ended");
    const question = admit(method, params);
    const replayed = takeRecorded(question.digest);
    if (replayed) return replayed;
    const leaves = enter(() => countRefused(method, params));
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
      leaves();
      onChange();
    }
  }

  function countRefused(method: QuestionMethod, params: unknown): void {
    const mode = method === "elicitation/create" && (params as { mode?: unknown } | undefined)?.mode === "url" ? "url" : "form";
    const kind = method === "roots/list" ? "roots" : method === "sampling/createMessage" ? "sampling" : mode;
    deps.count({ upstream: upstream.name, kind, outcome: "refused" });
  }

  /** Throws ProtocolError, which is the answer. */
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
      const question = newQuestion(readQuestion(method, params, settings));
      if (question.request.type === "url") {
        const { elicitationId } = params as { elicitationId?: unknown };
        if (typeof elicitationId === "string") pages.set(elicitationId, question.key);
      }
      return question;
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
    abandonAll() {
      for (const id of waiting.keys()) abandon(id);
    },
    abandoned,
  };
}
