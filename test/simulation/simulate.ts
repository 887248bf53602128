/** One case: a program, a schedule, a verdict. The same seed gives the same case, bit by bit. */
import { clonePlain } from "./clone.ts";
import { type Choices, drawChoices, replayChoices } from "./choices.ts";
import { drive } from "./drive.ts";
import { generate } from "./generate.ts";
import { judge } from "./judge.ts";
import type { Program } from "./program.ts";
import type { Violation } from "./rules.ts";
import { withStrays } from "./strays.ts";
import { createWorld } from "./world.ts";

export interface Verdict {
  readonly program: Program;
  /** Every choice of the schedule. */
  readonly choices: readonly number[];
  readonly violations: readonly Violation[];
  readonly facts: { readonly runs: number; readonly deaths: number; readonly status: string };
}

export type Tell = (line: string) => void;

export function simulateSeed(seed: number, tell?: Tell): Promise<Verdict> {
  return simulate(generate(String(seed)), drawChoices(`schedule ${seed}`), tell);
}

export function simulateKept(program: Program, choices: readonly number[], tell?: Tell): Promise<Verdict> {
  return simulate(program, replayChoices(choices), tell);
}

export async function simulate(program: Program, choices: Choices, tell?: Tell): Promise<Verdict> {
  // Errors and copies are made by the thousand here: without stacks, which nobody reads, and of plain data only.
  const { stackTraceLimit } = Error;
  const { structuredClone } = globalThis;
  Error.stackTraceLimit = 0;
  globalThis.structuredClone = clonePlain;
  try {
    return await live(program, choices, tell);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
    globalThis.structuredClone = structuredClone;
  }
}

async function live(program: Program, choices: Choices, tell?: Tell): Promise<Verdict> {
  const world = createWorld({ program, choices, tell });
  const { witness } = world;
  await withStrays(
    () => drive(world),
    (error) => witness.broke("unhandled", `a rejection reaches the process: ${String(error)}`),
  );
  // What the ideal handler leaves unheard is no finding.
  const violations = await withStrays(
    () => judge(program, witness),
    () => undefined,
  );
  const facts = {
    runs: world.jobs.length,
    deaths: [...world.services.keys()].filter(({ isAlive }) => !isAlive).length,
    status: witness.ended()?.status ?? "unfinished",
  };
  return { program, choices: choices.taken, violations, facts };
}
