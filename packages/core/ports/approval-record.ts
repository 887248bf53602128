/**
 * What became of the calls that rules made wait for approval, counted by rule and day: how many, how fast, how often yes, by whom. So that a rule
 * that is always approved within seconds can be seen.
 *
 *   asked ──▶ open ──settled──▶ approved · refused · expired · closed · withdrawn
 *
 * Each is counted once, although a worker that dies may note it twice: only a call that is open settles. Calls themselves are no part of it: the audit
 * has those.
 */
export interface ApprovalRecord {
  asked(asked: ApprovalAsked): Promise<void>;
  settled(settled: ApprovalSettled): Promise<void>;
  read(request: ReadApprovals): Promise<ApprovalFigures>;
}

export interface ApprovalAsked {
  readonly tenant: string;
  /** Its name; of tests under it with a `+` before it, by the task of the call that a test copies. */
  readonly rule: string;
  readonly taskId: string;
  readonly askedAtMs: number;
}

/** `closed`: the question ended without an answer of a person or a deadline. `withdrawn`: the call was cancelled while it waited. */
export const APPROVAL_ENDS = ["approved", "refused", "expired", "closed", "withdrawn"] as const;
export type ApprovalEnd = (typeof APPROVAL_ENDS)[number];

export interface ApprovalSettled extends ApprovalAsked {
  readonly end: ApprovalEnd;
  readonly atMs: number;
  /** Approved, but the rules had changed by then: nothing ran. */
  readonly isVoid?: boolean;
  /** The principals who decided. */
  readonly by?: readonly string[];
}

export interface ReadApprovals {
  readonly tenant: string;
  /** How many days, including today (UTC). */
  readonly days: number;
  readonly nowMs: number;
}

export interface ApprovalFigures {
  readonly rules: readonly CountedRule[];
  /** The calls that have been open longest, at most OPEN_APPROVALS_READ, without tests. */
  readonly open: readonly Omit<ApprovalAsked, "tenant">[];
  readonly isMoreOpen: boolean;
}

export interface CountedRule extends Readonly<Record<ApprovalEnd, number>> {
  readonly rule: string;
  readonly asked: number;
  readonly void: number;
  /** How many decisions took how long, by the index of DECISION_WAITS_MS. */
  readonly approvedAfter: readonly number[];
  readonly refusedAfter: readonly number[];
  readonly people: readonly DecidedBy[];
}

/** `principal` is `""` for everyone beyond DECIDERS_MAX. */
export interface DecidedBy {
  readonly principal: string;
  readonly approved: number;
  readonly refused: number;
}

/** Upper bounds of the times from a question to its decision that are told apart. The last one has none. */
export const DECISION_WAITS_MS: readonly number[] = [
  ...[1, 2, 3, 5, 10, 20, 30].map((seconds) => seconds * 1_000),
  ...[1, 2, 3, 5, 10, 20, 30].map((minutes) => minutes * 60_000),
  ...[1, 2, 3, 6, 12].map((hours) => hours * 3_600_000),
  ...[1, 2, 3, 7, 14, 31].map((days) => days * 86_400_000),
  Infinity,
];

/** How long figures are kept. */
export const APPROVAL_DAYS_MAX = 31;
/** Open calls of one tenant that are known. Beyond it, the oldest are forgotten and counted as asked only. */
export const OPEN_APPROVALS_MAX = 10_000;
export const OPEN_APPROVALS_READ = 200;
/**
 * Tests of approvers are counted as a rule of their own, by a name that no rule has. Their open ones are kept apart: they are no calls that wait, and must not
 * take the places of those.
 */
export const TESTS_MARK = "+";

/** People of one tenant who are told apart on one day, for each rule that they decide by. */
export const DECIDERS_MAX = 1_000;

export function decisionWait(ms: number): number {
  return DECISION_WAITS_MS.findIndex((most) => ms <= most);
}

/** The day (UTC) of a time, such as `2026-11-29`. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** The days of a request, newest first. */
export function daysOf({ days, nowMs }: ReadApprovals): readonly string[] {
  return Array.from({ length: Math.min(days, APPROVAL_DAYS_MAX) }, (_, back) => dayOf(nowMs - back * 86_400_000));
}

/**
 * Names of what is counted for a rule on a day: `<rule> asked`, `<rule> approved`, `<rule> void`, `<rule> approved after <wait>`,
 * `<rule> approved by <principal>`. Stores keep a number for each.
 */
export function countsOf({ rule, end, askedAtMs, atMs, isVoid }: ApprovalSettled): readonly string[] {
  const isDecided = end === "approved" || end === "refused";
  return [
    `${rule} ${end}`,
    ...(isVoid ? [`${rule} void`] : []),
    ...(isDecided ? [`${rule} ${end} after ${decisionWait(Math.max(0, atMs - askedAtMs))}`] : []),
  ];
}

export function decidersOf({ rule, end, by = [] }: ApprovalSettled): readonly { readonly count: string; readonly others: string }[] {
  if (end !== "approved" && end !== "refused") return [];
  return by.map((principal) => ({ count: `${rule} ${end} by ${principal}`, others: `${rule} ${end} by ` }));
}

/** Puts what stores counted together, by rule and in the order of their names. */
export function countedRules(counts: Iterable<readonly [name: string, count: number]>): readonly CountedRule[] {
  const rules = new Map<string, Counting>();
  for (const [name, count] of counts) {
    const [, rule = "", what = "", detail, of = ""] = COUNT.exec(name) ?? [];
    // A store may count for itself, by names that no rule has.
    if (!/^\+?[a-z0-9]/.test(rule)) continue;
    const counting = rules.get(rule) ?? newCounting();
    rules.set(rule, counting);
    const decided = what === "approved" || what === "refused" ? what : undefined;
    if (detail === undefined) counting.ends.set(what, (counting.ends.get(what) ?? 0) + count);
    else if (detail === "after" && decided) counting.after[decided][Number(of)] = (counting.after[decided][Number(of)] ?? 0) + count;
    else if (decided) {
      const person = counting.people.get(of) ?? { approved: 0, refused: 0 };
      counting.people.set(of, { ...person, [decided]: person[decided] + count });
    }
  }
  return [...rules]
    .map(([rule, { ends, after, people }]) => {
      const countOf = (what: string) => ends.get(what) ?? 0;
      const settled = Object.fromEntries(APPROVAL_ENDS.map((end) => [end, countOf(end)])) as Record<ApprovalEnd, number>;
      return {
        rule,
        asked: countOf("asked"),
        ...settled,
        void: countOf("void"),
        approvedAfter: after.approved,
        refusedAfter: after.refused,
        people: [...people].map(([principal, decided]) => ({ principal, ...decided })),
      };
    })
    .toSorted((one, other) => (one.rule < other.rule ? -1 : 1));
}

const COUNT = /^(\S+) (\w+)(?: (after|by) (.*))?$/s;

interface Counting {
  readonly ends: Map<string, number>;
  readonly after: { readonly approved: number[]; readonly refused: number[] };
  readonly people: Map<string, { readonly approved: number; readonly refused: number }>;
}

function newCounting(): Counting {
  const none = () => DECISION_WAITS_MS.map(() => 0);
  return { ends: new Map(), after: { approved: none(), refused: none() }, people: new Map() };
}
