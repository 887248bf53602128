/**
 * Pages of other sites, from which people return:
 *
 *   page: tool and site ─▶ other site, with the address to return to ─▶ /returns/<state>: the question is settled
 *
 * Parley checks that the person who returns is the one who left, in the same browser, and only once. It does not learn what they did there.
 */
import { leavePage, type OpenPage, type Page, type Services, visitPage as visitAsk } from "@parley/core";
import type { DepositSeal } from "@parley/node";
import { randomBytes } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { PageAddresses } from "../../front-end/page-addresses.ts";
import { queryOf } from "../../front-end/query.ts";
import { sealedCookies } from "../../seals/sealed-cookies.ts";
import type { TitleOf } from "../../front-end/tool-titles.ts";
import type { Signatures } from "../../seals/signatures.ts";
import { readerOf } from "../../texts/texts.ts";
import { DOOR, notice, noticeLate, sendPage, sendShown, type ToShow, withFormToken } from "./every-page.ts";
import type { Onward } from "./lead-on.ts";
import { createJourneys } from "./journeys.ts";
import { awayPage, visitPage } from "./views.ts";

export interface Visits {
  show(reply: FastifyReply, shown: ToShow): FastifyReply;
  begin(request: FastifyRequest, reply: FastifyReply, shown: Omit<ToShow, "request">): FastifyReply;
  finish(request: FastifyRequest, reply: FastifyReply, state: string): Promise<FastifyReply>;
}

export interface VisitsOptions {
  readonly services: Services;
  readonly titleOf: TitleOf;
  readonly onward: Onward;
  readonly addresses: PageAddresses;
  readonly seal: DepositSeal;
  readonly signatures: Signatures;
}

/** Path below the address at which people reach the server. */
export const RETURNS_PATH = "/returns";
/** Limits of the query with which a person returns. */
export const PARAMETERS_MAX = 20;
export const QUERY_CHARS_MAX = 4_096;

export function createVisits({ services, titleOf, onward, addresses, seal, signatures }: VisitsOptions): Visits {
  const journeys = () => createJourneys(services, sealedCookies(seal, !addresses.base().startsWith("http:")));

  function show(reply: FastifyReply, toShow: ToShow): FastifyReply {
    const { taskId, page } = toShow;
    const action = addresses.urlOf(taskId, page.ask.key);
    const text = visitPage(withFormToken({ signatures, titleOf, onward }, toShow), { host: new URL(otherPage(page).url).host, action });
    return sendShown(reply, toShow, text);
  }

  return {
    show,

    begin(request, reply, { taskId, page }) {
      const { url, returnTo } = otherPage(page);
      const { key, digest } = page.ask;
      const state = randomBytes(32).toString("base64url");
      journeys().begin(request, reply, { state, taskId, key, digest });
      const there = new URL(url);
      there.searchParams.set(returnTo, `${addresses.base()}${RETURNS_PATH}/${state}`);
      return sendPage(reply, 200, awayPage(readerOf(request), there.host, there.href));
    },

    async finish(request, reply, state) {
      const search = queryOf(request);
      const query = [...new URLSearchParams(search)];
      // Checked before the state is used up: the person may return again with less.
      if (search.length > QUERY_CHARS_MAX || query.length > PARAMETERS_MAX) return notice(reply, "large");
      const arrival = await journeys().arrive(request, state);
      if (!arrival.journey) return notice(reply, arrival.type === "started-by-another" ? "started-by-another" : "not-started");
      const { taskId, key, digest } = arrival.journey;
      const { caller } = request;
      const ref = { taskId, key, caller, door: DOOR };
      const visit = await visitAsk(services, ref);
      if (visit.type !== "open") return notice(reply, visit.type);
      const { page } = visit;
      if (page.page.kind !== "visit" || page.ask.digest !== digest) return notice(reply, "not-started");
      if (arrival.type === "repeated") return show(reply, { request, taskId, page, problem: readerOf(request).texts.visit.again });
      const { type } = await leavePage(services, {
        ...ref,
        digest,
        answer: { action: "accept", content: { query: Object.fromEntries(query) } },
      });
      if (type === "accepted" || type === "duplicate") return (await onward.lead(reply, ref)) ?? notice(reply, "returned");
      return await noticeLate({ services, titleOf, onward }, reply, ref);
    },
  };
}

function otherPage({ page }: OpenPage): Extract<Page, { kind: "visit" }> {
  if (page.kind !== "visit") throw new TypeError(`the page is for ${page.kind}, not for visit`);
  return page;
}
