/** Effects.kept: the grants of the task's owner, for the task's steps. */
import { ANONYMOUS } from "../callers/caller.ts";
import type { KeptAccess } from "../effects.ts";
import type { Task } from "../task.ts";
import { keptToken } from "./fresh-token.ts";
import type { Services } from "./services.ts";
import { whileAway } from "./retry-through-outage.ts";

/** Undefined for an anonymous owner: everyone is the same principal, so one person's grant would serve everyone. */
export function keptAccess(services: Services, { id: taskId, call }: Pick<Task, "id" | "call">): KeptAccess | undefined {
  const { grants, oauth } = services;
  const { principal, tenant } = call;
  if (!grants || !oauth || principal === ANONYMOUS) return undefined;
  return {
    async find(id, { ttlMs, not }) {
      const found = await whileAway(services, () => grants.use({ principal, tenant, id }, { ttlMs, taskId }));
      return found?.consent === not ? undefined : found?.consent;
    },
    token: (id, use) => keptToken(services, { principal, tenant, id, ...use }),
    refuse: (id, consent) => whileAway(services, () => grants.remove({ principal, tenant, id }, consent, "refused")),
  };
}
