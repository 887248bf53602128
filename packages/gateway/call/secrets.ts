/**
 * Secrets that an upstream asks for in a form, if people enter them on a page of Parley's instead (`secrets` in the file of upstreams):
 *
 *   form ─▶ page ─▶ sealed deposit of the task ─▶ read in the step that passes the answer on ─▶ { field: text }
 *
 * No client sees the text, and the journal has the name of its deposit alone.
 */
import { type Answer, type Effects, ParleyError } from "@parley/core";
import type { Round } from "../wire/call-request.ts";
import type { Given } from "../wire/upstream-event.ts";

export interface Revealed {
  readonly given: readonly Given[];
  readonly round: Round | undefined;
}

/** For a step: the answers with the secrets in them. `round` has some of the given answers. Throws DEPOSIT_UNREADABLE. */
export async function revealed({ deposit }: Pick<Effects, "deposit">, given: readonly Given[], round?: Round): Promise<Revealed> {
  if (given.every(({ question }) => question.secretField === undefined)) return { given, round };
  const answers = new Map<Answer, Answer>();
  const opened = await Promise.all(
    given.map(async ({ question, answer }) => {
      const { secretField } = question;
      if (secretField === undefined || answer.action !== "accept") return { question, answer };
      const key = answer.content?.["deposit"];
      if (typeof key !== "string") throw new ParleyError("DEPOSIT_UNREADABLE", `${question.key} was answered without its page`);
      const filled: Answer = { action: "accept", content: { [secretField]: await deposit(key) } };
      answers.set(answer, filled);
      return { question, answer: filled };
    }),
  );
  if (!round) return { given: opened, round };
  const responses = Object.entries(round.responses).map(([id, answer]) => [id, answers.get(answer) ?? answer] as const);
  return { given: opened, round: { ...round, responses: Object.fromEntries(responses) } };
}
