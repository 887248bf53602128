/**
 * One lifecycle from a person's point of view, while things break: call, questions, answers, result, and a second read.
 *
 * A person without a reply repeats the same request, as a real client does. The story records what was acknowledged in the end.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Client, Said, TaskState } from "./client.ts";
import { asksOf, lastAsksOf, type Plan } from "./plan.ts";
import type { Random } from "./random.ts";
import { isAcknowledged, isFinished, type Rule, type Sent, type Story } from "./story.ts";

export interface Living {
  readonly client: Client;
  readonly random: Random;
  readonly evidence: string;
  readonly calm: boolean;
  /** Aborted when the run is over; the lifecycle then stops where it is. */
  readonly over: AbortSignal;
}

/** How long a lifecycle may take with everything that breaks. */
const PATIENCE_MS = 300_000;

export async function live(plan: Plan, living: Living): Promise<Story> {
  const story: Story = { plan, calm: living.calm, sent: [], left: false, abandoned: false, wrong: [] };
  const giveUp = AbortSignal.any([living.over, AbortSignal.timeout(PATIENCE_MS)]);
  const person = createPerson(story, { ...living, over: giveUp });
  await person.call();
  if (plan.manner === "cancels" && plan.cancelAt === 0) await person.cancel(false);
  while (!giveUp.aborted && !story.left) {
    const task = await person.look();
    if (!task) break;
    if (isFinished(task)) {
      await person.lookBack();
      return story;
    }
    if (task.status === "input_required") await person.respond(Object.keys(task.inputRequests ?? {}));
    await sleep(living.random.between(20, 250));
  }
  if (story.left || story.wrong.length > 0) return story;
  story.abandoned = living.over.aborted;
  if (story.abandoned) wrong(story, "time", "was not over when the run was");
  else wrong(story, "rest", `was not over after ${PATIENCE_MS / 1_000} s`);
  return story;
}

function wrong({ plan, taskId, wrong: findings }: Story, rule: Rule, what: string): void {
  findings.push({ rule, where: `lifecycle ${plan.lifecycle}, task ${taskId ?? "unknown"}`, what });
}

function createPerson(story: Story, { client, random, evidence, over }: Living) {
  const { plan } = story;
  const asks = asksOf(plan);
  const last = new Set(lastAsksOf(plan));
  let values = 0;

  /** Sends until somebody replies. Undefined when time is up or the request is refused, which is wrong in every place where this is used. */
  async function insist<Result>(what: string, send: () => Promise<Said<Result>>): Promise<Result | undefined> {
    while (!over.aborted) {
      const said = await send();
      if (said.type === "done") return said.result;
      if (said.type === "refused") {
        wrong(story, said.code === "TASK_NOT_FOUND" ? "created" : "receipts", `${what} was refused: ${said.code}`);
        return undefined;
      }
      if (said.defect !== undefined) wrong(story, "processes", `${what}: ${said.defect}`);
      await sleep(random.between(50, 400));
    }
    return undefined;
  }

  async function call(): Promise<void> {
    const { lifecycle, actions } = plan;
    const task = await insist("the call", () => client.call({ lifecycle, evidence, actions }));
    if (task) story.taskId = task.taskId;
  }

  async function look(): Promise<TaskState | undefined> {
    const { taskId } = story;
    if (taskId === undefined) return undefined;
    const known = new Set(story.sent.filter(({ receipt }) => isAcknowledged(receipt)).map(({ ask }) => ask));
    const task = await insist("a look", () => client.get(taskId));
    if (!task) return undefined;
    for (const ask of Object.keys(task.inputRequests ?? {})) {
      if (known.has(ask)) wrong(story, "fresh", `${ask} is open after its answer was acknowledged`);
      if (!asks.includes(ask)) wrong(story, "same-answer", `${ask} was never to be asked`);
    }
    if (story.finished && stable(task) !== stable(story.finished)) {
      wrong(story, "unchanged", `read ${stable(story.finished)} and then ${stable(task)}`);
    }
    if (isFinished(task)) story.finished ??= task;
    return task;
  }

  /** One value for one ask, again and again until it is acknowledged, or `tries` times. */
  async function answer(ask: string, value: string, tries = Infinity): Promise<string | undefined> {
    const { taskId } = story;
    if (taskId === undefined) return undefined;
    const sent: Sent = { ask, value };
    story.sent.push(sent);
    for (let attempt = 0; attempt < tries && !over.aborted; attempt += 1) {
      const said = await client.answer(taskId, { [ask]: value });
      if (said.type === "refused") {
        wrong(story, said.code === "TASK_NOT_FOUND" ? "created" : "receipts", `an answer to ${ask} was refused: ${said.code}`);
        return undefined;
      }
      if (said.type === "done") {
        sent.receipt = said.result[ask] ?? "none";
        return sent.receipt;
      }
      if (said.defect !== undefined) wrong(story, "processes", `an answer: ${said.defect}`);
      await sleep(random.between(50, 400));
    }
    return undefined;
  }

  function newValue(ask: string): string {
    values += 1;
    return `${plan.lifecycle}/${ask}/${values}`;
  }

  async function cancel(certain: boolean): Promise<void> {
    const { taskId } = story;
    if (taskId === undefined || story.cancelled) return;
    story.cancelled = { acknowledged: false, certain };
    story.cancelled.acknowledged = (await insist("a cancellation", () => client.cancel(taskId))) !== undefined;
    const task = await look();
    if (task && !isFinished(task)) wrong(story, "cancelled", `${task.status} after the cancellation was acknowledged`);
    const ask = random.pick(asks);
    const receipt = await answer(ask, newValue(ask), 1);
    if (isAcknowledged(receipt)) wrong(story, "cancelled", `an answer after the cancellation was ${receipt}`);
  }

  async function respond(open: readonly string[]): Promise<void> {
    const timed = plan.manner === "ignores" || plan.manner === "hurries";
    if (plan.manner === "ignores") return;
    if (plan.manner === "leaves" && open.every((ask) => last.has(ask))) {
      story.left = true;
      return;
    }
    // Answers that came before make it open whether the task still waits for this person; there are none for the first question.
    if (plan.manner === "cancels" && asks.indexOf(open[0] ?? "") >= plan.cancelAt - 1) return cancel(true);
    if (timed) await sleep(random.between(500, 3_200));
    for (const ask of random.shuffled(open)) {
      if (plan.manner === "races") {
        await Promise.all(Array.from({ length: random.between(2, 5) }, () => answer(ask, newValue(ask), random.between(1, 3))));
        continue;
      }
      const value = newValue(ask);
      await answer(ask, value);
      if (plan.manner === "repeats") await repeat(ask, value);
    }
  }

  /** Says it once more, then otherwise. */
  async function repeat(ask: string, value: string): Promise<void> {
    const again = await answer(ask, value, 3);
    if (again !== undefined && again !== "duplicate") wrong(story, "receipts", `${ask} was answered again with the same value: ${again}`);
    const other = await answer(ask, newValue(ask), 3);
    if (other !== undefined && other !== "late") wrong(story, "receipts", `${ask} was answered again with another value: ${other}`);
  }

  /** When it is over: does it stay so? */
  async function lookBack(): Promise<void> {
    const accepted = story.sent.find(({ receipt }) => isAcknowledged(receipt));
    if (plan.manner === "repeats" && accepted) await repeat(accepted.ask, accepted.value);
    await look();
  }

  return { call, look, respond, cancel, lookBack };
}

/** What of a finished task may never change. */
export function stable({ status, lastUpdatedAt, result, error }: TaskState): string {
  return JSON.stringify({ status, lastUpdatedAt, content: result?.content, isError: result?.isError, error });
}
