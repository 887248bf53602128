/**
 * What must hold for one call that rules may stop, whatever broke while it waited.
 *
 *   consent     It ran only if the rules let such a call pass, or somebody who may approve it did, and nobody's no came first.
 *   once        It ran once. A worker that dies between its effect and the record repeats it, with the same idempotency key.
 *   arguments   It ran with what was approved, and the result says what was changed.
 *   first       Of several answers one counts, and each sender is told.
 *   lost        A call that was acknowledged ends, and as it was answered: a yes runs it, unless the rules have changed, and says so.
 *   compared    What a question shows as the last approved call did run, as it is shown.
 */
import type { TaskState } from "../client.ts";
import type { Mark } from "../evidence.ts";

export const RULES = ["consent", "once", "arguments", "first", "lost", "compared"] as const;
export interface Finding {
  /** One of RULES, or of what Redis is audited for. */
  readonly rule: string;
  readonly where: string;
  readonly what: string;
}

export interface Args {
  readonly amount: number;
  readonly to: string;
}

export type Answer = { readonly action: "accept"; readonly content: Args } | { readonly action: "decline" };

export interface Sent {
  readonly who: string;
  readonly answer: Answer;
  /** HTTP status and receipt of the last reply; undefined if none came. */
  readonly receipt?: "accepted" | "duplicate" | "late" | "forbidden" | "unknown" | "invalid";
}

export interface Story {
  readonly id: number;
  readonly kind: string;
  readonly args: Args;
  /** Absent if the call was never acknowledged. */
  readonly taskId?: string | undefined;
  /** What was heard in place of an acknowledgement. */
  readonly unheard?: string;
  readonly sent: readonly Sent[];
  readonly isCancelled: boolean;
  /** The last approved call as the question showed it. */
  readonly compared?: (Args & { readonly id: number }) | undefined;
}

/** Never runs, by rule. */
export const CLOSED = 666;
/** Needs no approval below it. */
export const SMALL = 10;

export interface Judged {
  readonly findings: readonly Finding[];
  readonly hasRun: boolean;
  readonly isRepeated: boolean;
  readonly isEdited: boolean;
}

export function judge(story: Story, last: TaskState | undefined, marks: readonly Mark[]): Judged {
  const findings: Finding[] = [];
  const { id, kind, args, sent, taskId } = story;
  const find = (rule: (typeof RULES)[number], what: string) =>
    findings.push({ rule, where: `call ${id} (${kind}, task ${taskId ?? "unknown"})`, what });

  const keys = new Set(marks.map(({ key }) => key));
  const ran = [...new Set(marks.map(({ value }) => value))].map((value) => JSON.parse(value) as Args);
  if (keys.size > 1 || ran.length > 1) find("once", `ran ${keys.size} times, as ${JSON.stringify(ran)}`);

  const winners = sent.filter(({ receipt }) => receipt === "accepted" || receipt === "duplicate");
  const distinct = new Set(winners.map(({ answer }) => JSON.stringify(answer)));
  if (distinct.size > 1) find("first", `several answers counted: ${[...distinct].join(" and ")}`);
  for (const { who, receipt } of sent) {
    if (who === "ann" && receipt !== undefined && receipt !== "forbidden" && receipt !== "late" && receipt !== "unknown")
      find("consent", `the caller's own answer was ${receipt}`);
  }
  const [winner] = winners;
  const [did] = ran;

  if (did) {
    const isSmall = args.amount < SMALL;
    const possible = winner
      ? [winner.answer]
      : sent.filter(({ receipt, who }) => receipt === undefined && who !== "ann").map((each) => each.answer);
    const asApproved = possible.some((answer) => answer.action === "accept" && isSame(answer.content, did));
    if (did.amount === CLOSED) find("consent", "ran although a rule refuses it");
    else if (isSmall && !isSame(args, did)) find("arguments", `ran as ${JSON.stringify(did)}`);
    else if (!isSmall && !asApproved) find("consent", `ran as ${JSON.stringify(did)}; answers: ${JSON.stringify(sent)}`);
  }

  if (taskId !== undefined) {
    if (!last) find("lost", "the task is gone");
    else if (last.status !== "completed" && last.status !== "cancelled") find("lost", `is ${last.status}: ${last.error?.message ?? ""}`);
    else if (last.status === "cancelled" && !story.isCancelled) find("lost", "was cancelled by nobody");
    else if (last.status === "completed") judgeResult(last);
  }

  function judgeResult({ result }: TaskState): void {
    const texts = result?.content.map(({ text = "" }) => text) ?? [];
    const isRefused = result?.isError === true;
    if (isRefused === (did !== undefined)) return void find("lost", `ran: ${did !== undefined}, and the result is ${texts.join(" ")}`);
    if (did) {
      if (texts[0] !== `${did.amount} to ${did.to}`) find("arguments", `ran as ${JSON.stringify(did)}, and the result is ${texts[0]}`);
      const changed = texts.find((text) => text.startsWith("The approver changed"));
      if ((changed !== undefined) === isSame(did, args)) find("arguments", `ran as ${JSON.stringify(did)}, and the result says ${changed}`);
      return;
    }
    const [text = ""] = texts;
    // A rule that was changed while the call waited, or that refuses what it was changed to.
    const isOfRules = /changed since|a rule refuses|another approval|Closed\.|Shut\./.test(text);
    if (winner?.answer.action === "accept" && !isOfRules) find("lost", `was approved, and the result is ${text}`);
    if (winner?.answer.action === "decline" && !text.includes("refused it")) find("lost", `was refused, and the result is ${text}`);
    if (args.amount < SMALL) find("lost", `needs no approval, and the result is ${text}`);
  }
  return { findings, hasRun: did !== undefined, isRepeated: marks.length > keys.size, isEdited: did !== undefined && !isSame(did, args) };
}

/** What the questions showed must have run. */
export function judgeCompared(stories: readonly Story[], evidence: ReadonlyMap<number, readonly Mark[]>): Finding[] {
  const ofId = new Map(stories.map((each) => [each.id, each]));
  return stories.flatMap(({ id, compared }): Finding[] => {
    if (!compared) return [];
    const shown = JSON.stringify(compared);
    // Approved, it may not have acted yet when it was shown; by now it has, unless it was cancelled in between.
    const of = ofId.get(compared.id);
    const isApproved = of?.sent.some(({ answer }) => answer.action === "accept" && isSame(answer.content, compared)) === true;
    const isTrue = evidence.get(compared.id)?.some(({ value }) => value === shown) === true || (of?.isCancelled === true && isApproved);
    return isTrue ? [] : [{ rule: "compared", where: `call ${id}`, what: `was shown ${shown}, which never ran` }];
  });
}

function isSame(one: Args, other: Args): boolean {
  return one.amount === other.amount && one.to === other.to;
}
