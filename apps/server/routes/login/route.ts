/**
 * How people log in with a browser to open pages:
 *
 *   page, not logged in ─▶ cookie with state and verifier, to the provider ─▶ /login/callback: code redeemed ─▶ session cookie ─▶ page
 *
 *   GET /login     page, logged in as somebody else ─▶ the same, but the provider asks who the person is
 *                  or logged in otherwise than an answer requires ─▶ the same, but the provider asks them to log in so
 *   POST /logout   forgets who is logged in with this browser, and accepts no copy of its cookie any more
 *
 * Everything else is kept in sealed cookies of the browser, so any front end serves any step.
 */
import { assuranceProblems, type Claims, meets, ParleyError, type RequiredAssurance } from "@parley/core";
import { type Login, LOGIN_CALLBACK_PATH } from "@parley/identity";
import type { DepositSeal } from "@parley/node";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Authenticate } from "../../front-end/caller.ts";
import { clientAddress } from "../../front-end/client-address.ts";
import type { FrontEnd } from "../../front-end/front-end.ts";
import { ACCOUNTS_PATH, APPROVALS_PATH, ASKS_PATH, INBOX_PATH, type PageAddresses } from "../../front-end/page-addresses.ts";
import { queryOf } from "../../front-end/query.ts";
import type { Visitors } from "../../front-end/visitors.ts";
import { formBodies, isOwnForm, notice, showErrors } from "../asks/every-page.ts";
import { readerOf } from "../../texts/texts.ts";
import { markup } from "../asks/html.ts";
import { type LoginCookies, loginCookies } from "./cookies.ts";
import { endedLogins } from "./ended-logins.ts";

/** How long a person may take at the provider. */
const LOGIN_MS = 10 * 60_000;

export interface LoggedIn {
  /** Identifies requests without a login cookie: those that a proxy authenticates, and scripts with a token. */
  readonly authenticate: Authenticate;
  /** Undefined if there is no login in the browser. */
  readonly login: Login | undefined;
  readonly seal: DepositSeal;
  readonly claims: Pick<Claims, "take" | "isTaken">;
  readonly now: () => number;
}

/** Visitors who log in. */
export function loggedIn({ authenticate, login, seal, claims, now }: LoggedIn): Visitors {
  const ended = endedLogins(claims);
  const cookies = loginCookies(seal, login?.isSecure ?? true);
  /** Requests of people who have logged in with their browser, so that the cookie is opened once. */
  const logins = new WeakSet<FastifyRequest>();
  return {
    async authenticate(request) {
      const session = cookies.login(request, now());
      if (!session || (await ended.has(session))) return await authenticate(request);
      logins.add(request);
      return { ...session.caller, assurance: "login", hasLoggedOut: () => ended.has(session) };
    },
    ticket: undefined,
    ...(login && {
      playground: {
        async callerOf(request) {
          const session = isFromPlayground(request) ? cookies.login(request, now()) : undefined;
          if (!session || (await ended.has(session))) return undefined;
          return { ...session.caller, expiresAtMs: session.untilMs, hasLoggedOut: () => ended.has(session) };
        },
        logIn: (request, reply, back) => begin({ login, cookies, now }, { request, reply, back, as: { isToCall: true } }),
      },
      logIn: (request, reply) => begin({ login, cookies, now }, { request, reply, back: request.url }),
      again: (required, back) => `${pathOf(login)}${LOGIN_PATH}?${new URLSearchParams({ back, ...againQuery(required) }).toString()}`,
      account: (request) =>
        logins.has(request) ? { other: otherAccount(login, request.url), out: `${pathOf(login)}${LOGOUT_PATH}` } : undefined,
    }),
  };
}

/**
 * Whether the page at /play sends the request, and no page of another server: that one cannot set this header without being asked first, and browsers say
 * where a request comes from. A request with a token comes from whom the token names.
 */
function isFromPlayground({ headers }: FastifyRequest): boolean {
  return headers["x-requested-with"] === "parley" && headers["sec-fetch-site"] === "same-origin" && headers.authorization === undefined;
}

const LOGIN_PATH = "/login";
const LOGOUT_PATH = "/logout";
/** The form of a logout is empty. */
const FORM_BYTES_MAX = 1_024;

/** What a proxy adds to the paths of this server. */
function pathOf({ base }: Login): string {
  return new URL(base).pathname.replace(/\/$/, "");
}

function otherAccount(login: Login, back: string): string {
  return `${pathOf(login)}${LOGIN_PATH}?${new URLSearchParams({ back }).toString()}`;
}

/** The page of this server that `back` names. Throws LOGIN_REFUSED if there is nothing on it for another account. */
function pageIn(query: string): string {
  const page = URL.parse(new URLSearchParams(query).get("back") ?? "", "http://page");
  const path = page?.pathname ?? "";
  const isPage = [ACCOUNTS_PATH, APPROVALS_PATH, INBOX_PATH].includes(path) || path.startsWith(`${ASKS_PATH}/`);
  if (!page || !isPage) throw new ParleyError("LOGIN_REFUSED", "there is no such page to return to");
  return `${page.pathname}${page.search}`;
}

/** What an answer requires, in an address. Everybody may write one: it only says what the provider is asked for. */
function againQuery({ withinMs, acr, amr }: RequiredAssurance): Record<string, string> {
  return {
    again: "yes",
    ...(withinMs !== undefined && { within: String(withinMs) }),
    ...(acr && { acr: acr.join(" ") }),
    ...(amr && { amr: amr.join(" ") }),
  };
}

/** Throws LOGIN_REFUSED. */
function asIn(query: string): Parameters<Login["start"]>[0] {
  const parameters = new URLSearchParams(query);
  if (parameters.get("again") === null) return { asAnother: true };
  const [within, acr, amr] = ["within", "acr", "amr"].map((name) => parameters.get(name));
  const required = {
    by: "login" as const,
    ...(within && { withinMs: Number(within) }),
    ...(acr && { acr: acr.split(" ") }),
    ...(amr && { amr: amr.split(" ") }),
  };
  if (assuranceProblems(required).length > 0) throw new ParleyError("LOGIN_REFUSED", "there is no such login");
  return { required };
}

interface Beginning {
  readonly login: Login;
  readonly cookies: LoginCookies;
  readonly now: () => number;
}

interface Begin {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** The page to return to. */
  readonly back: string;
  /** Default: as the provider knows them. */
  readonly as?: Parameters<Login["start"]>[0];
}

async function begin({ login, cookies, now }: Beginning, { request, reply, back, as }: Begin): Promise<FastifyReply> {
  const { url, ...begun } = await login.start(as);
  const nowMs = now();
  const required = as?.required && { required: as.required };
  cookies.begin(request, reply, { ...begun, back, ...required, untilMs: nowMs + LOGIN_MS }, nowMs);
  return await reply.redirect(url, 303);
}

export interface LoginRoute {
  readonly frontEnd: FrontEnd;
  readonly login: Login;
  readonly addresses: PageAddresses;
  readonly seal: DepositSeal;
  readonly claims: LoggedIn["claims"];
}

export function loginRoute(scope: FastifyInstance, { frontEnd, login, addresses, seal, claims }: LoginRoute): void {
  const { clock } = frontEnd.services;
  const ended = endedLogins(claims);
  const cookies = loginCookies(seal, login.isSecure);
  formBodies(scope, FORM_BYTES_MAX);

  scope.get(LOGIN_PATH, { exposeHeadRoute: false }, async (request, reply) =>
    begin({ login, cookies, now: () => clock.now() }, { request, reply, back: pageIn(queryOf(request)), as: asIn(queryOf(request)) }),
  );

  scope.post(LOGOUT_PATH, async (request, reply) => {
    if (!isOwnForm(request, addresses)) return notice(reply, "foreign");
    cookies.logOut(reply);
    const nowMs = clock.now();
    const session = cookies.login(request, nowMs);
    if (session) await ended.end(session, nowMs);
    return notice(reply, "left");
  });

  scope.get(LOGIN_CALLBACK_PATH, { exposeHeadRoute: false }, async (request, reply) => {
    const parameters = new URLSearchParams(queryOf(request));
    const state = parameters.get("state") ?? "";
    const begun = cookies.begun(request, state, clock.now());
    if (!begun) throw new ParleyError("LOGIN_REFUSED", "no such login was started in this browser");
    // If the provider has the wrong account, opening the page again would only end here again.
    request.account = { other: otherAccount(login, begun.back) };
    const caller = await login.finish(parameters, begun, clientAddress(request));
    const nowMs = clock.now();
    cookies.end(reply, state);
    cookies.logIn(reply, { caller, untilMs: nowMs + login.ttlMs }, nowMs);
    // `back` lacks any path prefix that a proxy has removed; `base` includes it.
    const back = `${login.base}${begun.back}`;
    const { required } = begun;
    if (!required || meets({ ...caller, assurance: "login" }, required, nowMs)) return await reply.redirect(back, 303);
    // Asking the provider again would only lead here again.
    frontEnd.log.warn({ required, stated: caller.login ?? {} }, "login states less than an answer requires");
    const { assurance: words } = readerOf(request).texts;
    return notice(reply, "login-unmet", { detail: markup`<p><a href="${back}">${words.back}</a></p>` });
  });

  // A person without a login is not sent to one: this is where they come back from it.
  showErrors(scope, frontEnd, {});
}
