import { describe, expect, test } from "vitest";
import { createRandom } from "../random.ts";
import { type Operation, violation } from "./linearizability.ts";

const answer = (value: string, beganAtMs: number, endedAtMs: number, receipt?: Operation["receipt"]): Operation => ({
  type: "answer",
  value,
  beganAtMs,
  endedAtMs: receipt === undefined ? Infinity : endedAtMs,
  receipt,
});
const look = (value: string | undefined, beganAtMs: number, endedAtMs: number): Operation => ({
  type: "look",
  value,
  beganAtMs,
  endedAtMs,
});

describe("a history of answers to one ask", () => {
  test.each<[string, Operation[]]>([
    ["one wins and the others are told", [answer("a", 0, 10, "late"), answer("b", 0, 5, "accepted"), answer("c", 2, 4, "late")]],
    ["the winner's front end died, and everybody else is late", [answer("a", 0, 0), answer("b", 5, 9, "late"), look("a", 10, 11)]],
    ["nobody's reply came", [answer("a", 0, 0), answer("b", 0, 0), look(undefined, 3, 4)]],
    ["a look beside the winner saw nothing yet", [look(undefined, 0, 10), answer("a", 2, 8, "accepted"), look("a", 9, 12)]],
    ["a winner that was sent again behind its back is told duplicate", [answer("a", 0, 9, "duplicate"), answer("b", 0, 9, "late")]],
  ])("%s", (_name, history) => {
    expect(violation(history)).toBeUndefined();
  });

  test.each<[string, Operation[]]>([
    ["two won", [answer("a", 0, 5, "accepted"), answer("b", 0, 5, "accepted")]],
    ["one was late before anybody can have won", [answer("a", 0, 4, "late"), answer("b", 5, 9, "accepted")]],
    ["one was late and nobody else answered", [answer("a", 0, 4, "late")]],
    ["the tool got another answer than the one that won", [answer("a", 0, 5, "accepted"), answer("b", 0, 5, "late"), look("b", 6, 7)]],
    ["it was seen empty after it was seen full", [answer("a", 0, 0), look("a", 1, 2), look(undefined, 3, 4)]],
    ["it was seen empty after an answer was accepted", [answer("a", 0, 5, "accepted"), look(undefined, 6, 7)]],
  ])("is refused when %s", (_name, history) => {
    expect(violation(history)).toBeTypeOf("string");
  });

  test("is judged as by trying every order, on 20,000 small histories", () => {
    const random = createRandom(7);
    let refused = 0;
    const misjudged: Operation[][] = [];
    for (let round = 0; round < 20_000; round += 1) {
      const history = Array.from({ length: random.between(1, 4) }, (_, i): Operation => {
        const beganAtMs = random.between(0, 6);
        const endedAtMs = beganAtMs + random.between(0, 4);
        if (random.chance(0.3)) return look(random.pick([undefined, "0", "1", "2"]), beganAtMs, endedAtMs);
        return answer(String(i), beganAtMs, endedAtMs, random.pick([undefined, "accepted", "late", "duplicate"] as const));
      });
      const allowed = someOrderFits(history);
      if ((violation(history) === undefined) !== allowed) misjudged.push(history);
      if (!allowed) refused += 1;
    }
    expect(misjudged).toEqual([]);
    // Both kinds came up often enough to mean something.
    expect(refused).toBeGreaterThan(2_000);
    expect(refused).toBeLessThan(18_000);
  });
});

/** The definition itself: some order that keeps to the times, in which unanswered operations may be left out. */
function someOrderFits(history: readonly Operation[], register?: string): boolean {
  if (history.every(({ endedAtMs }) => endedAtMs === Infinity)) return true;
  return history.some((first, i) => {
    const rest = history.filter((_, j) => j !== i);
    // What ended before this one began comes first.
    if (rest.some(({ endedAtMs }) => endedAtMs < first.beganAtMs)) return false;
    if (first.type === "look") return first.value === register && someOrderFits(rest, register);
    const lost = first.receipt === undefined && someOrderFits(rest, register);
    const says = register === undefined ? "accepted" : register === first.value ? "duplicate" : "late";
    // Sent again behind its sender's back, the first is accepted and the second, told, is a duplicate.
    const told = first.receipt === undefined || first.receipt === says || (says === "accepted" && first.receipt === "duplicate");
    return lost || (told && someOrderFits(rest, register ?? first.value));
  });
}
