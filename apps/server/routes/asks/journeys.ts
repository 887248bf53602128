/**
 * People who leave the page of an ask for another site and come back from there:
 *
 *   page ─▶ state, kept by the browser in a sealed cookie ─▶ other site ─▶ back with the state: this browser? this person? the first time?
 *
 * The state names nothing, so that another site learns nothing from it. It is good for one ask, one person, one browser, one time, and ten minutes.
 * Who forges, replays or borrows one has no cookie that fits; where two come back with one at once, a claim in the store lets one of them pass.
 */
import type { Services } from "@parley/core";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { SealedCookies } from "../../seals/sealed-cookies.ts";

export interface Journey {
  readonly state: string;
  readonly taskId: string;
  readonly key: string;
  /** Of the ask as it was shown. */
  readonly digest: string;
  readonly tenant: string;
  readonly principal: string;
  /** Of PKCE. */
  readonly verifier?: string;
}

interface Kept extends Journey {
  readonly untilMs: number;
}

/** `astray`: not begun in this browser, or too long ago. `borrowed`: begun by somebody else. `repeated`: this state came back before. */
export type Arrival =
  | { readonly type: "arrived"; readonly journey: Journey }
  | { readonly type: "astray" | "borrowed" | "repeated"; readonly journey?: Journey };

export interface Journeys {
  begin(request: FastifyRequest, reply: FastifyReply, journey: Omit<Journey, "tenant" | "principal">): void;
  /** Uses the state up; its cookie stays, so that who comes once more is told what became of it. Throws UNAVAILABLE. */
  arrive(request: FastifyRequest, state: string): Promise<Arrival>;
}

/** How long somebody may be away. */
export const JOURNEY_MS = 10 * 60_000;
/** Journeys that one browser may be on: of more the headers of its requests would be too large. */
export const JOURNEYS_MAX = 8;

export function createJourneys({ clock, claims, ids }: Pick<Services, "clock" | "claims" | "ids">, cookies: SealedCookies): Journeys {
  const nameOf = (state: string) => cookies.name(`away-${state.replaceAll(/[^\w-]/g, "").slice(0, 12)}`);

  return {
    begin(request, reply, journey) {
      const { tenant, principal } = request.caller;
      const nowMs = clock.now();
      const others = cookies.beginning(request, cookies.name("away-"));
      for (const name of others.slice(0, Math.max(0, others.length + 1 - JOURNEYS_MAX))) cookies.remove(reply, name);
      const kept: Kept = { ...journey, tenant, principal, untilMs: nowMs + JOURNEY_MS };
      cookies.set(reply, nameOf(journey.state), kept, nowMs);
    },
    async arrive(request, state) {
      const kept = cookies.get<Kept>(request, nameOf(state), clock.now());
      if (!kept || kept.state !== state) return { type: "astray" };
      const { tenant, principal } = request.caller;
      if (kept.tenant !== tenant || kept.principal !== principal) return { type: "borrowed" };
      // For as long as the cookie lasts.
      const isFirst = await claims?.take(`journey ${state}`, ids.uuid(), JOURNEY_MS);
      return { type: isFirst === true ? "arrived" : "repeated", journey: kept };
    },
  };
}
