/** The figures of approvals in memory: the rules of packages/redis/scripts/approval in readable form. */
import {
  APPROVAL_DAYS_MAX,
  type ApprovalAsked,
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
} from "../ports/approval-record.ts";

type Open = Map<string, Omit<ApprovalAsked, "tenant">>;

interface Tenant {
  /** By rule and task. */
  readonly open: Open;
  readonly openTests: Open;
  readonly days: Map<string, Map<string, number>>;
}

export function createMemoryApprovalRecord(): ApprovalRecord {
  const tenants = new Map<string, Tenant>();

  function tenantOf(name: string): Tenant {
    const tenant = tenants.get(name) ?? { open: new Map(), openTests: new Map(), days: new Map() };
    tenants.set(name, tenant);
    return tenant;
  }

  function dayAt({ days }: Tenant, atMs: number): Map<string, number> {
    const name = dayOf(atMs);
    const day = days.get(name) ?? new Map<string, number>();
    days.set(name, day);
    for (const each of days.keys()) if (each < dayOf(atMs - APPROVAL_DAYS_MAX * 86_400_000)) days.delete(each);
    return day;
  }

  const openOf = (tenant: Tenant, rule: string) => (rule.startsWith(TESTS_MARK) ? tenant.openTests : tenant.open);
  const byAge = (open: Open) => [...open.values()].toSorted((one, other) => one.askedAtMs - other.askedAtMs);
  const add = (day: Map<string, number>, name: string) => day.set(name, (day.get(name) ?? 0) + 1);
  const peopleOn = (day: Map<string, number>) => [...day.keys()].filter((name) => / by ./s.test(name)).length;

  return {
    async asked({ tenant: name, rule, taskId, askedAtMs }) {
      const tenant = tenantOf(name);
      const member = `${rule} ${taskId}`;
      const open = openOf(tenant, rule);
      if (open.has(member)) return;
      const [oldest] = open.size >= OPEN_APPROVALS_MAX ? byAge(open) : [];
      if (oldest) open.delete(`${oldest.rule} ${oldest.taskId}`);
      open.set(member, { rule, taskId, askedAtMs });
      add(dayAt(tenant, askedAtMs), `${rule} asked`);
    },
    async settled(settled) {
      const tenant = tenantOf(settled.tenant);
      if (!openOf(tenant, settled.rule).delete(`${settled.rule} ${settled.taskId}`)) return;
      const day = dayAt(tenant, settled.atMs);
      for (const name of countsOf(settled)) add(day, name);
      for (const { count, others } of decidersOf(settled)) add(day, day.has(count) || peopleOn(day) < DECIDERS_MAX ? count : others);
    },
    async read(request) {
      const tenant = tenantOf(request.tenant);
      const open = byAge(tenant.open).filter(({ askedAtMs }) => askedAtMs > request.nowMs - APPROVAL_DAYS_MAX * 86_400_000);
      const counts = daysOf(request).flatMap((day) => [...(tenant.days.get(day) ?? [])]);
      return {
        rules: countedRules(counts),
        open: open.slice(0, OPEN_APPROVALS_READ),
        isMoreOpen: open.length > OPEN_APPROVALS_READ,
      };
    },
  };
}
