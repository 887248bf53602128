/**
 * Pages on which people allow a tool to act in their name at an OAuth provider:
 *
 *   page: tool and scopes ─▶ provider, with a state for this person ─▶ callback: code redeemed ─▶ tokens deposited with the answer, or kept
 *
 * Only the callback settles the ask. A closed window, a refusal, or a provider that is unavailable or sends an invalid response leaves it
 * open. Tokens are sealed before they leave this process, and only steps of the tool read them.
 */
import {
  ANONYMOUS,
  type Caller,
  describeError,
  type GrantedTokens,
  leavePage,
  type OpenPage,
  type Page,
  ParleyError,
  type Services,
  visitPage,
} from "@parley/core";
import { OAUTH_CALLBACK_PATH, type OauthDirectory, type OauthProvider } from "@parley/identity";
import type { DepositSeal } from "@parley/node";
import type { FastifyReply, FastifyRequest } from "fastify";
import { sharedGate } from "../../front-end/gate.ts";
import type { PageAddresses } from "../../front-end/page-addresses.ts";
import { queryOf } from "../../front-end/query.ts";
import type { TitleOf } from "../../front-end/tool-titles.ts";
import type { Signatures } from "../../seals/signatures.ts";
import { filled, type Reader, readerOf } from "../../texts/texts.ts";
import { sealedCookies } from "../../seals/sealed-cookies.ts";
import { DOOR, notice, noticeLate, sendPage, sendShown, type ToShow, withFormToken } from "./every-page.ts";
import type { Onward } from "./lead-on.ts";
import { createJourneys, type Journey } from "./journeys.ts";
import { awayPage, grantPage } from "./views.ts";

export interface Grants {
  /** Shows the page of the ask. Throws OAUTH_UNAVAILABLE. */
  show(reply: FastifyReply, shown: ToShow): FastifyReply;
  /** Sends the person to the provider. */
  begin(request: FastifyRequest, reply: FastifyReply, shown: Omit<ToShow, "request">): Promise<FastifyReply>;
  /** Receives the person who returns from the provider. */
  finish(request: FastifyRequest, reply: FastifyReply, provider: string): Promise<FastifyReply>;
}

export interface GrantsOptions {
  readonly services: Services;
  readonly titleOf: TitleOf;
  readonly onward: Onward;
  readonly addresses: PageAddresses;
  readonly seal: DepositSeal;
  readonly signatures: Signatures;
  readonly oauth: OauthDirectory | undefined;
}

/** A person who is back from the provider. */
interface Returned {
  readonly caller: Caller;
  readonly page: OpenPage;
  readonly parameters: URLSearchParams;
}

/** How many codes one front end redeems at once, in total and of one person. */
export const REDEMPTIONS_MAX = 100;
export const OWN_REDEMPTIONS_MAX = 10;

export function createGrants({ services, titleOf, onward, addresses, seal, signatures, oauth }: GrantsOptions): Grants {
  const { log } = services;
  const redemptions = sharedGate({
    what: "codes that are being redeemed",
    most: REDEMPTIONS_MAX,
    own: { what: "codes of this person that are being redeemed", most: OWN_REDEMPTIONS_MAX, code: "OVERLOADED" },
  });

  /** Created on use, because the address of this server is known only once it listens. */
  const journeys = () => createJourneys(services, sealedCookies(seal, !addresses.base().startsWith("http:")));
  const callbackOf = ({ name }: OauthProvider) => `${addresses.base()}${OAUTH_CALLBACK_PATH}/${name}`;

  function oauthPage({ page }: OpenPage): Extract<Page, { kind: "oauth" }> {
    if (page.kind !== "oauth") throw new TypeError(`the page is for ${page.kind}, not for oauth`);
    return page;
  }

  function providerOf(name: string): OauthProvider {
    const provider = oauth?.find(name);
    if (provider) return provider;
    throw new ParleyError("OAUTH_UNAVAILABLE", `the provider ${name} is not set up on this front end (PARLEY_OAUTH)`);
  }

  function show(reply: FastifyReply, toShow: ToShow): FastifyReply {
    const { taskId, page } = toShow;
    const { provider, scopes } = oauthPage(page);
    const shown = withFormToken({ signatures, titleOf, onward }, toShow);
    const text = grantPage({ shown, title: providerOf(provider).title, scopes, action: addresses.urlOf(taskId, page.ask.key) });
    return sendShown(reply, toShow, text);
  }

  function logFailure(error: unknown, { taskId, key, provider }: { taskId: string; key: string; provider: string }): void {
    log.warn({ taskId, key, provider, ...describeError(error) }, "grant failed");
  }

  async function redeem(provider: OauthProvider, journey: Journey, { caller, page, parameters }: Returned): Promise<GrantedTokens> {
    const { state, verifier = "" } = journey;
    const { scopes } = oauthPage(page);
    const leave = redemptions.enter(caller);
    return await provider.finish({ parameters, begun: { state, verifier }, scopes, callback: callbackOf(provider) }).finally(leave);
  }

  /**
   * Keeps the tokens for later tasks if the ask requests it, and does so before the ask is answered, so that the task finds them. Only for
   * the owner of the task, and never for the anonymous principal. Returns undefined if the tokens are to be deposited with the task.
   */
  async function keep({ caller }: FastifyRequest, { taskId, page, tokens }: { taskId: string; page: OpenPage; tokens: GrantedTokens }) {
    const { grants } = services;
    const { principal, tenant } = page.call;
    const { keep: keeping, provider, scopes } = oauthPage(page);
    if (!grants || !keeping || principal === ANONYMOUS || caller.principal !== principal) return undefined;
    const ref = { principal, tenant, id: keeping.id };
    const about = { upstream: keeping.upstream, provider, scopes };
    const consent = await grants.keep(ref, { text: JSON.stringify(tokens), about, ttlMs: keeping.ttlMs, taskId });
    return { consent, discard: () => grants.remove(ref, consent, "overtaken") };
  }

  return {
    show,

    async begin(request, reply, { taskId, page }) {
      const { provider: name, scopes } = oauthPage(page);
      const provider = providerOf(name);
      const { key, digest } = page.ask;
      try {
        const { url, state, verifier } = await provider.start(scopes, callbackOf(provider));
        journeys().begin(request, reply, { state, verifier, taskId, key, digest });
        return await sendPage(reply, 200, awayPage(readerOf(request), provider.title, url));
      } catch (error) {
        logFailure(error, { taskId, key, provider: name });
        return show(reply, { request, taskId, page, problem: sentenceOf(error, readerOf(request), provider.title) });
      }
    },

    async finish(request, reply, name) {
      const provider = oauth?.find(name);
      const { caller } = request;
      const parameters = new URLSearchParams(queryOf(request));
      const arrival = await journeys().arrive(request, parameters.get("state") ?? "");
      if (!provider || !arrival.journey) {
        log.info({ requestId: request.id, provider: name, arrival: arrival.type }, "grant refused");
        return notice(reply, arrival.type === "started-by-another" ? "started-by-another" : "not-started");
      }
      const { journey } = arrival;
      const { taskId, key, digest } = journey;
      const ref = { taskId, key, caller, door: DOOR };
      const visit = await visitPage(services, ref);
      if (visit.type !== "open") return notice(reply, visit.type);
      const { page } = visit;
      // The callback of a different provider, or the ask has changed in the meantime.
      if (page.page.kind !== "oauth" || page.page.provider !== name || page.ask.digest !== digest) return notice(reply, "not-started");
      if (arrival.type === "repeated")
        return show(reply, {
          request,
          taskId,
          page,
          problem: filled(readerOf(request).texts.grant.problems.repeated, { title: provider.title }),
        });
      try {
        const tokens = await redeem(provider, journey, { caller, page, parameters });
        const scopes = [...tokens.scopes];
        const kept = await keep(request, { taskId, page, tokens });
        const answer = kept
          ? { content: { consent: kept.consent, provider: name, scopes } }
          : { content: { deposit: key, provider: name, scopes }, deposit: seal.seal(taskId, key, JSON.stringify(tokens)) };
        const { type } = await leavePage(services, { ...ref, digest, answer: { action: "accept", ...answer } });
        if (type === "accepted" || type === "duplicate")
          return (
            (await onward.lead(reply, ref, { isKept: kept !== undefined })) ??
            (await notice(reply, "granted", { detail: kept && onward.kept(request) }))
          );
        await kept?.discard();
      } catch (error) {
        if (!(error instanceof ParleyError) || !isForPerson(error)) throw error;
        logFailure(error, { taskId, key, provider: name });
        return show(reply, { request, taskId, page, problem: sentenceOf(error, readerOf(request), provider.title) });
      }
      return await noticeLate({ services, titleOf, onward }, reply, ref);
    },
  };
}

/** Whether the person can do something about the error: the page is shown again. */
function isForPerson({ code }: ParleyError): boolean {
  return code === "GRANT_REFUSED" || code === "PROVIDER_UNAVAILABLE" || code === "PROVIDER_INVALID" || code === "OVERLOADED";
}

/** The sentence that the person reads. The provider's own words appear only in the log. */
function sentenceOf(error: unknown, { texts }: Reader, title: string): string {
  if (!(error instanceof ParleyError)) throw error;
  const { problems } = texts.grant;
  switch (error.code) {
    case "GRANT_REFUSED":
      return filled(error.data?.["reason"] === "access_denied" ? problems.denied : problems.refused, { title });
    case "PROVIDER_UNAVAILABLE":
      return filled(problems.away, { title });
    case "PROVIDER_INVALID":
      return filled(problems.invalid, { title });
    case "OVERLOADED":
      return problems.full;
    default:
      throw error;
  }
}
