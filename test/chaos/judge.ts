/** Compares the outcome of a lifecycle, from its last read and its tool's evidence, with what was acknowledged. Pure. */
import type { TaskState } from "./client.ts";
import type { Mark } from "./evidence.ts";
import { lastAsksOf, NOBODY } from "./plan.ts";
import { type Finding, isAcknowledged, isFinished, type Rule, type Sent, type Story } from "./story.ts";

export interface Judged {
  readonly findings: readonly Finding[];
  /** Effects beyond the first of each step: tried again because no record was acknowledged. */
  readonly repeatedEffects: number;
}

interface Outcome {
  readonly effects: Readonly<Record<string, string>>;
  readonly answers: Readonly<Record<string, string>>;
}

/** `last`: how the task stood at the end, undefined if it was not to be had. */
export function judge(story: Story, last: TaskState | undefined, marks: readonly Mark[]): Judged {
  const { plan, taskId } = story;
  const findings: Finding[] = [...story.wrong];
  const found = (rule: Rule, what: string) => findings.push({ rule, where: `lifecycle ${plan.lifecycle}, task ${taskId}`, what });
  // A call that nobody acknowledged promised nothing; what it may have left is the audit's.
  if (taskId === undefined) return { findings, repeatedEffects: 0 };
  if (!last) {
    found("created", "is gone at the end");
    return { findings, repeatedEffects: 0 };
  }

  judgeEnd(story, last, found);
  const outcome = outcomeOf(last, found);
  for (const [ask, sent] of Map.groupBy(story.sent, ({ ask: key }) => key)) judgeAsk(story, { ask, sent, outcome, marks }, found);
  for (const [ask, got] of Object.entries(outcome?.answers ?? {})) {
    if (!story.sent.some((sent) => sent.ask === ask) && !(got === NOBODY && isTimed(story))) {
      found("same-answer", `${ask} got ${got}, and nobody had answered`);
    }
  }
  const repeatedEffects = judgeEffects(story, { marks, outcome }, found);
  return { findings, repeatedEffects };
}

type Found = (rule: Rule, what: string) => void;

function judgeEnd({ plan, left, abandoned, cancelled, finished }: Story, last: TaskState, found: Found): void {
  if (left) {
    const open = Object.keys(last.inputRequests ?? {});
    const expected = lastAsksOf(plan);
    if (last.status !== "input_required") found("rest", `was left waiting and is ${last.status}`);
    else if (open.some((ask) => !expected.includes(ask)))
      found("rest", `was left waiting for ${expected.join()} and waits for ${open.join()}`);
    return;
  }
  if (abandoned && last.status === "input_required") return;
  if (!isFinished(last)) found("rest", `is ${last.status} at the end`);
  if (last.status === "failed" || last.result?.isError === true) {
    found("rest", `failed: ${last.error?.message ?? last.result?.content[0]?.text}`);
  }
  if (last.status === "cancelled" && !cancelled) found("cancelled", "is cancelled, and nobody cancelled it");
  if (cancelled?.acknowledged && cancelled.certain && last.status !== "cancelled")
    found("cancelled", `was cancelled and is ${last.status}`);
  if (finished && last.status !== finished.status) found("unchanged", `was read as ${finished.status} and is ${last.status}`);
  if (finished && text(last) !== text(finished)) found("unchanged", `its result was ${text(finished)} and is ${text(last)}`);
}

function judgeAsk(
  story: Story,
  { ask, sent, outcome, marks }: { ask: string; sent: readonly Sent[]; outcome: Outcome | undefined; marks: readonly Mark[] },
  found: Found,
): void {
  const accepted = new Set(sent.flatMap(({ receipt, value }) => (isAcknowledged(receipt) ? [value] : [])));
  if (accepted.size > 1) found("first-answer", `${ask} accepted ${[...accepted].join(" and ")}`);
  const [winner] = accepted;

  const got = new Set(marks.flatMap(({ mark, name, value }) => (mark === "answer" && name === ask ? [value] : [])));
  if (outcome?.answers[ask] !== undefined) got.add(outcome.answers[ask]);
  if (outcome && winner !== undefined && !got.has(winner)) found("same-answer", `${ask} accepted ${winner}, and its tool never saw it`);
  for (const value of got) {
    if (winner !== undefined && value !== winner) found("same-answer", `${ask} accepted ${winner} and got ${value}`);
    if (value === NOBODY ? !isTimed(story) : !sent.some((each) => each.value === value)) {
      found("same-answer", `${ask} got ${value}, which nobody sent`);
    }
  }
  if (got.size > 1) found("same-answer", `${ask} got ${[...got].join(" and ")}`);

  // Somebody else must have been first: another sender, the deadline, or the end of the task.
  const othersPossible = new Set(sent.map(({ value }) => value)).size > 1 || isTimed(story) || story.cancelled !== undefined;
  for (const { value, receipt } of sent) {
    if (receipt === undefined || isAcknowledged(receipt)) continue;
    const untold = receipt === "unknown" && story.cancelled !== undefined; // an ask that was never put
    if (receipt === "late" ? !othersPossible : !untold) found("receipts", `${ask}: ${value} was told ${receipt}`);
    if (got.has(value)) found("receipts", `${ask}: ${value} was told ${receipt} and is what the tool got`);
  }
}

function judgeEffects(story: Story, { marks, outcome }: { marks: readonly Mark[]; outcome: Outcome | undefined }, found: Found): number {
  let repeated = 0;
  const ofSteps = marks.filter(({ mark }) => mark !== "answer");
  for (const [step, all] of Map.groupBy(ofSteps, ({ name }) => name)) {
    const effects = all.filter(({ mark }) => mark === "effect");
    const recorded = new Set(all.flatMap(({ mark, value }) => (mark === "recorded" ? [value] : [])));
    if (outcome?.effects[step] !== undefined) recorded.add(outcome.effects[step]);
    if (recorded.size > 1) found("effects", `${step}: two effects were acknowledged as its record`);
    for (const value of recorded) {
      if (!effects.some((effect) => effect.value === value)) found("effects", `${step}: its record is an effect that never happened`);
    }
    if (new Set(effects.map(({ key }) => key)).size > 1) found("effects", `${step}: tried again with another idempotency key`);
    repeated += Math.max(0, effects.length - 1);
    if (story.calm && effects.length > 1) found("calm", `${step}: ${effects.length} effects`);
  }
  return repeated;
}

function outcomeOf(task: TaskState, found: Found): Outcome | undefined {
  if (task.status !== "completed" || task.result?.isError === true) return undefined;
  try {
    return JSON.parse(text(task) ?? "") as Outcome;
  } catch {
    found("same-answer", `its result is none of the tool's: ${text(task)}`);
    return undefined;
  }
}

function text({ result }: TaskState): string | undefined {
  return result?.content[0]?.text;
}

function isTimed({ plan }: Story): boolean {
  return plan.manner === "ignores" || plan.manner === "hurries";
}
