/**
 * Standing approvals, for all workers and front ends together:
 *
 *   parley:approvals:{<tenant>}:standing        those of the tenant, by their end
 *   parley:approvals:{<tenant>}:standing:<id>   one of them; expires at its end
 *
 * The tenant is a digest. Its keys are in one slot.
 */
import { type StandingAbout, type StandingApprovals, STANDING_APPROVALS_MAX } from "@parley/core";
import type { Redis } from "ioredis";
import type { Keys } from "../keys.ts";
import { loadScripts } from "../scripts/load-scripts.ts";
import { reached } from "../connection/unavailable.ts";

export interface StandingApprovalsOptions {
  readonly redis: Redis;
  readonly keys: Pick<Keys, "approvals">;
}

export function createStandingApprovals({ redis, keys }: StandingApprovalsOptions): StandingApprovals {
  const scripts = loadScripts(redis, { names: ["grant", "use", "revoke"], folder: "standing/", keyCount: () => 2 });
  const indexOf = (tenant: string) => keys.approvals(tenant, "standing");
  const both = (tenant: string, id: string) => [indexOf(tenant), keys.approvals(tenant, `standing:${id}`)];
  return {
    async grant({ tenant, id, taskId, about }) {
      const { uses, grantedAtMs, untilMs } = about;
      const times = [Math.floor(grantedAtMs), Math.floor(untilMs)];
      const granted = scripts.grant([...both(tenant, id), id, taskId, JSON.stringify(about), uses, ...times, STANDING_APPROVALS_MAX]);
      return (await reached(granted)) === "granted";
    },
    async use({ tenant, id, taskId, nowMs }) {
      const [about, left] = (await reached(scripts.use([...both(tenant, id), taskId, Math.floor(nowMs)]))) as [string, number] | [];
      return about === undefined || left === undefined ? undefined : { id, ...(JSON.parse(about) as StandingAbout), left };
    },
    async list({ tenant, nowMs }) {
      const ids = await reached(redis.zrangebyscore(indexOf(tenant), `(${Math.floor(nowMs)}`, "+inf"));
      const all = await reached(Promise.all(ids.map((id) => redis.hmget(keys.approvals(tenant, `standing:${id}`), "about", "left"))));
      return ids.flatMap((id, at) => {
        const [about, left] = all[at] ?? [];
        return typeof about === "string" ? [{ id, ...(JSON.parse(about) as StandingAbout), left: Number(left) }] : [];
      });
    },
    async revoke({ tenant, id }) {
      return (await reached(scripts.revoke([...both(tenant, id), id]))) === 1;
    },
  };
}
