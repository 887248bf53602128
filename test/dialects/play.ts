/** Plays one scenario in one dialect against a deployment, and reads the outcome. */
import { randomUUID } from "node:crypto";
import { startProxy } from "../support/proxy.ts";
import { until } from "../support/until.ts";
import { type Call, type Dialect, failedWith, type Question, type Told } from "./dialect.ts";
import type { Stored } from "./end-state.ts";
import { type EndState, type Reply, type Scenario, SCENARIOS, type ScenarioName } from "./scenarios.ts";

export interface Played {
  readonly told: Told;
  /** Undefined when the tool was never called. */
  readonly end: EndState | undefined;
  /** Questions in the order in which they reached the client. */
  readonly asked: readonly string[];
  readonly ms: number;
}

export interface Stage {
  readonly frontEnds: readonly string[];
  readonly stored: Stored;
  /** How long a run may take to its end. */
  readonly patienceMs: number;
}

export async function play(dialect: Dialect, scenarioName: ScenarioName, { frontEnds, stored, patienceMs }: Stage): Promise<Played> {
  const scenario: Scenario = SCENARIOS[scenarioName];
  const startedAt = Date.now();
  const marker = `${dialect.name}: ${scenarioName}: ${randomUUID()}`;
  let proxy = await startProxy(frontEnds);
  const asked: string[] = [];
  const firstAsked = Promise.withResolvers<void>();
  const returned = Promise.withResolvers<void>();
  // Nobody is left waiting for a question that will never be closed.
  const over = Promise.withResolvers<void>();

  const allAnswered = async () => {
    const task = await stored.taskOf(marker);
    return task && task.asks.length === 0;
  };
  const closed = () => Promise.race([until(allAnswered, { timeoutMs: patienceMs, everyMs: 50 }), over.promise]);
  async function respond({ message }: Question): Promise<Reply> {
    const question = Object.keys(scenario.replies).find((each) => message.startsWith(each));
    if (question === undefined) throw new Error(`nobody was to be asked: ${message}`);
    const replies = scenario.replies[question] ?? [];
    const times = asked.filter((each) => each.startsWith(question)).length;
    asked.push(message);
    firstAsked.resolve();
    const reply = replies[Math.min(times, replies.length - 1)];
    if (!reply) throw new Error(`no reply is left to: ${message}`);
    if (scenario.meanwhile === "leave") await Promise.race([returned.promise, over.promise]);
    else if (scenario.meanwhile !== undefined) await closed();
    return reply;
  }

  const call: Call = {
    url: `${proxy.url}/mcp`,
    tool: scenario.tool,
    args: { marker },
    meanwhile: scenario.meanwhile,
    respond,
    asked: firstAsked.promise,
    closed,
    cut: () => proxy.cut(),
    async vanish() {
      await proxy.close();
      proxy = await startProxy(frontEnds);
      return `${proxy.url}/mcp`;
    },
    back: returned.resolve,
  };
  try {
    const told = await within(patienceMs, dialect.run(call)).catch(failedWith);
    // A client that gave up may know so before the task does.
    const finished = async () => {
      const task = await stored.taskOf(marker);
      return task && task.asks.length === 0 && task.status !== "working" ? task : undefined;
    };
    const task = await until(finished, { timeoutMs: 2_000, everyMs: 50 }).catch(() => stored.taskOf(marker));
    return { told, end: task && (await stored.endOf(task)), asked, ms: Date.now() - startedAt };
  } finally {
    over.resolve();
    await proxy.close();
  }
}

async function within<Value>(ms: number, work: Promise<Value>): Promise<Value> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`not over within ${ms} ms`)), ms);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
