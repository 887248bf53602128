import { describe, expect, test } from "vitest";
import { openQuestions } from "./sessions.ts";
import type { Question, ReplyOutcome } from "./types.ts";

const ask = (id: string, words: string) => ({
  id,
  method: "elicitation/create",
  params: { message: words, requestedSchema: { type: "object", properties: { n: { type: "integer" } } } },
});
const REFUSED: ReplyOutcome = { type: "refused", message: "no", violations: [] };

function subject() {
  let shown: readonly string[] = [];
  const repliedTo: (string | number)[] = [];
  const questions = openQuestions({ questions: (open: readonly Question[]) => (shown = open.map(({ id }) => id)) });
  const requests = () => questions.all.map(({ requestId }) => requestId);
  /** A reply that stays on its way until `take` settles it. */
  function reply(questionId: string | undefined) {
    const { promise, resolve } = Promise.withResolvers<ReplyOutcome>();
    const answer = { action: "accept", content: { n: 1 } } as const;
    const took = questions.answer({ reply: (id) => (repliedTo.push(id), promise) }, questionId ?? "", answer);
    return { took, take: resolve };
  }
  return { ...questions, reply, requests, repliedTo, all: () => questions.all, shown: () => shown };
}

describe("a question whose answer is refused", () => {
  test.each(["after the refusal", "before the refusal"])("stays the same question when the server asks it again %s", async (order) => {
    const { put, reply, shown, requests } = subject();
    put(ask("q1", "How many?"));
    put(ask("other", "When?"));
    const before = shown();
    const { took, take } = reply(before[0]);
    await Promise.resolve();
    if (order === "before the refusal") put(ask("q2", "How many?"));
    take(REFUSED);
    expect(await took).toBe(REFUSED);
    if (order === "after the refusal") put(ask("q2", "How many?"));
    expect(shown()).toEqual(before);
    expect(requests()).toEqual(["q2", "other"]);
  });

  test("takes the next answer under the id that the page still shows, as a reply to the request that asked again", async () => {
    const { put, reply, shown, repliedTo } = subject();
    put(ask("q1", "How many?"));
    const [id] = shown();
    const first = reply(id);
    first.take(REFUSED);
    await first.took;
    // The person is quicker than the stream.
    const second = reply(id);
    second.take({ type: "accepted" });
    put(ask("q2", "How many?"));
    expect(await second.took).toEqual({ type: "accepted" });
    expect(repliedTo).toEqual(["q1", "q2"]);
    expect(shown()).toEqual([]);
  });

  test("takes the next answer when the server never asks again", async () => {
    const { put, reply, shown, repliedTo } = subject();
    put(ask("q1", "How many?"));
    const first = reply(shown()[0]);
    first.take(REFUSED);
    await first.took;
    const second = reply(shown()[0]);
    second.take({ type: "late" });
    expect(await second.took).toEqual({ type: "late" });
    expect(repliedTo).toEqual(["q1", "q1"]);
    expect(shown()).toEqual([]);
  });

  test("closes when an answer is accepted; an equal question that another branch asks in the meantime stays open", async () => {
    const { put, reply, shown, requests } = subject();
    put(ask("q1", "How many?"));
    const [id] = shown();
    const first = reply(id);
    await Promise.resolve();
    put(ask("q2", "How many?"));
    first.take({ type: "accepted" });
    await first.took;
    expect(requests()).toEqual(["q2"]);
    expect(shown()).not.toContain(id);
    const second = reply(shown()[0]);
    second.take({ type: "late" });
    await second.took;
    expect(shown()).toEqual([]);
  });
});

describe("a task that was read before a question came", () => {
  test("does not close the question", () => {
    const { put, keep, shown, all } = subject();
    put(ask("q1", "How many?"));
    const read = all();
    put(ask("q2", "When?"));
    keep(() => false, read);
    expect(shown()).toHaveLength(1);
    keep(() => false);
    expect(shown()).toEqual([]);
  });
});
