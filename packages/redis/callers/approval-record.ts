/**
 * The figures of approvals, for all workers together:
 *
 *   parley:approvals:{<tenant>}:open         calls that wait for approval
 *   parley:approvals:{<tenant>}:tests        tests of approvers that wait for an answer
 *   parley:approvals:{<tenant>}:2026-11-29   what was counted on that day
 *
 * The tenant is a digest. Its keys are in one slot.
 */
import {
  APPROVAL_DAYS_MAX,
  type ApprovalRecord,
  countedRules,
  countsOf,
  dayOf,
  daysOf,
  decidersOf,
  DECIDERS_MAX,
  OPEN_APPROVALS_MAX,
  OPEN_APPROVALS_READ,
  TESTS_MARK,
} from "@parley/core";
import type { Redis } from "ioredis";
import type { Keys } from "../keys.ts";
import { loadScripts } from "../scripts/load-scripts.ts";
import { reached } from "../connection/unavailable.ts";

const KEEP_MS = APPROVAL_DAYS_MAX * 86_400_000;

export interface ApprovalRecordOptions {
  readonly redis: Redis;
  readonly keys: Pick<Keys, "approvals">;
}

const openOf = (rule: string) => (rule.startsWith(TESTS_MARK) ? "tests" : "open");

export function createApprovalRecord({ redis, keys }: ApprovalRecordOptions): ApprovalRecord {
  const scripts = loadScripts(redis, { names: ["asked", "settled"], folder: "approval/", keyCount: () => 2 });
  return {
    async asked({ tenant, rule, taskId, askedAtMs }) {
      const atMs = Math.floor(askedAtMs);
      const own = [keys.approvals(tenant, openOf(rule)), keys.approvals(tenant, dayOf(atMs))];
      await reached(scripts.asked([...own, rule, taskId, atMs, KEEP_MS, OPEN_APPROVALS_MAX]));
    },
    async settled(settled) {
      const { tenant, rule, taskId, atMs } = settled;
      const counts = countsOf(settled);
      const people = decidersOf(settled).flatMap(({ count, others }) => [count, others]);
      const end = [rule, taskId, KEEP_MS, DECIDERS_MAX, counts.length, ...counts, ...people];
      const day = keys.approvals(tenant, dayOf(atMs));
      const settledIn = async (open: string) => await reached(scripts.settled([keys.approvals(tenant, open), day, ...end]));
      // A test that an older worker noted is among the calls.
      if ((await settledIn(openOf(rule))) === "unknown" && rule.startsWith(TESTS_MARK)) await settledIn("open");
    },
    async read(request) {
      const { tenant } = request;
      const [open, ...days] = await reached(
        Promise.all([
          redis.zrange(keys.approvals(tenant, "open"), "0", String(OPEN_APPROVALS_READ), "WITHSCORES"),
          ...daysOf(request).map((day) => redis.hgetall(keys.approvals(tenant, day))),
        ] as const),
      );
      const counts = days.flatMap((day) => Object.entries(day).map(([name, count]) => [name, Number(count)] as const));
      const asked = Array.from({ length: open.length / 2 }, (_, at) => {
        const [rule = "", taskId = ""] = (open[2 * at] ?? "").split(" ");
        return { rule, taskId, askedAtMs: Number(open[2 * at + 1]) };
      });
      return { rules: countedRules(counts), open: asked.slice(0, OPEN_APPROVALS_READ), isMoreOpen: asked.length > OPEN_APPROVALS_READ };
    },
  };
}
