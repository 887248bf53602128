/** The last approved calls in memory: the rules of packages/redis/scripts/approval/approved.lua in readable form. */
import {
  LAST_APPROVED_CHARS_MAX,
  LAST_APPROVED_KEPT_MS,
  LAST_APPROVED_MAX,
  type LastApproved,
  type NoteApproved,
} from "../ports/last-approved.ts";

export function createMemoryLastApproved(): LastApproved {
  const tenants = new Map<string, Map<string, NoteApproved>>();
  return {
    async note(noted) {
      const { tenant, id, approvedAtMs, arguments: args, ...rest } = noted;
      const calls = tenants.get(tenant) ?? new Map<string, NoteApproved>();
      tenants.set(tenant, calls);
      if ((calls.get(id)?.approvedAtMs ?? -Infinity) > approvedAtMs) return;
      const isKept = args !== undefined && args.length <= LAST_APPROVED_CHARS_MAX;
      calls.set(id, { tenant, id, approvedAtMs, ...rest, ...(isKept && { arguments: args }) });
      const oldest = [...calls.values()].toSorted((one, other) => one.approvedAtMs - other.approvedAtMs);
      for (const each of oldest.slice(0, Math.max(0, calls.size - LAST_APPROVED_MAX))) calls.delete(each.id);
    },
    async read({ tenant, id, nowMs }) {
      const found = tenants.get(tenant)?.get(id);
      if (!found || found.approvedAtMs + LAST_APPROVED_KEPT_MS <= nowMs) return undefined;
      const { tenant: _tenant, id: _id, ...call } = found;
      return call;
    },
  };
}
