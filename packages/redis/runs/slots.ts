/**
 * Limits of tools, kept in Redis across all workers (ADR 19).
 *
 *   parley:limit:{<digest>}:held    tasks that hold a slot, and until when
 *   parley:limit:{<digest>}:line    waiting tasks, older first
 *   parley:limit:{<digest>}:facts   their runs, whose the slots are, and the bucket of the rate
 *
 * The digest is of tool and key, because arguments do not belong in the names of keys.
 */
import { IN_LINE_MAX, type KeptLimit, SLOT_PATIENCE_MS, SLOT_RETRY_MAX_MS, type Slots, type SlotTaken } from "@parley/core";
import type { Redis } from "ioredis";
import type { Keys } from "../keys.ts";
import { loadScripts } from "../scripts/load-scripts.ts";
import { reached } from "../connection/unavailable.ts";

export interface SlotsOptions {
  readonly redis: Redis;
  readonly keys: Pick<Keys, "limit">;
}

export function createSlots({ redis, keys }: SlotsOptions): Slots {
  const scripts = loadScripts(redis, { names: ["take", "keep", "give"], folder: "limit/", shared: ["limit"], keyCount: () => 3 });
  const rateOf = ({ rate }: KeptLimit) => [rate?.count ?? 0, rate?.windowMs ?? 0] as const;
  return {
    async take({ limit, taskId, token, nextRun, createdAtMs, isNew, nowMs, leaseMs }) {
      const facts = [taskId, token, nextRun, createdAtMs, isNew ? 1 : 0, Math.floor(nowMs), leaseMs, limit.concurrency ?? 0];
      const bounds = [IN_LINE_MAX, SLOT_RETRY_MAX_MS, SLOT_PATIENCE_MS];
      const reply = await reached(scripts.take([...keys.limit(limit.id), ...facts, ...rateOf(limit), ...bounds]));
      const [type, by, retryMs] = reply as ["taken"] | ["wait", "concurrency" | "rate", number];
      return (type === "taken" ? { type } : { type, by, retryMs }) as SlotTaken;
    },
    async keep({ limit, taskId, token, nowMs, leaseMs }) {
      const keepMs = 2 * (SLOT_RETRY_MAX_MS + SLOT_PATIENCE_MS);
      await reached(scripts.keep([...keys.limit(limit.id), taskId, token, Math.floor(nowMs + leaseMs), keepMs]));
    },
    async give({ limit, taskId, token, nowMs }) {
      const bounds = [limit.concurrency ?? 0, ...rateOf(limit), SLOT_PATIENCE_MS];
      const flat = (await reached(scripts.give([...keys.limit(limit.id), taskId, token, Math.floor(nowMs), ...bounds]))) as (
        | string
        | number
      )[];
      return Array.from({ length: flat.length / 2 }, (_, index) => ({ taskId: String(flat[2 * index]), run: Number(flat[2 * index + 1]) }));
    },
  };
}
