/** Ways to break Parley, each with the rule that must detect it. If the code that one of them changes is changed, update it here. */
import type { Fault } from "../faults.ts";
import type { Rule } from "../story.ts";

export interface Sabotage {
  readonly name: string;
  readonly file: string;
  /** Occurs in the file exactly once. */
  readonly find: string;
  readonly replace: string;
  /** At least this rule must be violated. */
  readonly breaks: Rule;
  readonly lifecycles: number;
  /** The faults of the run; all of them by default. */
  readonly faults?: readonly Fault[];
}

export const SABOTAGES: readonly Sabotage[] = [
  {
    name: "no fencing: a worker that was replaced keeps writing",
    file: "packages/redis/scripts/task.lua",
    find: "if state and state.token == token then return state end",
    replace: "if state and state.token then return state end",
    breaks: "effects",
    lifecycles: 200,
    faults: ["stop worker", "frozen connections"],
  },
  {
    name: "no sweep: overdue tasks stay overdue",
    file: "packages/core/use-cases/sweep.ts",
    find: "queue.add(",
    replace: "(async (_run: unknown) => undefined)(",
    breaks: "rest",
    lifecycles: 60,
  },
  {
    name: "late watch: a call is woken only by what happens 30 ms after its creation",
    file: "packages/core/use-cases/watch-task.ts",
    find: "        leave = await wakeUps.watch(taskId, (change) => {\n",
    replace:
      "        isProven = true;\n" + "        await clock.sleep(30);\n" + "        leave = await wakeUps.watch(taskId, (change) => {\n",
    breaks: "wake-ups",
    lifecycles: 20,
  },
  {
    name: "answer without claim: an answered ask can be answered again",
    file: "packages/redis/scripts/answer.lua",
    find: "  remove_ask(key, is_timeout and 'overdue' or 'answered', now_ms)\n",
    replace: "",
    breaks: "first-answer",
    lifecycles: 60,
  },
  {
    name: "expiry on one key only: a finished task's journal stays forever",
    file: "packages/redis/scripts/task/end.lua",
    find: "  redis.call('DEL', journal)\nend",
    replace: "end",
    breaks: "expiry",
    lifecycles: 40,
  },
  // Defects that the suite found when it was new.
  {
    name: "each machine's own clock",
    file: "apps/worker/worker.ts",
    find: "clock: { ...systemClock, now: redis.now }",
    replace: "clock: systemClock",
    breaks: "rest",
    lifecycles: 120,
    faults: ["clock jump"],
  },
  {
    name: "an unreachable store fails the task",
    file: "packages/core/replay/writes.ts",
    find: "        ending.fail(error);",
    replace: '        writing = Promise.resolve();\n        ending.with({ type: "threw", error, entries: [] });',
    breaks: "rest",
    lifecycles: 120,
    faults: ["redis outage", "frozen connections"],
  },
  {
    name: "a partition that was swept once is not swept again",
    file: "packages/redis/runs/sweeps.ts",
    find: "const TURN_MS = 950;",
    replace: "const TURN_MS = 950_000;",
    breaks: "rest",
    lifecycles: 120,
    faults: ["lost jobs"],
  },
];
