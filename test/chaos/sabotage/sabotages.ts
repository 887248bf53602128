/** Ways to break Parley, each with the rule by which the suite must find out. A change of the code that moves one of them changes it here. */
import type { Fault } from "../faults.ts";
import type { Rule } from "../story.ts";

export interface Sabotage {
  readonly name: string;
  readonly file: string;
  /** Stands in the file exactly once. */
  readonly find: string;
  readonly replace: string;
  /** At least this rule must be found broken. */
  readonly breaks: Rule;
  readonly lifecycles: number;
  /** What is broken meanwhile; everything when absent. */
  readonly faults?: readonly Fault[];
}

export const SABOTAGES: readonly Sabotage[] = [
  {
    name: "no fencing: a worker that was replaced writes on",
    file: "packages/redis/scripts/task.lua",
    find: "if state and state.token == token then return state end",
    replace: "if state and state.token then return state end",
    breaks: "effects",
    lifecycles: 200,
    faults: ["stop worker", "frozen connections"],
  },
  {
    name: "no sweep: what is overdue stays so",
    file: "packages/core/use-cases/sweep.ts",
    find: "queue.add(",
    replace: "(async (_run: unknown) => undefined)(",
    breaks: "rest",
    lifecycles: 60,
  },
  {
    name: "publish before register: what is told before the call watches wakes nobody",
    file: "apps/server/routes/mcp/stateless/answer-call.ts",
    find:
      "  const answered = await holdOpen({ services, waits: waitGateFor(route, exchange.caller) }, taskId, async (watch) => {\n" +
      "    // The client may have disconnected while this waited for Redis, and may have called again.\n" +
      "    if (exchange.channel.closed.aborted) return abandon(exchange);\n" +
      "    const task = await createTask(services, runnable, { ...create, hidden: true, taskId });\n",
    replace:
      "  const task = await createTask(services, runnable, { ...create, hidden: true, taskId });\n" +
      "  const answered = await holdOpen({ services, waits: waitGateFor(route, exchange.caller) }, taskId, async (watch) => {\n",
    breaks: "wake-ups",
    lifecycles: 20,
  },
  {
    name: "answer without claim: an answered ask is still there for the next",
    file: "packages/redis/scripts/answer.lua",
    find: "  remove_ask(key, is_timeout and 'overdue' or 'answered', now_ms)\n",
    replace: "",
    breaks: "first-answer",
    lifecycles: 60,
  },
  {
    name: "expiry on one key only: a task's journal and feed stay forever",
    file: "packages/redis/scripts/task.lua",
    find: "  redis.call('PEXPIREAT', journal, state.expires_at_ms)\n  redis.call('PEXPIREAT', feed, state.expires_at_ms)\n",
    replace: "",
    breaks: "expiry",
    lifecycles: 40,
  },
  // What the suite found when it was new, put back.
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
    name: "a store that is away is a failure of the task",
    file: "packages/core/replay/writes.ts",
    find: "        ending.fail(error);",
    replace: '        writing = Promise.resolve();\n        ending.with({ type: "threw", error, entries: [] });',
    breaks: "rest",
    lifecycles: 120,
    faults: ["redis outage", "frozen connections"],
  },
  {
    name: "a partition that was swept once is not swept again",
    file: "packages/redis/sweeps.ts",
    find: "const TURN_MS = 950;",
    replace: "const TURN_MS = 950_000;",
    breaks: "rest",
    lifecycles: 120,
    faults: ["lost jobs"],
  },
];
