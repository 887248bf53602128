import { expect, test } from "vitest";
import type { AskSummary } from "../client/api-client.ts";
import { toolText, whenAsked, whoAsks } from "./asked.ts";

const NOW_MS = Date.parse("2026-11-29T09:00:00Z");
const ASK: AskSummary = {
  taskId: "0-a",
  key: "amount",
  kind: "form",
  message: "How much?",
  tool: "pay",
  owner: { principal: "ann", isCaller: false },
  askedAt: "2026-11-29T08:57:00Z",
  deadline: "2026-12-01T09:00:00Z",
  priority: "normal",
  onTimeout: "decline",
};

test.each([
  [{ principal: "u_1", isCaller: true, name: "Ann Lee" }, "pay asks"],
  [
    { principal: "u_1", isCaller: false, name: "Ann Lee", email: "ann@acme.io", subject: "7" },
    "pay asks, in a call of Ann Lee (ann@acme.io)",
  ],
  [{ principal: "u_1", isCaller: false, name: "Ann\u001b[2J Lee", subject: "7\n8" }, "pay asks, in a call of Ann Lee (sub:7 8)"],
  // Of a version that kept no names.
  [{ principal: "u_1", isCaller: false }, "pay asks, in a call of u_1"],
])("a question of the call of %j is headed %j", (owner, heading) => {
  expect(whoAsks({ ...ASK, owner })).toBe(heading);
});

test.each([
  [{ tool: "pay" }, "pay", "pay"],
  [{ tool: "pay", toolTitle: "Pay a bill" }, "Pay a bill", "Pay a bill (pay)"],
  [{ tool: "pay", toolTitle: "Pay\u001b[2J\na \u202ebill" }, "Pay a bill", "Pay a bill (pay)"],
  [{ tool: "pay", toolTitle: "\u202e" }, "pay", "pay"],
])("the tool %j is called %j in a prompt and %j in a list", (tool, inPrompt, inList) => {
  const ask = { ...ASK, ...tool };
  expect([whoAsks(ask), whoAsks(ask, true), toolText(ask)]).toEqual([
    `${inPrompt} asks, in a call of ann`,
    `${inList} asks, in a call of ann`,
    inList,
  ]);
});

test("a question says who is on it, who handed it on, and how many comments it has, by names without escape sequences", () => {
  const plain = "asked 3 minutes ago · closes in 2 days, and then it counts as declined";
  expect(whenAsked(ASK, NOW_MS)).toBe(plain);
  const bob = { principal: "b0b", name: "bob\u001b[2J@example.com", isCaller: false };
  const until = "2026-11-29T09:10:00Z";
  const delegatedBy = { principal: "eve", isCaller: false };
  expect(whenAsked({ ...ASK, claimedBy: { ...bob, until }, commentCount: 2, delegatedBy }, NOW_MS)).toBe(
    `${plain} · bob@example.com is on it · handed on by eve · 2 comments`,
  );
  expect(whenAsked({ ...ASK, claimedBy: { ...bob, isCaller: true, until }, commentCount: 1 }, NOW_MS)).toBe(
    `${plain} · you are on it · 1 comment`,
  );
});

test("a question says what happened and what comes next while nobody answers", () => {
  const plain = "asked 3 minutes ago · closes in 2 days, and then it counts as declined";
  const leads = { groups: ["le\u001b[2Jads"] };
  const upcoming = [
    { what: "reminded" as const, at: "2026-11-29T10:00:00Z" },
    { what: "escalated" as const, at: "2026-11-29T12:00:00Z", to: leads },
  ];
  expect(whenAsked({ ...ASK, upcoming }, NOW_MS)).toBe(`${plain} · reminder in 60 minutes`);
  expect(whenAsked({ ...ASK, remindedAt: "2026-11-29T08:58:00Z", upcoming: upcoming.slice(1) }, NOW_MS)).toBe(
    `${plain} · reminded 2 minutes ago · in 3 hours also asked: leads`,
  );
  expect(whenAsked({ ...ASK, escalatedTo: [leads, "tenant"], upcoming: [] }, NOW_MS)).toBe(
    `${plain} · also asked: leads, everyone in your organisation`,
  );
});
