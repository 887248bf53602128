/**
 * The last approved call of each kind, for rules that show it beside the next one:
 *
 *   parley:approvals:{<tenant>}:last        kinds of calls of the tenant, by when the last one was approved
 *   parley:approvals:{<tenant>}:last:<id>   one of them, with its arguments as content of its task
 *
 * The tenant is a digest. Its keys are in one slot.
 */
import { type ApprovedCall, LAST_APPROVED_CHARS_MAX, LAST_APPROVED_KEPT_MS, LAST_APPROVED_MAX, type LastApproved } from "@parley/core";
import type { Redis } from "ioredis";
import { reached } from "../connection/unavailable.ts";
import { type ContentCodec, DamagedContent } from "../content/codec.ts";
import type { Keys } from "../keys.ts";
import { loadScripts } from "../scripts/load-scripts.ts";

export interface LastApprovedOptions {
  readonly redis: Redis;
  readonly keys: Pick<Keys, "approvals">;
  readonly codec: Pick<ContentCodec, "access" | "of">;
}

const PART = "approved";

/** Throws UNAVAILABLE. */
export function createLastApproved({ redis, keys, codec }: LastApprovedOptions): LastApproved {
  const scripts = loadScripts(redis, { names: ["approved"], folder: "approval/", keyCount: () => 2 });
  return {
    async note({ tenant, id, taskId, principal, approvedAtMs, arguments: args }) {
      const isKept = args !== undefined && args.length <= LAST_APPROVED_CHARS_MAX && (await codec.access(taskId)) === "open";
      const call: ApprovedCall = {
        taskId,
        principal,
        approvedAtMs: Math.floor(approvedAtMs),
        ...(isKept && { arguments: codec.of(taskId).sealWord(PART, args) }),
      };
      const own = [keys.approvals(tenant, "last"), keys.approvals(tenant, `last:${id}`)];
      const bounds = [LAST_APPROVED_KEPT_MS, LAST_APPROVED_MAX, keys.approvals(tenant, "last:")];
      await reached(scripts.approved([...own, id, call.approvedAtMs, JSON.stringify(call), ...bounds]));
    },
    async read({ tenant, id, nowMs }) {
      const stored = await reached(redis.get(keys.approvals(tenant, `last:${id}`)));
      if (stored === null) return undefined;
      const call = JSON.parse(stored) as ApprovedCall;
      const { taskId, approvedAtMs, arguments: sealed } = call;
      if (approvedAtMs + LAST_APPROVED_KEPT_MS <= nowMs) return undefined;
      if (sealed === undefined) return call;
      if ((await codec.access(taskId)) !== "open") return undefined;
      try {
        return { ...call, arguments: codec.of(taskId).openWord(PART, sealed) };
      } catch (error) {
        if (error instanceof DamagedContent) return undefined;
        throw error;
      }
    },
  };
}
