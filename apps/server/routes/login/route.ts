/**
 * How people log in with a browser to open pages:
 *
 *   page, not logged in ─▶ cookie with state and verifier, to the provider ─▶ /login/callback: code redeemed ─▶ session cookie ─▶ page
 *
 * Everything is kept in sealed cookies of the browser, so any front end serves any step.
 */
import { ParleyError, type Services } from "@parley/core";
import { type Login, LOGIN_CALLBACK_PATH } from "@parley/identity";
import type { DepositSeal } from "@parley/node";
import type { FastifyInstance } from "fastify";
import type { Authenticate } from "../../front-end/caller.ts";
import { clientAddress } from "../../front-end/client-address.ts";
import { queryOf } from "../../front-end/query.ts";
import type { Visitors } from "../../front-end/visitors.ts";
import { NOTICES, noticePage } from "../asks/views.ts";
import { loginCookies } from "./cookies.ts";

/** How long a person may take at the provider. */
const LOGIN_MS = 10 * 60_000;

export interface LoggedIn {
  /** Identifies requests without a login cookie: those that a proxy authenticates, and scripts with a token. */
  readonly authenticate: Authenticate;
  /** Undefined if there is no login in the browser. */
  readonly login: Login | undefined;
  readonly seal: DepositSeal;
  readonly now: () => number;
}

/** Visitors who log in. */
export function loggedIn({ authenticate, login, seal, now }: LoggedIn): Visitors {
  const cookies = loginCookies(seal, login?.isSecure ?? true);
  return {
    authenticate: (request) => cookies.caller(request, now()) ?? authenticate(request),
    ticket: undefined,
    ...(login && {
      async logIn(request, reply) {
        const { url, ...begun } = await login.start();
        const nowMs = now();
        cookies.begin(request, reply, { ...begun, back: request.url, untilMs: nowMs + LOGIN_MS }, nowMs);
        return await reply.redirect(url, 303);
      },
    }),
  };
}

export interface LoginRoute {
  readonly login: Login;
  readonly seal: DepositSeal;
  readonly services: Pick<Services, "clock" | "ids" | "log">;
}

export function loginRoute(scope: FastifyInstance, { login, seal, services: { clock, ids, log } }: LoginRoute): void {
  const cookies = loginCookies(seal, login.isSecure);

  scope.get(LOGIN_CALLBACK_PATH, { exposeHeadRoute: false }, async (request, reply) => {
    const parameters = new URLSearchParams(queryOf(request));
    const state = parameters.get("state") ?? "";
    const begun = cookies.begun(request, state, clock.now());
    if (!begun) throw new ParleyError("LOGIN_REFUSED", "no such login was started in this browser");
    const caller = await login.finish(parameters, begun, clientAddress(request));
    const nowMs = clock.now();
    cookies.end(reply, state);
    cookies.logIn(reply, { caller, untilMs: nowMs + login.ttlMs }, nowMs);
    // `back` lacks any path prefix that a proxy has removed; `base` includes it.
    return await reply.redirect(`${login.base}${begun.back}`, 303);
  });

  scope.setErrorHandler((error: Error, request, reply) => {
    void reply.type("text/html; charset=utf-8");
    if (!(error instanceof ParleyError)) {
      const defectId = ids.uuid();
      log.error({ requestId: request.id, defectId, err: error }, "request failed");
      return reply.code(NOTICES.broken.status).send(noticePage(NOTICES.broken, `The operator can look it up under ${defectId}.`));
    }
    const { code } = error;
    const isAway = code === "PROVIDER_UNAVAILABLE" || code === "PROVIDER_INVALID" || code === "OVERLOADED";
    log.info({ requestId: request.id, code, problem: error.message }, "login refused");
    const notice = NOTICES[code === "LOGIN_REFUSED" ? "login-refused" : isAway ? "away" : "refused"];
    return reply.code(notice.status).send(noticePage(notice));
  });
}
