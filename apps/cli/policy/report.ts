/** Implements `parley policy report`: what became of the calls that rules made wait, read from Redis. */
import { approvalReport, type ApprovalReport, QUICK_MS, type ReportedRule } from "@parley/approvals";
import { APPROVAL_DAYS_MAX, DEFAULT_TENANT } from "@parley/core";
import { readEnvironment } from "@parley/node";
import { connectRedis, redisSettings, toRedisSettings } from "@parley/redis";
import { counted } from "../terminal/counted.ts";
import { onStderr } from "../terminal/on-stderr.ts";
import { cleanLine, print, printJson } from "../terminal/terminal.ts";
import { relative } from "../terminal/times.ts";

export interface ReportCommand {
  readonly days: string;
  readonly tenant?: string;
  readonly json?: true;
}

export async function reportPolicy({ days: given, tenant = DEFAULT_TENANT, json }: ReportCommand): Promise<void> {
  const days = Number(given);
  if (!Number.isInteger(days) || days < 1 || days > APPROVAL_DAYS_MAX)
    throw new Error(`--days must be a whole number from 1 to ${APPROVAL_DAYS_MAX}`);
  const redis = await connectRedis(toRedisSettings(readEnvironment(redisSettings, process.env)), { log: onStderr });
  try {
    // What cannot be read waits: an operator may lack the keys of its content.
    const load = (taskId: string) => redis.store.load(taskId).catch(() => ({ status: "working" as const }));
    const nowMs = redis.now();
    const report = await approvalReport({ approvals: redis.approvals, load }, { tenant, days, nowMs });
    if (json) printJson({ tenant, days, ...report });
    else for (const line of reportLines(report, { days, nowMs })) print(line);
  } finally {
    await redis.close();
  }
}

export function* reportLines(
  { rules, isMoreWaiting }: ApprovalReport,
  { days, nowMs }: { readonly days: number; readonly nowMs: number },
): Generator<string> {
  const period = days === 1 ? "today" : `the last ${days} days`;
  if (rules.length === 0) return yield `no call has waited for approval in ${period}`;
  yield `Calls that waited for approval, ${period} (UTC)`;
  for (const rule of rules) {
    yield "";
    yield `${cleanLine(rule.rule)}: ${counted(rule.asked, "call")} asked, ${endsOf(rule)}`;
    if (rule.medianMs !== undefined && rule.p90Ms !== undefined)
      yield `  decided: half within ${lasting(rule.medianMs)}, 90 % within ${lasting(rule.p90Ms)}; ${percent(rule.yes ?? 0)} yes, ${rule.quick} of them within ${QUICK_MS / 1_000} seconds`;
    if (rule.people.length > 0)
      yield `  by:      ${rule.people.map((each) => `${cleanLine(each.principal)} (${each.approved} yes, ${each.refused} no)`).join(", ")}`;
    if (rule.tests) yield `  tests:   ${testsOf(rule.tests)}`;
    if (rule.oldest)
      yield `  waiting: ${rule.waiting}${isMoreWaiting ? " or more" : ""}, the oldest was asked ${relative(rule.oldest.askedAtMs, nowMs)} (task ${rule.oldest.taskId})`;
  }
}

function testsOf({ asked, caught, missed, missedBy }: NonNullable<ReportedRule["tests"]>): string {
  const who = missedBy.map((each) => `${cleanLine(each.principal)} ${each.missed}`).join(", ");
  return `${asked} asked, ${caught} refused, as was right; ${missed} approved${who === "" ? "" : ` (${who})`}`;
}

function endsOf(rule: ReportedRule): string {
  const ends = [
    `${rule.approved} approved`,
    `${rule.refused} refused`,
    ...(["expired", "withdrawn", "closed"] as const).flatMap((end) => (rule[end] > 0 ? [`${rule[end]} ${end}`] : [])),
  ].join(", ");
  return rule.void === 0 ? ends : `${ends}; ${rule.void} approved too late, because something had changed`;
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

/** `4 seconds`, `3 hours`: one unit, rounded up. */
function lasting(ms: number): string {
  const units = [
    [86_400_000, "day"],
    [3_600_000, "hour"],
    [60_000, "minute"],
  ] as const;
  const [size, unit] = units.find(([each]) => ms >= 2 * each) ?? [1_000, "second"];
  return counted(Math.max(1, Math.ceil(ms / size)), unit);
}
