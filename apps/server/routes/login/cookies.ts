/**
 * What a browser keeps of a login, sealed with the deployment's secret, so that any front end reads it and none holds it:
 *
 *   parley-login-…  while its person is at the provider: the state and the verifier of one login, and the page to come back to
 *   parley-session  who is logged in, for as long as PARLEY_LOGIN_TTL says
 *
 * Their names begin with `__Host-`, which browsers take over https and for this host alone; over http, which there is on this machine alone, without.
 */
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { type Caller, ParleyError } from "@parley/core";
import type { LoginBegun } from "@parley/identity";
import type { DepositSeal } from "@parley/node";
import { parseCookie, stringifySetCookie } from "cookie";
import type { FastifyReply, FastifyRequest } from "fastify";

export interface BegunCookie extends LoginBegun {
  /** Path and query of a page of this server. */
  readonly back: string;
  readonly untilMs: number;
}

interface SessionCookie {
  readonly caller: Caller;
  readonly untilMs: number;
}

export interface LoginCookies {
  begin(reply: FastifyReply, begun: BegunCookie, nowMs: number): void;
  /** Of the login with that state; undefined when it was not begun in this browser, or too long ago. */
  begun(request: FastifyRequest, state: string, nowMs: number): BegunCookie | undefined;
  end(reply: FastifyReply, state: string): void;
  /** Throws TOKEN_CLAIM_INVALID for a person of whom a cookie cannot hold all that is to be known. */
  logIn(reply: FastifyReply, session: SessionCookie, nowMs: number): void;
  caller(request: FastifyRequest, nowMs: number): Caller | undefined;
}

/** What browsers take, with its name. */
const COOKIE_CHARS_MAX = 4_000;
/** What it may become again: a caller at all its limits is about 200 kB. */
const INFLATED_BYTES_MAX = 262_144;

export function loginCookies(seal: DepositSeal, isSecure: boolean): LoginCookies {
  const prefix = isSecure ? "__Host-parley" : "parley";
  const session = `${prefix}-session`;
  const loginOf = (state: string) => `${prefix}-login-${state.replaceAll(/[^\w-]/g, "").slice(0, 12)}`;

  function set(reply: FastifyReply, name: string, value: string, seconds: number): void {
    const cookie = {
      name,
      value,
      path: "/",
      httpOnly: true,
      secure: isSecure,
      sameSite: "lax" as const,
      maxAge: Math.max(0, Math.floor(seconds)),
    };
    void reply.header("set-cookie", stringifySetCookie(cookie));
  }

  function sealed(name: string, value: object): string {
    return seal.seal("cookie", name, deflateRawSync(JSON.stringify(value)).toString("base64url"));
  }

  /** Undefined for what is not there, was changed, or is another browser's idea. */
  function opened<T extends { readonly untilMs: number }>({ headers }: FastifyRequest, name: string, nowMs: number): T | undefined {
    const given = headers.cookie === undefined ? undefined : parseCookie(headers.cookie)[name];
    if (given === undefined) return undefined;
    try {
      const text = Buffer.from(seal.open("cookie", name, given), "base64url");
      // Only a front end holds the key, so the shape is right.
      const value = JSON.parse(inflateRawSync(text, { maxOutputLength: INFLATED_BYTES_MAX }).toString()) as T;
      return value.untilMs > nowMs ? value : undefined;
    } catch {
      return undefined;
    }
  }

  return {
    begin(reply, begun, nowMs) {
      const name = loginOf(begun.state);
      set(reply, name, sealed(name, begun), (begun.untilMs - nowMs) / 1_000);
    },
    begun(request, state, nowMs) {
      const begun = opened<BegunCookie>(request, loginOf(state), nowMs);
      return begun?.state === state ? begun : undefined;
    },
    end: (reply, state) => set(reply, loginOf(state), "", 0),
    logIn(reply, who, nowMs) {
      const value = sealed(session, who);
      if (session.length + value.length > COOKIE_CHARS_MAX) {
        throw new ParleyError(
          "TOKEN_CLAIM_INVALID",
          `what the provider says of the person is more than a cookie of ${COOKIE_CHARS_MAX} characters holds`,
        );
      }
      set(reply, session, value, (who.untilMs - nowMs) / 1_000);
    },
    caller: (request, nowMs) => opened<SessionCookie>(request, session, nowMs)?.caller,
  };
}
