/**
 * People who leave the page of an ask for another site and return from there:
 *
 *   page ─▶ state, in a sealed cookie of the browser ─▶ other site ─▶ back with the state: same browser? same person? first time?
 *
 * The state is random, so the other site learns nothing from it. It is valid for one ask, one person, one browser, one return, and ten
 * minutes. A person who forges, replays or borrows a state has no matching cookie. If two requests return with the same state at once, a
 * claim in the store admits one.
 */
import type { Services } from "@parley/core";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { SealedCookies } from "../../seals/sealed-cookies.ts";

export interface Journey {
  readonly state: string;
  readonly taskId: string;
  readonly key: string;
  /** Digest of the ask as it was shown. */
  readonly digest: string;
  readonly tenant: string;
  readonly principal: string;
  /** PKCE code verifier. */
  readonly verifier?: string;
}

interface JourneyCookie extends Journey {
  readonly untilMs: number;
}

/**
 * `not-started`: not in this browser, or too long ago. `started-by-another`: another person started it. `repeated`: the state has been
 * used.
 */
export type Arrival =
  | { readonly type: "arrived"; readonly journey: Journey }
  | { readonly type: "not-started" | "started-by-another" | "repeated"; readonly journey?: Journey };

export interface Journeys {
  begin(request: FastifyRequest, reply: FastifyReply, journey: Omit<Journey, "tenant" | "principal">): void;
  /** Uses up the state. Its cookie remains, so that a person who returns again sees what happened. Throws UNAVAILABLE. */
  arrive(request: FastifyRequest, state: string): Promise<Arrival>;
}

/** How long a person may be away. */
const JOURNEY_MS = 10 * 60_000;
/** How many journeys one browser may have open. More cookies would make the headers of its requests too large. */
export const JOURNEYS_MAX = 8;

export function createJourneys({ clock, claims, ids }: Pick<Services, "clock" | "claims" | "ids">, cookies: SealedCookies): Journeys {
  const nameOf = (state: string) => cookies.name(`away-${state.replaceAll(/[^\w-]/g, "").slice(0, 12)}`);

  return {
    begin(request, reply, journey) {
      const { tenant, principal } = request.caller;
      const nowMs = clock.now();
      const others = cookies.namesWith(request, cookies.name("away-"));
      for (const name of others.slice(0, Math.max(0, others.length + 1 - JOURNEYS_MAX))) cookies.remove(reply, name);
      const kept: JourneyCookie = { ...journey, tenant, principal, untilMs: nowMs + JOURNEY_MS };
      cookies.set(reply, nameOf(journey.state), kept, nowMs);
    },
    async arrive(request, state) {
      const kept = cookies.get<JourneyCookie>(request, nameOf(state), clock.now());
      if (!kept || kept.state !== state) return { type: "not-started" };
      const { tenant, principal } = request.caller;
      if (kept.tenant !== tenant || kept.principal !== principal) return { type: "started-by-another" };
      // The claim lasts as long as the cookie.
      const isFirst = await claims?.take(`journey ${state}`, ids.uuid(), JOURNEY_MS);
      return { type: isFirst === true ? "arrived" : "repeated", journey: kept };
    },
  };
}
