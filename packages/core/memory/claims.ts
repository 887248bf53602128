/** Claims in memory: work that only one process may do at a time, with the rules of packages/redis/scripts/claim. */
import type { Claims, Clock } from "../ports.ts";

export function createMemoryClaims({ clock }: { readonly clock: Pick<Clock, "now"> }): Claims {
  const taken = new Map<string, { readonly holder: string; readonly untilMs: number }>();
  return {
    async take(name, holder, ms) {
      const claim = taken.get(name);
      if (claim && claim.holder !== holder && claim.untilMs > clock.now()) return false;
      taken.set(name, { holder, untilMs: clock.now() + ms });
      return true;
    },
    isTaken: async (name) => (taken.get(name)?.untilMs ?? -Infinity) > clock.now(),
    async release(name, holder) {
      if (taken.get(name)?.holder === holder) taken.delete(name);
    },
  };
}
