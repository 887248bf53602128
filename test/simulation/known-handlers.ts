/** Handlers that replay once got wrong, by the number of their finding, each with the rules by which that shows. */
import { drawChoices } from "./choices.ts";
import { type Lock, PLAINEST } from "./locks.ts";
import type { Node, Program } from "./program.ts";
import type { Rule } from "./rules.ts";
import { simulate } from "./simulate.ts";

export interface KnownHandler {
  readonly finding: number;
  readonly name: string;
  readonly program: Program;
  readonly breaks: readonly Rule[];
}

const step = (name: string): Node => ({ op: "step", name });
const ask = (name: string): Node => ({ op: "ask", name });
const pure = (...body: Node[]): Program => ({ kind: "pure", attempts: 1, body });

const read = (row: string): Node => ({ op: "read", source: "cache", row });
const seq = (...body: Node[]): Node => ({ op: "seq", body });
const reading = (...body: Node[]): Program => ({ kind: "reading", attempts: 1, body });
const locking = (doneBy: Lock["doneBy"], ...body: Node[]): Program => ({ ...reading(...body), locks: [{ ...PLAINEST, doneBy }] });
const lock = (body: Node): Node => ({ op: "lock", lock: 0, body });

export const KNOWN_HANDLERS: readonly KnownHandler[] = [
  {
    finding: 1,
    name: "a step fails before anybody awaits it",
    program: pure(
      { op: "start", id: 1, body: step("flight") },
      { op: "start", id: 2, body: { op: "step", name: "hotel", fails: null } },
      { op: "await", id: 1 },
      { op: "try", body: { op: "await", id: 2 } },
    ),
    breaks: ["unhandled"],
  },
  {
    finding: 2,
    name: "a map whose items take two steps of shared names, and then a question",
    program: pure({ op: "map", times: 2, body: { op: "seq", body: [step("fetch"), step("charge")] } }, ask("last")),
    breaks: ["mix-up", "key"],
  },
  {
    finding: 3,
    name: "a question against a patience, and a later question that outlasts it",
    program: pure({ op: "race", body: [ask("approve"), { op: "sleep", name: "patience", ms: 5_000 }] }, step("pay"), ask("last")),
    breaks: ["failure"],
  },
  {
    finding: 4,
    name: "two people race, and the loser answers later",
    program: pure({ op: "race", body: [ask("alice"), ask("bob")] }, step("pay"), ask("last")),
    breaks: ["failure"],
  },
  {
    finding: 5,
    name: "a uuid that a step hands on",
    program: pure({ op: "fact", fact: "uuid" }, step("create")),
    breaks: ["input"],
  },
  {
    finding: 6,
    name: "a branch throws while another's step is at work, and the handler is tried again",
    program: {
      kind: "pure",
      attempts: 2,
      body: [
        {
          op: "all",
          body: [
            step("charge"),
            {
              op: "seq",
              body: [
                { op: "micro", times: 1 },
                { op: "throw", first: 1 },
              ],
            },
          ],
        },
      ],
    },
    breaks: ["leftover", "beside"],
  },
  {
    finding: 7,
    name: "a branch that waits outside ctx, and then takes a step, beside open questions",
    program: {
      kind: "delayed",
      attempts: 1,
      body: [
        {
          op: "all",
          body: [
            { op: "seq", body: [{ op: "outside" }, step("report")] },
            { op: "seq", body: [step("prepare"), ask("approve")] },
            ask("confirm"),
          ],
        },
      ],
    },
    breaks: ["failure"],
  },
  {
    finding: 8,
    name: "new code that returns before a recorded step",
    program: { kind: "changed", attempts: 1, body: [{ op: "changed" }, step("charge"), ask("last")] },
    breaks: ["skipped"],
  },
  {
    finding: 15,
    name: "a map whose items ask and then take a step of a shared name",
    program: pure({ op: "map", times: 2, body: { op: "seq", body: [{ op: "ask", name: "ok", each: true }, step("charge")] } }),
    breaks: ["mix-up", "key"],
  },
  {
    finding: 16,
    name: "items that read and take a lock, whose holder does the work of those who wait, and awaits it",
    program: locking("who lets go, awaited", { op: "map", times: 3, body: seq(read("x"), lock(step("charge"))) }, ask("last")),
    breaks: ["mix-up", "key"],
  },
  {
    finding: 17,
    name: "items that read and then sleep, before a step of a shared name",
    program: reading(
      {
        op: "all",
        body: [
          seq(read("x"), { op: "sleep", name: "one", ms: 10 }, step("charge")),
          seq(read("y"), { op: "sleep", name: "two", ms: 10 }, step("charge")),
        ],
      },
      ask("last"),
    ),
    breaks: ["key"],
  },
];

/** Under how many schedules a handler was run before one of the rules broke; undefined: none did. */
export async function schedulesUntilBroken(
  program: Program,
  { rules, schedules }: { readonly rules: readonly Rule[]; readonly schedules: number },
): Promise<number | undefined> {
  for (let schedule = 1; schedule <= schedules; schedule += 1) {
    const { violations } = await simulate(program, drawChoices(`schedule ${schedule}`));
    if (violations.some(({ rule }) => rules.includes(rule))) return schedule;
  }
  return undefined;
}
