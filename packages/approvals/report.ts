/** Figures of approvals as people read them: for each rule how many, how fast, how often yes, by whom, and the oldest that waits. */
import {
  type ApprovalFigures,
  type ApprovalRecord,
  type CountedRule,
  DECISION_WAITS_MS,
  decisionWait,
  isFinished,
  type ReadApprovals,
  type Task,
} from "@parley/core";
import { testsOf } from "./planted.ts";

export interface ApprovalReport {
  /** From the first day, at midnight (UTC). */
  readonly sinceMs: number;
  readonly rules: readonly ReportedRule[];
  /** More calls wait than could be looked at, so `waiting` is too low. */
  readonly isMoreWaiting: boolean;
}

export interface ReportedRule extends Omit<CountedRule, "approvedAfter" | "refusedAfter" | "people"> {
  /** Share of decisions that were yes, 0 to 1. Absent without a decision, as are the times. */
  readonly yes?: number;
  /** Times from the question to a person's decision. Interpolated: they are counted in steps. */
  readonly medianMs?: number;
  readonly p90Ms?: number;
  /** How many of the approvals were given within QUICK_MS. */
  readonly quick: number;
  /** Those who decided most often, at most DECIDERS_SHOWN. */
  readonly people: CountedRule["people"];
  /** Tests of those who approve, if there were any. */
  readonly tests?: ReportedTests;
  readonly waiting: number;
  readonly oldest?: { readonly taskId: string; readonly askedAtMs: number };
}

export interface ReportedTests {
  readonly asked: number;
  /** Refused, as was right. */
  readonly caught: number;
  /** Approved. */
  readonly missed: number;
  /** Who approved how many, at most DECIDERS_SHOWN. */
  readonly missedBy: readonly { readonly principal: string; readonly missed: number }[];
}

/** Hardly anybody reads a call and judges it in less. */
export const QUICK_MS = 5_000;
export const DECIDERS_SHOWN = 5;
const LOADED_AT_ONCE = 20;

export interface ReportSources {
  readonly approvals: ApprovalRecord;
  /** Loads a task. */
  readonly load: (taskId: string) => Promise<Pick<Task, "status"> | undefined>;
}

/** Calls that were cancelled while they waited count as withdrawn from then on: nothing runs that could say so earlier. */
export async function approvalReport({ approvals, load }: ReportSources, request: ReadApprovals): Promise<ApprovalReport> {
  const { tenant, days, nowMs } = request;
  const before = withoutTests(await approvals.read(request));
  const waiting: (typeof before)["open"][number][] = [];
  const over: typeof waiting = [];
  for (let from = 0; from < before.open.length; from += LOADED_AT_ONCE) {
    const batch = before.open.slice(from, from + LOADED_AT_ONCE);
    const tasks = await Promise.all(batch.map(async (each) => [each, await load(each.taskId)] as const));
    for (const [each, task] of tasks) (task && !isFinished(task.status) ? waiting : over).push(each);
  }
  await Promise.all(over.map((each) => approvals.settled({ ...each, tenant, end: "withdrawn", atMs: nowMs })));
  const { rules, tests } = over.length > 0 ? withoutTests(await approvals.read(request)) : before;
  const named = new Set([...tests.map(({ rule }) => rule.slice(1)), ...rules.map(({ rule }) => rule), ...waiting.map(({ rule }) => rule)]);
  return {
    sinceMs: Math.floor(nowMs / DAY_MS - (days - 1)) * DAY_MS,
    isMoreWaiting: before.isMoreOpen,
    rules: [...named].toSorted().map((name) => {
      const counted = rules.find(({ rule }) => rule === name) ?? { ...NONE, rule: name };
      const own = waiting.filter(({ rule }) => rule === name);
      const [first] = own;
      const tested = tests.find(({ rule }) => rule === testsOf(name));
      return {
        ...reported(counted),
        ...(tested && { tests: reportedTests(tested) }),
        waiting: own.length,
        ...(first && { oldest: { taskId: first.taskId, askedAtMs: first.askedAtMs } }),
      };
    }),
  };
}

const DAY_MS = 86_400_000;

/** Figures of tests apart from those of calls. */
function withoutTests({ rules, open, ...rest }: ApprovalFigures) {
  const isTests = ({ rule }: { readonly rule: string }) => rule.startsWith(testsOf(""));
  return {
    ...rest,
    rules: rules.filter((each) => !isTests(each)),
    tests: rules.filter(isTests),
    open: open.filter((each) => !isTests(each)),
  };
}

function reportedTests({ asked, approved, refused, withdrawn, people }: CountedRule): ReportedTests {
  const missed = people
    .filter((each) => each.approved > 0 && each.principal !== "")
    .toSorted((one, other) => other.approved - one.approved);
  return {
    // Those that could not be made were never asked.
    asked: asked - withdrawn,
    caught: refused,
    missed: approved,
    missedBy: missed.slice(0, DECIDERS_SHOWN).map((each) => ({ principal: each.principal, missed: each.approved })),
  };
}

const NONE: Omit<CountedRule, "rule"> = {
  asked: 0,
  approved: 0,
  refused: 0,
  expired: 0,
  closed: 0,
  withdrawn: 0,
  void: 0,
  approvedAfter: [],
  refusedAfter: [],
  people: [],
};

function reported({ approvedAfter, refusedAfter, people, ...counts }: CountedRule): Omit<ReportedRule, "waiting" | "oldest" | "tests"> {
  const decided = counts.approved + counts.refused;
  const waits = approvedAfter.map((count, at) => count + (refusedAfter[at] ?? 0));
  const [medianMs, p90Ms] = [quantile(waits, 0.5), quantile(waits, 0.9)];
  const most = people.toSorted((one, other) => other.approved + other.refused - one.approved - one.refused);
  return {
    ...counts,
    ...(decided > 0 && { yes: counts.approved / decided }),
    ...(medianMs !== undefined && p90Ms !== undefined && { medianMs, p90Ms }),
    quick: sum(approvedAfter.slice(0, decisionWait(QUICK_MS) + 1)),
    people: most.filter(({ principal }) => principal !== "").slice(0, DECIDERS_SHOWN),
  };
}

/** Undefined without a decision. */
export function quantile(waits: readonly number[], share: number): number | undefined {
  let left = sum(waits) * share;
  for (const [at, count] of waits.entries()) {
    if (count > 0 && left <= count) {
      const low = DECISION_WAITS_MS[at - 1] ?? 0;
      const high = DECISION_WAITS_MS[at] ?? Infinity;
      return Math.round(high === Infinity ? low : low + ((high - low) * left) / count);
    }
    left -= count;
  }
  return undefined;
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
