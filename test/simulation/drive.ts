/**
 * Decides, turn by turn, what happens next: a reply of Redis, a step that ends, a person who answers, time that passes, a worker that dies.
 *
 * A turn (turn.ts) is what Node does between two immediates: something from outside comes in, then all microtasks and ticks run. After the
 * case's measure of trouble nothing breaks any more, all questions are answered, and the task must come to its end.
 */
import { eventKey, type JsonObject } from "@parley/core";
import type { Process } from "./process.ts";
import { answer, cancel, create, deliver, kill, sweepOnce, startRun, TASK_ID, tell, type World } from "./world.ts";
import { nextTurn } from "./turn.ts";

const TURNS_MAX = 10_000;
const RUNS_PER_WORKER = 2;
const REQUESTS_MAX = 2;
const SWEEP_EVERY_MS = 1_000;

interface Plan {
  /** How much of everything breaks. */
  readonly trouble: number;
  readonly mayCancel: boolean;
}

interface Option {
  readonly weight: number;
  readonly act: () => void;
}

export async function drive(world: World): Promise<void> {
  const { choices, time, witness } = world;
  let calmFrom = choices.chance(0.85) ? 20 + choices.upTo(180) : 0;
  const plan: Plan = {
    trouble: [0, 0.15, 0.5, 1.5][choices.upTo(3)] ?? 0,
    mayCancel: choices.chance(world.program.compensates ? 0.4 : 0.04),
  };
  create(world);
  for (let turn = 0; turn < TURNS_MAX; turn += 1) {
    await nextTurn();
    if (fireIdle(world) && !choices.chance(0.08)) continue;
    const isCalm = turn >= calmFrom || witness.isOver();
    if (isCalm) resumeAll(world);
    const options = optionsOf(world, { ...plan, trouble: isCalm ? 0 : plan.trouble });
    if (options.length === 0) {
      if (witness.isOver()) return;
      if (!isCalm) {
        calmFrom = turn; // what stands still must move first
        continue;
      }
      witness.broke("end", `nothing is to come, and the task has not ended at ${time.nowMs}`);
      return;
    }
    options[choices.weighted(options.map(({ weight }) => weight))]?.act();
  }
  witness.broke("end", `the task has not ended after ${TURNS_MAX} turns`);
}

/** Tells those who wait for it that the event loop was idle. */
function fireIdle({ time }: World): boolean {
  if (time.idle.length === 0) return false;
  const ready = time.idle.filter(({ process }) => !process.isPaused);
  if (ready.length === 0) return false;
  time.idle = time.idle.filter(({ process }) => process.isPaused);
  for (const { wake } of ready) wake();
  return true;
}

function optionsOf(world: World, plan: Plan): Option[] {
  const { time, witness, queue, workers, frontEnd } = world;
  const options: Option[] = [];
  const may = (weight: number, act: () => void) => {
    if (weight > 0) options.push({ weight, act });
  };
  const mayReply = (process: Process) => {
    if (process.operations.length > 0 && !process.isPaused) may(12, () => deliver(world, process, "done"));
  };

  workers.forEach(mayReply);
  mayReply(frontEnd);
  if (queue.waiting.length > 0) {
    const free = workers.filter((process) => !process.isPaused && !isStopping(process) && atWork(world, process) < RUNS_PER_WORKER);
    if (free.length > 0) may(8, () => take(world, free));
  }
  const stopped = workers.find((process) => isStopping(process) && process.operations.length === 0 && atWork(world, process) === 0);
  if (stopped) may(8, () => kill(world, stopped));
  const isBusy = options.length > 0;
  for (const work of witness.works) if (!work.process.isPaused) may(4, () => finishWork(world, work));
  const timer = nextTimer(world);
  if (timer && timer.atMs <= time.nowMs) may(8, timer.wake);
  // When a child is due nobody here knows: the sweep looks each second while there is one.
  const sweepAtMs = Math.max(witness.hasChildren() ? 0 : witness.dueAtMs(), world.sweptAtMs + SWEEP_EVERY_MS);
  if (!world.isSweeping && sweepAtMs <= time.nowMs)
    may(5, () => sweepOnce(world, workers.find(({ isPaused }) => !isPaused) ?? (workers[0] as Process)));
  const ended = witness.ended() !== undefined;
  if (!ended && !witness.isCreated() && world.requests === 0) may(10, () => create(world));
  if (!ended && world.requests < REQUESTS_MAX) for (const key of witness.open) may(2, () => answerKey(world, key, "well"));
  if (!witness.isOver() && witness.isCreated()) {
    const nextMs = Math.min(timer?.atMs ?? Infinity, sweepAtMs);
    if (nextMs > time.nowMs && nextMs < Infinity) may(isBusy ? Math.min(plan.trouble, 0.15) : 1, () => pass(world, nextMs));
  }
  // Deploying is no trouble: it happens to the calmest task.
  if ((world.program.kind === "changed" || world.program.kind === "patched") && !world.isChanged && options.length > 0)
    may(0.5, () => deploy(world));
  if (plan.trouble > 0 && options.length > 0) may(plan.trouble, () => disturb(world, plan));
  return options;
}

function isStopping({ stop }: Process): boolean {
  return stop.signal.aborted;
}

function atWork({ jobs }: World, process: Process): number {
  let count = 0;
  for (const job of jobs) if (job.process === process && !job.isOver) count += 1;
  return count;
}

function nextTimer({ time }: World) {
  let first: (typeof time.timers)[number] | undefined;
  for (const timer of time.timers) if (!timer.process.isPaused && (!first || timer.atMs < first.atMs)) first = timer;
  return first;
}

function take(world: World, free: readonly Process[]): void {
  const { queue, choices } = world;
  const ref = queue.waiting.splice(choices.upTo(queue.waiting.length - 1), 1)[0];
  const worker = free[choices.upTo(free.length - 1)];
  if (ref && worker) startRun(world, worker, ref);
}

/** Replies that come in one packet are handed out before any microtask runs. */
function finishWork(world: World, work: World["witness"]["works"][number]): void {
  world.tell?.(`-- ${work.what} ends`);
  work.finish();
  const beside = world.witness.works[0];
  if (beside && !beside.process.isPaused && world.choices.chance(0.15)) finishWork(world, beside);
}

function pass(world: World, toMs: number): void {
  const { time, workers, frontEnd } = world;
  // A clock that moves on while replies are outstanding is a slow Redis: leases may run out of it.
  for (const process of [...workers, frontEnd]) if (process.operations.length > 0 || process.isPaused) process.disturbed += 1;
  time.nowMs = toMs;
}

function answerKey(world: World, key: string, how: "well" | "wrongly"): void {
  const path = world.witness.shown.get(key)?.split(" ")[0] ?? "";
  world.drawn += 1;
  const content: JsonObject = how === "well" ? { for: path, drawn: world.drawn } : { for: path, wrong: true };
  if (key.startsWith(eventKey(""))) return tell(world, key, content);
  const reply = world.choices.chance(0.15) && how === "well" ? { action: "decline" } : { action: "accept", content };
  answer(world, key, reply, world.witness.ofTwo.has(key));
}

// ── trouble ──────────────────────────────────────────────────────────────────────────────────────────────────────

function disturb(world: World, plan: Plan): void {
  const { choices, workers, frontEnd, queue, witness } = world;
  const shown = [...witness.shown.keys()];
  const busy = [...workers, frontEnd].filter((process) => process.operations.length > 0 && !process.isPaused);
  const paused = workers.filter(({ isPaused }) => isPaused);
  const troubles: Option[] = [
    { weight: paused.length > 0 ? 20 : 0, act: () => resume(world, pick(world, paused)) },
    { weight: 20, act: () => kill(world, pick(world, workers)) },
    { weight: 6, act: () => kill(world, frontEnd) },
    // Between the change and its reply, or never any reply.
    { weight: busy.length > 0 ? 10 : 0, act: () => deliver(world, pick(world, busy), "applied") },
    { weight: busy.length > 0 ? 8 : 0, act: () => deliver(world, pick(world, busy), "lost") },
    { weight: busy.length > 0 ? 8 : 0, act: () => deliver(world, pick(world, busy), "lost after") },
    { weight: busy.length > 0 ? 8 : 0, act: () => dieBetween(world, pick(world, busy)) },
    { weight: queue.added.length > 0 ? 8 : 0, act: () => void queue.waiting.push(pick(world, queue.added)) },
    { weight: 2, act: () => void queue.waiting.push({ taskId: TASK_ID, run: choices.upTo(6) }) },
    { weight: queue.waiting.length > 0 ? 3 : 0, act: () => lose(world) },
    { weight: shown.length > 0 && world.requests < REQUESTS_MAX ? 8 : 0, act: () => answerKey(world, pick(world, shown), "well") },
    { weight: shown.length > 0 && world.requests < REQUESTS_MAX ? 4 : 0, act: () => answerKey(world, pick(world, shown), "wrongly") },
    { weight: 5, act: () => pause(world, pick(world, workers)) },
    { weight: 5, act: () => stop(world, pick(world, workers)) },
    { weight: plan.mayCancel ? 5 : 0, act: () => cancel(world) },
  ];
  troubles[choices.weighted(troubles.map(({ weight }) => weight))]?.act();
}

function pick<T>({ choices }: World, list: readonly T[]): T {
  return list[choices.upTo(list.length - 1)] as T;
}

/** The change has happened, and its sender is no more. */
function dieBetween(world: World, process: Process): void {
  deliver(world, process, "applied");
  kill(world, process);
}

function lose({ queue, tell }: World): void {
  const ref = queue.waiting.shift();
  if (ref) queue.done(ref);
  tell?.(`-- the job of run ${ref?.run} is lost`);
}

/** Its jobs are taken to be stalled and are handed out again, while it may yet come back. */
function pause(world: World, process: Process): void {
  if (process.isPaused) return;
  world.tell?.(`-- ${process.name} stands still`);
  process.isPaused = true;
  process.disturbed += 1;
  for (const job of world.jobs) {
    if (job.process === process && !job.isOver) world.queue.stalled({ taskId: job.taskId, run: job.run });
  }
}

/** As every worker is when a deployment is rolled. */
function stop({ time, tell }: World, process: Process): void {
  if (isStopping(process)) return;
  tell?.(`-- ${process.name} is told to stop`);
  process.stoppedAtMs = time.nowMs;
  process.stop.abort();
}

function resume(world: World, process: Process): void {
  world.tell?.(`-- ${process.name} moves again`);
  process.isPaused = false;
}

function resumeAll(world: World): void {
  for (const process of world.workers) if (process.isPaused) resume(world, process);
}

function deploy(world: World): void {
  world.tell?.("-- new code is deployed");
  world.isChanged = true;
}
