/**
 * Calls that wait for approval while things break, and while the rules change: approvals, refusals, changed arguments, two answers at once, answers of those
 * who may not, nobody. At the end everything that ran must have been approved as it ran, once (judge.ts).
 */
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Topology } from "../../topologies/topology.ts";
import { audit, isAtRest } from "../audit.ts";
import { type Client, createClient, type TaskState } from "../client.ts";
import { readEvidence } from "../evidence.ts";
import { type Fault, type FaultWeights, injectFaults } from "../faults.ts";
import { startGuard } from "../guard.ts";
import { inParallel } from "../in-parallel.ts";
import { createRandom, type Random } from "../random.ts";
import { startSystem, type System } from "../system.ts";
import { type Answer, type Args, CLOSED, type Finding, judge, judgeCompared, type Sent, SMALL, type Story } from "./judge.ts";

export interface ApprovalChaos {
  readonly seed: number;
  readonly calls: number;
  /** Calls at once. */
  readonly people: number;
  readonly weights: FaultWeights;
  readonly limitMs: number;
  readonly topology: (directory: string) => Promise<Topology>;
  readonly progress: (line: string) => void;
}

export interface ApprovalReport {
  readonly seed: number;
  readonly topology: string;
  readonly calls: number;
  readonly acknowledged: number;
  /** How many calls were not, by what their clients heard. */
  readonly unacknowledged: string;
  readonly ran: number;
  readonly repeated: number;
  readonly edited: number;
  readonly compared: number;
  readonly answers: number;
  readonly rulesWritten: number;
  readonly seconds: number;
  readonly faults: Readonly<Partial<Record<Fault, number>>>;
  readonly findings: readonly Finding[];
}

const TOOL = join(import.meta.dirname, "../tools/act.ts");
const PEOPLE = { ann: {}, bob: { groups: ["ops"] }, carol: { groups: ["ops"] } };
type Who = keyof typeof PEOPLE;

const KINDS = { yes: 5, edited: 5, "edited to closed": 1, no: 2, race: 4, twice: 2, self: 1, nobody: 1, cancelled: 1, small: 2, closed: 1 };
type Kind = keyof typeof KINDS;

/** Long enough for an outage, short enough that calls expire in a run. */
const TIMEOUT_S = 30;
const REST_MS = 120_000;
const ASK = "parley.approval";

function rulesOf(variant: "first" | "second" | "shut"): string {
  const acts =
    variant === "shut"
      ? "action: deny, reason: Shut."
      : `action: approve, title: Acting ${variant}, by: { groups: [ops] }, not: caller, edit: [amount, to], diff: caller, redact: [/evidence], timeout: ${TIMEOUT_S}s`;
  return `
default: allow
rules:
  - { name: closed, tools: [act], when: "args.amount == ${CLOSED}", action: deny, reason: Closed. }
  - { name: small, tools: [act], when: "args.amount < ${SMALL}", action: allow }
  - { name: acts, tools: [act], ${acts} }
`;
}

export async function runApprovalChaos(options: ApprovalChaos): Promise<ApprovalReport> {
  const directory = await mkdtemp(join(tmpdir(), "parley-chaos-"));
  const topology = await options.topology(directory);
  const guard = await startGuard(directory, PEOPLE);
  const rules = join(directory, "rules.yaml");
  await writeFile(rules, rulesOf("first"));
  try {
    const env = { PARLEY_RULES: rules };
    const system = await startSystem({ topology, directory, frontEnds: 3, workers: 3, guard, tools: TOOL, env });
    try {
      return await breakAndJudge(system, { ...options, rules, token: guard.token });
    } finally {
      await system.close();
    }
  } finally {
    await topology.close();
    await guard.close();
    await rm(directory, { recursive: true, force: true, maxRetries: 5 });
  }
}

interface Breaking extends ApprovalChaos {
  readonly rules: string;
  readonly token: (who?: string) => string;
}

async function breakAndJudge(system: System, options: Breaking): Promise<ApprovalReport> {
  const { seed, calls, people, weights, limitMs, progress, token } = options;
  const startedAtMs = performance.now();
  const random = createRandom(seed);
  const client = createClient(system.url, { timeoutMs: 3_000, connections: people * 4, token: () => token("ann") });
  const limit = AbortSignal.timeout(limitMs);
  const enough = new AbortController();
  const taskIds: string[] = [];
  const stories: Story[] = [];
  const unheard = new Map<string, number>();
  try {
    const breaking = injectFaults(system, { random: random.fork("faults"), weights, taskIds, over: enough.signal, tell: () => undefined });
    const ruling = changeRules(options, enough.signal);
    await inParallel(people, calls, async (id) => {
      if (limit.aborted) return;
      const own = random.fork(`call ${id}`);
      // A call of which nothing was heard may have become a task, so it is not made again: another one is.
      for (let attempt = 0; !limit.aborted; attempt += 1) {
        const told = (taskId: string) => taskIds.push(taskId);
        const story = await live({ id: id + attempt * calls, random: own.fork(attempt), client, system, token, limit, told });
        stories.push(story);
        if (story.taskId !== undefined) break;
        unheard.set(story.unheard ?? "", (unheard.get(story.unheard ?? "") ?? 0) + 1);
        await sleep(own.between(100, 1_000));
      }
      if (taskIds.length % 500 === 0) progress(`${taskIds.length} calls`);
    });
    enough.abort();
    const [faults, rulesWritten] = await Promise.all([breaking, ruling]);
    progress("everything is made good, the rest comes to an end");
    const restAtMs = performance.now() + REST_MS;
    while (!(await isAtRest(system)) && performance.now() < restAtMs) await sleep(500);
    const judged = await judgeAll(system, client, stories);
    return {
      ...judged,
      seed,
      topology: system.topology.name,
      calls: stories.length,
      acknowledged: taskIds.length,
      unacknowledged: [...unheard].map(([why, count]) => `${count} ${why}`).join(", "),
      compared: stories.filter(({ compared }) => compared).length,
      answers: stories.reduce((sum, { sent }) => sum + sent.filter(({ receipt }) => receipt === "accepted").length, 0),
      rulesWritten,
      seconds: Math.round((performance.now() - startedAtMs) / 1_000),
      faults: Object.fromEntries(faults),
    };
  } finally {
    client.close();
  }
}

/** Now and then other rules, half of a file, or none. Leaves the first ones. Returns how often. */
async function changeRules({ rules, seed }: Breaking, over: AbortSignal): Promise<number> {
  const random = createRandom(`${seed}/rules`);
  let written = 0;
  const write = async (text: string) => {
    await writeFile(`${rules}.new`, text);
    await rename(`${rules}.new`, rules);
    written += 1;
  };
  while (!over.aborted) {
    await sleep(random.between(6_000, 14_000), undefined, { signal: over }).catch(() => undefined);
    const next = random.weighted({ first: 4, second: 4, shut: 1, half: 1, gone: 1 });
    if (next === "half") await writeFile(rules, rulesOf("second").slice(0, random.between(1, 200)));
    else if (next === "gone") await rm(rules, { force: true });
    else await write(rulesOf(next));
    if (next === "shut") await sleep(random.between(4_000, 6_000), undefined, { signal: over }).catch(() => undefined);
    // What is broken is mended, as operators do.
    if (next === "shut" || next === "half" || next === "gone") await write(rulesOf(random.pick(["first", "second"] as const)));
  }
  await write(rulesOf("first"));
  return written;
}

interface Living {
  readonly id: number;
  readonly random: Random;
  readonly client: Client;
  readonly system: System;
  readonly token: Breaking["token"];
  readonly limit: AbortSignal;
  readonly told: (taskId: string) => void;
}

async function live({ id, random, client, system, token, limit, told }: Living): Promise<Story> {
  const kind = random.weighted<Kind>(KINDS);
  const args = argsOf(kind, random);
  const sent: Sent[] = [];
  const story = { id, kind, args, sent, isCancelled: kind === "cancelled" };
  const called = await client.call({ id, evidence: system.evidence, ...args }, "act");
  if (called.type !== "done") return { ...story, unheard: called.type === "refused" ? called.code : "nothing" };
  const { taskId } = called.result;
  told(taskId);
  const asks = new URL(`/api/v1/asks/${taskId}/${ASK}`, system.url);

  const isOver = async () => {
    const state = await client.get(taskId);
    return state.type === "done" && ENDED.has(state.result.status);
  };
  async function request(who: Who, body?: object) {
    try {
      const headers = { authorization: `Bearer ${token(who)}`, "content-type": "application/json" };
      const init = { headers, signal: AbortSignal.timeout(3_000), ...(body && { method: "POST", body: JSON.stringify(body) }) };
      const response = await fetch(asks, init);
      return { status: response.status, body: (await response.json()) as Reply };
    } catch {
      return undefined;
    }
  }
  /** Repeats the same answer until something is known of it. */
  async function answer(who: Who, given: Answer): Promise<void> {
    let receipt: Sent["receipt"];
    while (receipt === undefined && !limit.aborted) {
      const reply = await request(who, given);
      const { status = 503 } = reply ?? {};
      if (status === 200) receipt = reply?.body.receipt === "duplicate" ? "duplicate" : "accepted";
      else if (status === 409) receipt = "late";
      else if (status === 403) receipt = "forbidden";
      else if (status === 404) receipt = "unknown";
      else if (status === 422) receipt = "invalid";
      else await sleep(random.between(100, 500));
    }
    sent.push({ who, answer: given, ...(receipt && { receipt }) });
  }

  let compared: Story["compared"];
  for (let isOpen = false; !isOpen && !limit.aborted;) {
    const read = await request("bob");
    isOpen = read?.status === 200 && read.body.state === "open";
    if (isOpen) compared = comparedIn(read?.body);
    else if (await isOver()) return { ...story, taskId, compared };
    else await sleep(random.between(100, 400));
  }
  await sleep(random.between(0, 1_500));
  const yes: Answer = { action: "accept", content: args };
  const edited: Answer = {
    action: "accept",
    content: { amount: random.between(SMALL, 500), to: random.pick([args.to, `to-${id}-edited`]) },
  };
  const no: Answer = { action: "decline" };
  switch (kind) {
    case "no":
      await answer("bob", no);
      break;
    case "edited":
      await answer("carol", edited);
      break;
    case "edited to closed":
      await answer("bob", { action: "accept", content: { ...args, amount: CLOSED } });
      break;
    case "race":
      await Promise.all([answer("bob", random.pick([yes, edited])), answer("carol", random.pick([no, edited, yes]))]);
      break;
    case "twice":
      await Promise.all([answer("bob", yes), answer("bob", yes), answer("bob", yes)]);
      break;
    case "self":
      await answer("ann", yes);
      await answer("bob", random.pick([yes, no]));
      break;
    case "cancelled":
      await Promise.all([client.cancel(taskId), random.chance(0.5) && answer("bob", yes)]);
      break;
    case "nobody":
      break;
    default:
      await answer("bob", yes);
  }
  // Cancelled for certain, however its request went.
  while (!limit.aborted && !(await isOver())) {
    if (kind === "cancelled") await client.cancel(taskId);
    await sleep(random.between(200, 800));
  }
  return { ...story, taskId, compared };
}

function argsOf(kind: Kind, random: Random): Args {
  const to = `to-${random.between(1, 1_000_000)}`;
  if (kind === "small") return { amount: random.between(1, SMALL - 1), to };
  return { amount: kind === "closed" ? CLOSED : random.between(SMALL, 500), to };
}

interface Reply {
  readonly state?: string;
  readonly receipt?: string;
  readonly context?: readonly { readonly type: string; readonly before?: string }[];
}

/** From the lines of the comparison: `id: 12`. */
function comparedIn({ context = [] }: Reply = {}): Story["compared"] {
  const before = context.find(({ type }) => type === "diff")?.before;
  if (before === undefined) return undefined;
  const valueOf = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(before)?.[1] ?? "";
  return { id: Number(valueOf("id")), amount: Number(valueOf("amount")), to: valueOf("to") };
}

async function judgeAll(system: System, client: Client, stories: readonly Story[]) {
  const marks = [...(await readEvidence(system.evidence)).values()].flat();
  const evidence = Map.groupBy(marks, ({ value }) => (JSON.parse(value) as { id: number }).id);
  const findings: Finding[] = [...judgeCompared(stories, evidence)];
  const counts = { ran: 0, repeated: 0, edited: 0 };
  await inParallel(20, stories.length, async (at) => {
    const story = stories[at];
    if (!story) return;
    const last = story.taskId === undefined ? undefined : await lastLook(client, story.taskId);
    const { findings: found, hasRun, isRepeated, isEdited } = judge(story, last, evidence.get(story.id) ?? []);
    findings.push(...found);
    counts.ran += Number(hasRun);
    counts.repeated += Number(isRepeated);
    counts.edited += Number(isEdited);
  });
  const stored = await audit(system, new Set(stories.flatMap(({ taskId }) => taskId ?? [])));
  return { ...counts, findings: [...findings, ...stored.findings] };
}

/** Nothing is broken any more, and what nobody answers any more, because the run was over, expires. */
async function lastLook(client: Client, taskId: string): Promise<TaskState | undefined> {
  let last: TaskState | undefined;
  for (let attempt = 0; attempt < 2 * (TIMEOUT_S + 30); attempt += 1) {
    const said = await client.get(taskId);
    if (said.type === "refused") return undefined;
    if (said.type === "done") last = said.result;
    if (last && ENDED.has(last.status)) return last;
    await sleep(500);
  }
  return last;
}

const ENDED: ReadonlySet<string> = new Set(["completed", "failed", "cancelled"]);
