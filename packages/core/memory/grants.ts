/** Grants for later tasks in memory: the rules of packages/redis/scripts/grant in readable form. Tokens are not sealed. */
import type { Audit, AuditFact } from "../callers/audit.ts";
import { DEFAULT_TENANT } from "../callers/caller.ts";
import { type GrantAbout, type GrantOwner, type GrantRef, GRANTS_MAX, type KeptGrants } from "../callers/kept-grants.ts";
import type { Clock, Ids } from "../ports.ts";

export interface MemoryGrants {
  readonly clock: Pick<Clock, "now">;
  readonly ids: Pick<Ids, "uuid">;
  readonly audit?: Audit;
}

interface Stored {
  readonly ref: GrantRef;
  readonly consent: string;
  readonly about: GrantAbout;
  readonly keptAtMs: number;
  text: string;
  usedAtMs: number;
  endsAtMs: number;
}

export function createMemoryGrants({ clock, ids, audit }: MemoryGrants): KeptGrants {
  const owners = new Map<string, Map<string, Stored>>();

  /** Without the grants that have ended. */
  function grantsOf({ principal, tenant = DEFAULT_TENANT }: GrantOwner): Map<string, Stored> {
    const owner = JSON.stringify([tenant, principal]);
    const grants = owners.get(owner) ?? new Map<string, Stored>();
    owners.set(owner, grants);
    for (const [id, { endsAtMs }] of grants) if (endsAtMs <= clock.now()) grants.delete(id);
    return grants;
  }

  const inOrder = (grants: Map<string, Stored>) => [...grants.values()].toSorted((one, other) => one.endsAtMs - other.endsAtMs);

  function take(ref: GrantRef, consent: string): Stored | undefined {
    const grants = grantsOf(ref);
    const grant = grants.get(ref.id);
    if (grant?.consent !== consent) return undefined;
    grants.delete(ref.id);
    return grant;
  }

  function note({ ref: { principal, tenant }, about }: Stored, fact: Pick<AuditFact, "verdict" | "taskId" | "door">): void {
    void audit?.note({ action: "grant", principal, ...(tenant !== undefined && { tenant }), grant: about, ...fact });
  }

  return {
    async keep(ref, { text, about, ttlMs, taskId }) {
      const grants = grantsOf(ref);
      const nowMs = clock.now();
      const grant = { ref, consent: ids.uuid(), about, text, keptAtMs: nowMs, usedAtMs: nowMs, endsAtMs: nowMs + ttlMs };
      grants.delete(ref.id);
      for (const first of inOrder(grants)) if (grants.size >= GRANTS_MAX) grants.delete(first.ref.id);
      grants.set(ref.id, grant);
      note(grant, { verdict: "kept", taskId });
      return grant.consent;
    },
    async use(ref, { ttlMs, taskId }) {
      const grant = grantsOf(ref).get(ref.id);
      if (!grant) return undefined;
      grant.usedAtMs = clock.now();
      grant.endsAtMs = clock.now() + ttlMs;
      if (taskId !== undefined) note(grant, { verdict: "used", taskId });
      return { consent: grant.consent, text: grant.text };
    },
    async replace(ref, before, text) {
      const grant = grantsOf(ref).get(ref.id);
      if (grant?.consent !== before.consent) return false;
      if (grant.text !== before.text && grant.text !== text) return false;
      grant.text = text;
      return true;
    },
    async remove(ref, consent, why) {
      const grant = take(ref, consent);
      if (grant) note(grant, { verdict: why });
    },
    async list(owner) {
      return inOrder(grantsOf(owner)).map(({ ref: { id }, consent, about, keptAtMs, usedAtMs, endsAtMs }) => ({
        id,
        consent,
        about,
        keptAtMs,
        usedAtMs,
        endsAtMs,
      }));
    },
    async revoke(ref, consent, door) {
      const grant = take(ref, consent);
      if (!grant) return undefined;
      note(grant, { verdict: "revoked", ...(door !== undefined && { door }) });
      return { about: grant.about, text: grant.text };
    },
  };
}
