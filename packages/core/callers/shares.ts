/**
 * Who gets the next place of something that is scarce: held calls and streams of a front end, uploads, reads at upstreams. One rule decides
 * for all of them (docs/adr/0014-one-policy-quotas-and-turns.md):
 *
 *   A share (a tenant, or a caller without one) may hold 56 × free² ⁄ all places.
 *
 *   ████████████████████████████████████████████████████████████████████▒▒▒▒▒▒▒▒▒▒   one share alone: seven eighths of all
 *   ██████████████████████████████████▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▒▒▒▒▒▒▒      two: nine twentieths each
 *
 * So the places that others do not want are used, and who comes finds free ones: the fewer there are, the less of them a share may take. Of
 * 5,000 places, twenty shares that come one after another and take what they can leave some. Nothing is taken back, because a held call or
 * a handler cannot be interrupted without loss. Callers of one tenant divide what it may have in the same way.
 *
 * Switches share a buffer between ports by such a threshold (Choudhury and Hahne, "Dynamic queue length thresholds", 1998). Theirs is a
 * multiple of what is free; then five greedy shares in a row leave nothing.
 */
import { ANONYMOUS, type Caller, DEFAULT_TENANT } from "./caller.ts";
import { isCounted } from "./quotas.ts";
import type { CallFacts } from "../task.ts";

/** How many places one share may hold of `all`, while so many are free: seven eighths if it is alone. */
function part(free: number, all: number): number {
  return (56 * free ** 2) / all;
}

/** Who takes a place: a caller, and the share to which it belongs. */
export interface Taker {
  readonly share: string;
  readonly principal: string;
}

/** Why a place is refused: all are taken; the taker's share, or the taker within it, has its part; or the taker has its own maximum. */
export type NoPlace = "all" | "share" | "own";

export interface SharedPlaces {
  /** Takes a place, and returns the function that gives it back; later calls of it have no effect. Without a taker, only the total counts. */
  take(taker?: Taker): (() => void) | NoPlace;
  readonly taken: number;
}

/** The group that takes one turn, and one part of what is scarce: a tenant, or a principal in the default tenant. */
export function shareOf({ principal, tenant = DEFAULT_TENANT }: Pick<CallFacts, "principal" | "tenant">): string {
  return tenant === DEFAULT_TENANT ? `principal:${principal}` : `tenant:${tenant}`;
}

/** The share of a task for runs after its first. Undefined for tasks of callers that cannot be told apart: they take no turns. */
export function turnOf(call: Pick<CallFacts, "principal" | "tenant">): { readonly share?: string } {
  return call.principal === ANONYMOUS ? {} : { share: shareOf(call) };
}

/** Undefined for callers that cannot be told apart: they are one, and there is nobody to share with. */
export function takerOf(caller: Caller): Taker | undefined {
  return isCounted(caller) ? { share: shareOf(caller), principal: caller.principal } : undefined;
}

/** `most`: places in all. `ownMost`: places that one caller may have at most, however many are free. */
export function sharedPlaces(most: number, ownMost = most): SharedPlaces {
  let taken = 0;
  const ofShare = new Map<string, number>();
  const ofCaller = new Map<string, number>();

  function refusal(taker: Taker | undefined): NoPlace | undefined {
    const own = taker ? (ofCaller.get(callerIn(taker)) ?? 0) : 0;
    if (taker && own >= ownMost) return "own";
    const free = most - taken;
    if (free <= 0) return "all";
    if (!taker) return undefined;
    const shared = ofShare.get(taker.share) ?? 0;
    const allowed = part(free, most);
    return shared >= allowed || own >= part(allowed - shared, allowed) ? "share" : undefined;
  }

  function count(taker: Taker | undefined, by: 1 | -1): void {
    taken += by;
    if (!taker) return;
    add(ofShare, taker.share, by);
    add(ofCaller, callerIn(taker), by);
  }

  return {
    get taken() {
      return taken;
    },
    take(taker) {
      const refused = refusal(taker);
      if (refused !== undefined) return refused;
      count(taker, 1);
      let isInside = true;
      return () => {
        if (isInside) count(taker, -1);
        isInside = false;
      };
    },
  };
}

/** Two tenants may have callers of one name. */
function callerIn({ share, principal }: Taker): string {
  return `${share}\n${principal}`;
}

/** Adds to a count. A count of nothing is not kept: takers come and go. */
function add(counts: Map<string, number>, name: string, by: 1 | -1): void {
  const count = (counts.get(name) ?? 0) + by;
  if (count > 0) counts.set(name, count);
  else counts.delete(name);
}
