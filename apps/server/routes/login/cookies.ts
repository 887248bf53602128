/**
 * The cookies of a login, sealed with the deployment's secret so that any front end can read them and none has to keep anything:
 *
 *   parley-login-…  while the person is at the provider: state and verifier of one login, and the page to return to
 *   parley-session  who is logged in, for PARLEY_LOGIN_TTL
 */
import { ParleyError, type RequiredAssurance } from "@parley/core";
import type { LoginBegun } from "@parley/identity";
import type { DepositSeal } from "@parley/node";
import type { FastifyReply, FastifyRequest } from "fastify";
import { COOKIE_CHARS_MAX, sealedCookies } from "../../seals/sealed-cookies.ts";
import type { SessionLogin } from "./ended-logins.ts";

export interface BegunCookie extends LoginBegun {
  /** Path and query of a page of this server. */
  readonly back: string;
  /** How the person is to log in, for an answer; absent if in any way. */
  readonly required?: RequiredAssurance;
  readonly untilMs: number;
}

export interface LoginCookies {
  /** Throws LOGIN_REFUSED if the address of the page does not fit into a cookie. */
  begin(request: FastifyRequest, reply: FastifyReply, begun: BegunCookie, nowMs: number): void;
  /** The login with that state. Undefined if it was not started in this browser, or too long ago. */
  begun(request: FastifyRequest, state: string, nowMs: number): BegunCookie | undefined;
  end(reply: FastifyReply, state: string): void;
  /** Throws TOKEN_CLAIM_INVALID if the claims about the person do not fit into a cookie. */
  logIn(reply: FastifyReply, session: SessionLogin, nowMs: number): void;
  /** The login of this browser, which may have ended in the meantime. */
  login(request: FastifyRequest, nowMs: number): SessionLogin | undefined;
  logOut(reply: FastifyReply): void;
}

/** How many logins one browser may have open. About forty would make the headers of its requests too large, even to finish a login. */
export const LOGINS_MAX = 8;

export function loginCookies(seal: DepositSeal, isSecure: boolean): LoginCookies {
  const cookies = sealedCookies(seal, isSecure);
  const session = cookies.name("session");
  const loginOf = (state: string) => cookies.name(`login-${state.replaceAll(/[^\w-]/g, "").slice(0, 12)}`);

  return {
    begin(request, reply, begun, nowMs) {
      if (!cookies.set(reply, loginOf(begun.state), begun, nowMs))
        throw new ParleyError("LOGIN_REFUSED", `the address of the page exceeds a cookie of ${COOKIE_CHARS_MAX} characters`);
      const others = cookies.namesWith(request, cookies.name("login-"));
      for (const name of others.slice(0, Math.max(0, others.length + 1 - LOGINS_MAX))) cookies.remove(reply, name);
    },
    begun(request, state, nowMs) {
      const begun = cookies.get<BegunCookie>(request, loginOf(state), nowMs);
      return begun?.state === state ? begun : undefined;
    },
    end: (reply, state) => cookies.remove(reply, loginOf(state)),
    logIn(reply, who, nowMs) {
      if (cookies.set(reply, session, who, nowMs)) return;
      throw new ParleyError(
        "TOKEN_CLAIM_INVALID",
        `the provider's claims about the person exceed a cookie of ${COOKIE_CHARS_MAX} characters`,
      );
    },
    login: (request, nowMs) => cookies.get<SessionLogin>(request, session, nowMs),
    logOut: (reply) => cookies.remove(reply, session),
  };
}
