import type { Json } from "@parley/core";
import { expect, test } from "vitest";
import type { Program } from "../program.ts";
import type { Death, Happening, Line } from "./evidence.ts";
import { readEvidence } from "./read-evidence.ts";

const program: Program = { kind: "outside", attempts: 1, body: [{ op: "outside" }, { op: "step", name: "a" }] };
const STEP = "step:a";
/** The simulation itself takes a step of this path for all but done when its signal is aborted. */
const PATH = "0/0/1/0/i0/0/1";
const BEGUN = { digest: "", calledAt: "0o", outcome: { type: "begun" } };
const DONE = { digest: "", calledAt: "0o", place: 1, outcome: { type: "value", value: { from: "0/1", result: 1 } } };

/** Two runs, the second of them on another process, which found this journal. The first died with the result of its step on its way. */
function violations(found: Json): readonly string[] {
  const first: Happening[] = [
    ...begins("one", 1, []),
    { type: "started", token: "one", generation: 0 },
    { type: "called", token: "one", path: "0/1", what: "step a" },
    ...records("one", BEGUN, true),
    tries("one"),
    { type: "tried", token: "one", id: "try one", how: "done" },
    ...records("one", DONE, false),
  ];
  const second: Happening[] = [
    ...begins("two", 1, [[STEP, found]]),
    { type: "started", token: "two", generation: 0 },
    { type: "called", token: "two", path: "0/1", what: "step a" },
    tries("two"),
  ];
  const lines: Line[] = [...first.map((each) => ({ ...each, pid: 1 })), ...second.map((each) => ({ ...each, pid: 2 }))].map((line, at) => ({
    ...line,
    atMs: at,
  }));
  const deaths: Death[] = [{ pid: 1, atMs: first.length - 0.5 }];
  const { witness } = readEvidence({ program, lines, deaths, last: undefined });
  return witness.violations.map(({ rule, what }) => `${rule}: ${what}`);
}

function begins(token: string, run: number, journal: Json): Happening[] {
  const id = `begin ${token}`;
  return [
    { type: "sent", id, name: "begin", request: { token, run, nowMs: 0, leaseMs: 1_000 } },
    { type: "replied", id, result: { type: "begun", journal } },
  ];
}

function records(token: string, entry: Json, isReplied: boolean): Happening[] {
  const id = `record ${token} ${JSON.stringify(entry)}`;
  const request = { token, nowMs: 0, leaseMs: 1_000, entries: [{ key: STEP, entry }] };
  return [{ type: "sent", id, name: "record", request }, ...(isReplied ? [{ type: "replied", id, result: "recorded" } as const] : [])];
}

function parks(token: string): Happening[] {
  const id = `park ${token}`;
  const request = { token, nowMs: 0, entries: [], asks: [], attempt: 1 };
  return [
    { type: "sent", id, name: "park", request },
    { type: "replied", id, result: { type: "parked" } },
  ];
}

function tries(token: string, path = "0/1"): Happening {
  const step = { path, data: 1, fails: 0, deaf: false, attempt: 1, idempotencyKey: "0-task.a" };
  return { type: "tries", token, id: `try ${token}`, ...step };
}

test("a step that heeded its signal is not done, so the next run may do it", () => {
  const happened: Happening[] = [
    ...begins("one", 1, []),
    { type: "started", token: "one", generation: 0 },
    { type: "called", token: "one", path: PATH, what: "step a" },
    tries("one", PATH),
    { type: "tried", token: "one", id: "try one", how: "aborted" },
    { type: "over", token: "one" },
    ...parks("one"),
    ...begins("two", 2, []),
    { type: "started", token: "two", generation: 0 },
    { type: "called", token: "two", path: PATH, what: "step a" },
    tries("two", PATH),
  ];
  const lines = happened.map((each, atMs): Line => ({ ...each, pid: 1, atMs }));
  const { witness } = readEvidence({ program, lines, deaths: [], last: undefined });
  expect(witness.violations).toEqual([]);
});

test("a result whose sender died is recorded if the next run found it", () => {
  expect(violations(DONE)).toEqual(["repeat: 0/1 is tried again after it was recorded"]);
});

test("a result whose sender died is not recorded if the next run found only that the step had begun", () => {
  expect(violations(BEGUN)).toEqual([]);
});
