/**
 * Racing answers: many senders answer one ask at once, each with its own value, through front ends that are killed during the race, while
 * others read. Every operation is recorded with its times, and the history of every ask is checked (linearizability.ts).
 */
import { appendFile } from "node:fs/promises";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, createClient, type TaskState } from "../client.ts";
import { type Fault, type FaultWeights, injectFaults } from "../faults.ts";
import { inParallel } from "../in-parallel.ts";
import { createRandom, type Random } from "../random.ts";
import { startSystem } from "../system.ts";
import type { Topology } from "../../topologies/topology.ts";
import { type Operation, violation } from "./linearizability.ts";

export interface RaceOptions {
  readonly seed: number;
  readonly answers: number;
  readonly limitMs: number;
  readonly topology: (directory: string) => Promise<Topology>;
  /** Where the whole history goes, one operation a line, for other checkers. */
  readonly history?: string | undefined;
  readonly progress: (line: string) => void;
}

export interface RaceReport {
  readonly seed: number;
  readonly asks: number;
  readonly answers: number;
  readonly accepted: number;
  /** Accepted, by a request that was sent to Redis twice. */
  readonly duplicate: number;
  readonly late: number;
  /** Their front end died, or said nothing in time. */
  readonly unanswered: number;
  readonly looks: number;
  readonly faults: Readonly<Partial<Record<Fault, number>>>;
  readonly seconds: number;
  readonly violations: readonly string[];
}

const FRONT_ENDS = 5;
const SENDERS = 20;
const LOOKS = 4;
/** Asks raced for at once. */
const RACES = 16;
const ASK = "winner";
const WEIGHTS: FaultWeights = { "kill front end": 16, "stop front end": 1, "kill worker": 1, "cut connections": 2 };

export async function race({ seed, answers, limitMs, topology: start, history, progress }: RaceOptions): Promise<RaceReport> {
  const startedAtMs = performance.now();
  const directory = await mkdtemp(join(tmpdir(), "parley-races-"));
  const topology = await start(directory);
  const system = await startSystem({ topology, directory, frontEnds: FRONT_ENDS, workers: 2 });
  const client = createClient(system.url, { timeoutMs: 3_000, connections: RACES * (SENDERS + LOOKS) });
  const random = createRandom(seed);
  const asks = Math.ceil(answers / SENDERS);
  const histories: Operation[][] = [];
  const violations: string[] = [];
  const limit = AbortSignal.timeout(limitMs);
  try {
    const enough = new AbortController();
    const breaking = injectFaults(system, {
      random: random.fork("faults"),
      weights: WEIGHTS,
      taskIds: [],
      over: enough.signal,
      tell: () => undefined,
    });
    await inParallel(RACES, asks, async (number) => {
      if (limit.aborted) return;
      const operations = await raceOnce(client, { evidence: system.evidence, number, random: random.fork(number), over: limit });
      histories.push(operations);
      const wrong = violation(operations);
      if (wrong !== undefined) violations.push(`ask ${number}: ${wrong}`);
      if (history !== undefined)
        await appendFile(history, operations.map((each) => `${JSON.stringify({ ask: number, ...each })}\n`).join(""));
      if (histories.length % 500 === 0) progress(`${histories.length} of ${asks} asks raced for, ${violations.length} violations`);
    });
    enough.abort();
    const faults = await breaking;
    const all = histories.flat();
    const sent = all.filter(({ type }) => type === "answer");
    const told = (receipt: Operation["receipt"]) => sent.filter((each) => each.receipt === receipt).length;
    return {
      seed,
      asks: histories.length,
      answers: sent.length,
      accepted: told("accepted"),
      duplicate: told("duplicate"),
      late: told("late"),
      unanswered: told(undefined),
      looks: all.length - sent.length,
      faults: Object.fromEntries(faults),
      seconds: Math.round((performance.now() - startedAtMs) / 1_000),
      violations: histories.length < asks ? [...violations, `only ${histories.length} of ${asks} asks within the time`] : violations,
    };
  } finally {
    client.close();
    await system.close();
    await topology.close();
    await rm(directory, { recursive: true, force: true, maxRetries: 5 });
  }
}

interface OneRace {
  readonly evidence: string;
  readonly number: number;
  readonly random: Random;
  readonly over: AbortSignal;
}

async function raceOnce(client: Client, { evidence, number, random, over }: OneRace): Promise<Operation[]> {
  const taskId = await openAsk(client, { evidence, number, over });
  if (taskId === undefined) return [];
  const operations: Operation[] = [];
  const began = () => performance.now();
  const answer = async (value: string) => {
    // Spread over about the time that a request takes, so that some find the ask open and some do not.
    await sleep(random.between(0, 25));
    const beganAtMs = began();
    const said = await client.answer(taskId, { [ASK]: value });
    const receipt = said.type === "done" ? (said.result[ASK] as Operation["receipt"]) : undefined;
    operations.push({ type: "answer", beganAtMs, endedAtMs: receipt === undefined ? Infinity : performance.now(), value, receipt });
  };
  const look = async () => {
    await sleep(random.between(0, 40));
    const beganAtMs = began();
    const said = await client.get(taskId);
    // A task that works on has its answer, but does not say which: no more than a finished one will.
    if (said.type !== "done" || said.result.status === "working") return;
    operations.push({ type: "look", beganAtMs, endedAtMs: performance.now(), value: winnerOf(said.result) });
  };
  await Promise.all([
    ...Array.from({ length: SENDERS }, (_, sender) => answer(`${number}/${sender}`)),
    ...Array.from({ length: LOOKS }, look),
  ]);
  if (operations.some(({ receipt }) => receipt !== undefined)) await lookAtEnd(client, { taskId, over, operations });
  return operations;
}

/** A caller that got no reply may still win: a look counts when the task has ended, which is when nobody can any more. */
async function lookAtEnd(
  client: Client,
  { taskId, over, operations }: { taskId: string; over: AbortSignal; operations: Operation[] },
): Promise<void> {
  while (!over.aborted) {
    const beganAtMs = performance.now();
    const said = await client.get(taskId);
    if (said.type === "done" && said.result.status !== "working") {
      operations.push({ type: "look", beganAtMs, endedAtMs: performance.now(), value: winnerOf(said.result) });
      if (said.result.status === "completed") return;
    }
    await sleep(100);
  }
}

async function openAsk(
  client: Client,
  { evidence, number, over }: { evidence: string; number: number; over: AbortSignal },
): Promise<string | undefined> {
  let taskId: string | undefined;
  while (!over.aborted) {
    if (taskId === undefined) {
      const said = await client.call({ lifecycle: number, evidence, actions: [{ do: "ask", names: [ASK] }] });
      if (said.type === "done") ({ taskId } = said.result);
    } else {
      const said = await client.get(taskId);
      if (said.type === "done" && said.result.status === "input_required") return taskId;
    }
    await sleep(20);
  }
  return undefined;
}

/** What the tool got, undefined while its ask is open. */
function winnerOf({ status, result }: TaskState): string | undefined {
  if (status !== "completed") return undefined;
  return (JSON.parse(result?.content[0]?.text ?? "") as { answers: Record<string, string> }).answers[ASK];
}
