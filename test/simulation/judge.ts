/** Holds a task that has come to its end to its program. */
import { codeOf, type Ended, type Job, messageOf, type Witness } from "./witness.ts";
import { runIdeal } from "./ideal.ts";
import { isHolderDoingAll } from "./locks.ts";
import { hasContention, mayBeRefused, mayRejectUnheard, type Program, settlesUnseen, some } from "./program.ts";
import { LOUD, REFUSED, type Rule, SILENT, type Violation } from "./rules.ts";

export async function judge(program: Program, witness: Witness): Promise<readonly Violation[]> {
  const found = [...witness.violations];
  const broke = (rule: Rule, what: string) => found.push({ rule, what });
  const ended = witness.ended();
  const code = codeOf(ended?.outcome);
  const isLoud = code !== undefined && LOUD.has(code);

  if (code !== undefined && !mayFail(program, code)) broke("failure", `the task fails with ${code}: ${messageOfOutcome(ended)}`);
  if (ended?.status === "completed" && ended.job?.trace) {
    const { called, generation } = ended.job.trace;
    for (const path of witness.recorded) {
      if (path.startsWith(`${generation}/`) && !called.has(path)) broke("skipped", `the task completes, and ${path} was recorded`);
    }
  }
  if ((program.kind === "pure" || program.kind === "patched") && ended?.job?.trace && code === undefined && !settlesUnseen(program)) {
    await compare(program, ended, ended.job, broke);
  }
  if (code === "AMBIGUOUS_EFFECT") return found.filter(({ rule }) => !REFUSED.has(rule) && !isRefusedLate(program, rule));
  return isLoud && (program.kind === "outside" || program.kind === "changed") ? found.filter(({ rule }) => !SILENT.has(rule)) : found;
}

/**
 * Whether a task may break that rule before it is refused (ADR 24): items that take a lock in another order see each other's results in a run that
 * does nothing new, and if the holder does the others' work, one step may be done again.
 */
function isRefusedLate(program: Program, rule: Rule): boolean {
  if (!hasContention(program)) return false;
  return rule === "mix-up" || (rule === "key" && program.locks?.some(isHolderDoingAll) === true);
}

/** Whether the engine may end a task of this program with that error. */
function mayFail(program: Program, code: string): boolean {
  if (code === "UNHANDLED_REJECTION") return mayRejectUnheard(program);
  // Items that take a lock in another order than before, and whose calls are known apart, wait for one another.
  if ((code === "REPLAY_DIVERGED" || code === "RUN_TIMEOUT") && program.kind === "reading" && hasContention(program)) return true;
  if (code === "RUN_TIMEOUT") return program.hurried === true;
  // What is awaited outside may take longer than the run has, and its time is over before recorded work was called again.
  if (code === "REPLAY_DIVERGED" && program.hurried && (program.kind === "delayed" || program.kind === "reading")) return true;
  if (program.kind === "reading") return code === "AMBIGUOUS_EFFECT" && mayBeRefused(program);
  // Items of a race that is decided, what was started and is awaited later, and code behind a Promise.all that failed have no line of their own.
  if (code === "AMBIGUOUS_EFFECT") return program.kind === "outside" || some(program.body, ({ op }) => CONCURRENT.has(op));
  return LOUD.has(code) && (program.kind === "outside" || program.kind === "changed");
}

const CONCURRENT: ReadonlySet<string> = new Set(["all", "allSettled", "any", "race", "map", "start"]);

async function compare(program: Program, ended: Ended, job: Job, broke: (rule: Rule, what: string) => void): Promise<void> {
  const { trace } = job;
  if (!trace) return;
  const ideal = await runIdeal(program, trace);
  const different = ideal.events.findIndex((event, index) => index < trace.events.length && event !== trace.events[index]);
  if (different >= 0) broke("equal", `event ${different} is "${trace.events[different]}", and would be "${ideal.events[different]}"`);
  else if (!ideal.end) broke("equal", `the task ends as ${ended.status}, and its handler would still wait`);
  else if ("result" in ideal.end) {
    const result = ended.outcome?.type === "result" ? JSON.stringify(ended.outcome.result) : messageOfOutcome(ended);
    if (result !== JSON.stringify(ideal.end.result))
      broke("equal", `the result is ${result}, and would be ${JSON.stringify(ideal.end.result)}`);
  } else {
    const text = JSON.stringify(ended.outcome);
    const message = messageOf(ideal.end.error);
    if (!text?.includes(JSON.stringify(message).slice(1, -1)))
      broke("equal", `the task ends with ${text}, and would with the error ${message}`);
  }
}

function messageOfOutcome(ended: Ended | undefined): string {
  return ended?.outcome?.type === "error" ? ended.outcome.error.message : JSON.stringify(ended?.outcome ?? ended?.status);
}
