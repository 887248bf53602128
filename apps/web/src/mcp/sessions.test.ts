import { describe, expect, test } from "vitest";
import { openQuestions } from "./sessions.ts";
import type { Question, Taken } from "./types.ts";

const ask = (id: string, words: string) => ({
  id,
  method: "elicitation/create",
  params: { message: words, requestedSchema: { type: "object", properties: { n: { type: "integer" } } } },
});
const REFUSED: Taken = { type: "refused", message: "no", violations: [] };

function subject() {
  let shown: readonly string[] = [];
  const questions = openQuestions({ questions: (open: readonly Question[]) => (shown = open.map(({ id }) => id)) });
  /** A reply that stays under way until it is taken. */
  function reply(questionId: string) {
    const { promise, resolve } = Promise.withResolvers<Taken>();
    return { took: questions.answer({ reply: () => promise }, questionId, { action: "accept", content: { n: 1 } }), take: resolve };
  }
  return { ...questions, reply, shown: () => shown };
}

describe("a question whose answer is refused", () => {
  test.each(["behind the refusal", "ahead of the refusal"])(
    "and that is put again %s stays one question, under its new id",
    async (order) => {
      const { put, reply, shown } = subject();
      put(ask("q1", "How many?"));
      put(ask("other", "When?"));
      const { took, take } = reply("q1");
      if (order === "ahead of the refusal") put(ask("q2", "How many?"));
      take(REFUSED);
      expect(await took).toBe(REFUSED);
      if (order === "behind the refusal") put(ask("q2", "How many?"));
      expect(shown()).toEqual(["q2", "other"]);
    },
  );

  test("leaves when an answer is taken, and so does one that another like it has replaced", async () => {
    const { put, reply, shown } = subject();
    put(ask("q1", "How many?"));
    const first = reply("q1");
    // Another branch asks the same while the first answer is under way.
    put(ask("q2", "How many?"));
    first.take({ type: "taken" });
    await first.took;
    expect(shown()).toEqual(["q2"]);
    const second = reply("q2");
    second.take({ type: "late" });
    await second.took;
    expect(shown()).toEqual([]);
  });
});
