/** Standing approvals in memory: the rules of packages/redis/scripts/standing in readable form. */
import { type StandingAbout, type StandingApprovals, STANDING_APPROVALS_MAX } from "../ports/standing-approvals.ts";

interface Stored {
  readonly about: StandingAbout;
  readonly grantedBy: string;
  left: number;
  readonly tasks: Set<string>;
}

export function createMemoryStandingApprovals(): StandingApprovals {
  const tenants = new Map<string, Map<string, Stored>>();

  function approvalsOf(tenant: string, nowMs: number): Map<string, Stored> {
    const approvals = tenants.get(tenant) ?? new Map<string, Stored>();
    tenants.set(tenant, approvals);
    for (const [id, { about }] of approvals) if (about.untilMs <= nowMs) approvals.delete(id);
    return approvals;
  }

  return {
    async grant({ tenant, id, taskId, about }) {
      const approvals = approvalsOf(tenant, about.grantedAtMs);
      const known = approvals.get(id);
      if (known?.grantedBy === taskId) return true;
      if (!known && approvals.size >= STANDING_APPROVALS_MAX) return false;
      approvals.set(id, { about, grantedBy: taskId, left: about.uses, tasks: new Set() });
      return true;
    },
    async use({ tenant, id, taskId, nowMs }) {
      const approval = approvalsOf(tenant, nowMs).get(id);
      if (!approval) return undefined;
      if (!approval.tasks.has(taskId)) {
        if (approval.left < 1) return undefined;
        approval.left -= 1;
        approval.tasks.add(taskId);
      }
      return { id, ...approval.about, left: approval.left };
    },
    async list({ tenant, nowMs }) {
      const approvals = [...approvalsOf(tenant, nowMs)].map(([id, { about, left }]) => ({ id, ...about, left }));
      return approvals.toSorted((one, other) => one.untilMs - other.untilMs || (one.id < other.id ? -1 : 1));
    },
    async revoke({ tenant, id }) {
      return tenants.get(tenant)?.delete(id) ?? false;
    },
  };
}
