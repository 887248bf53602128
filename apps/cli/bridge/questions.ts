/** The server's questions, so that each reaches the client once (B3) and its answer can be sent again. */
import type { RequestId } from "@parley/protocol";
import { idKey } from "./exchange.ts";

/** Questions whose answers are kept, in case the server repeats a question that was answered. */
const QUESTIONS_MAX = 1_000;
/** Questions that the client has not answered. A server that asks more is not one that people answer. */
const UNANSWERED_MAX = 10_000;

export interface Question {
  /** The client's answer; undefined until the client answers. */
  readonly answer?: string;
  /** The session that asked. Only it accepts the answer. */
  readonly session: string | undefined;
}

export interface Questions {
  /** Notes a question of the session. Returns what was known of it before. */
  asked(id: RequestId, session: string | undefined): Question | undefined;
  /** Notes the client's answer. Returns the session that asked. */
  answered(id: RequestId, answer: string): string | undefined;
}

export function createQuestions(): Questions {
  const questions = new Map<string, Question>();
  return {
    asked(id, session) {
      const known = questions.get(idKey(id));
      if (known !== undefined) return known;
      questions.set(idKey(id), { session });
      const [oldest] = questions.keys();
      if (questions.size > QUESTIONS_MAX + UNANSWERED_MAX && oldest !== undefined) questions.delete(oldest);
      return undefined;
    },
    answered(id, answer) {
      const session = questions.get(idKey(id))?.session;
      questions.delete(idKey(id));
      questions.set(idKey(id), { answer, session });
      for (const [key, { answer: given }] of questions) {
        if (questions.size <= QUESTIONS_MAX) break;
        if (given !== undefined) questions.delete(key);
      }
      return session;
    },
  };
}
