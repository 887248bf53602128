import { expect, test } from "vitest";
import { CALLERS_MAX, createChallenges, FAILED_WITHIN_MS } from "./challenges.ts";

const ada = { tenant: "acme", principal: "ada" };

test("a caller may cause as many as the limit within a minute, and one more only when the first is a minute ago", () => {
  const { begin } = createChallenges(3);
  for (const atMs of [0, 10, 20]) expect(begin(ada, atMs)).toBeTypeOf("function");
  expect(begin(ada, 30)).toBe(FAILED_WITHIN_MS - 30);
  expect(begin(ada, FAILED_WITHIN_MS - 1)).toBe(1);
  expect(begin(ada, FAILED_WITHIN_MS)).toBeTypeOf("function");
  expect(begin(ada, FAILED_WITHIN_MS + 1)).toBe(9);
});

test("those that are repeated do not count, however many they are and in which order, and leave nothing", () => {
  const challenges = createChallenges(2);
  for (let times = 0; times < 10; times += 1) {
    const [one, other] = [challenges.begin(ada, times), challenges.begin(ada, times)];
    expect(challenges.begin(ada, times)).toBeTypeOf("number");
    for (const repeated of [other, one]) if (typeof repeated === "function") repeated();
  }
  expect(challenges.size).toBe(0);
});

test.each([
  ["another person", { tenant: "acme", principal: "bob" }],
  ["a person of that name in another tenant", { tenant: "other", principal: "ada" }],
])("%s is not kept from it", (_who, caller) => {
  const { begin } = createChallenges(1);
  begin(ada, 0);
  expect([typeof begin(ada, 1), typeof begin(caller, 1)]).toEqual(["number", "function"]);
});

test("callers are remembered up to a limit", () => {
  const challenges = createChallenges(1);
  for (let each = 0; each <= CALLERS_MAX; each += 1) challenges.begin({ tenant: "acme", principal: `p${each}` }, 0);
  expect(challenges.size).toBe(CALLERS_MAX);
  expect(challenges.begin({ tenant: "acme", principal: `p${CALLERS_MAX}` }, 1)).toBeTypeOf("number");
});
