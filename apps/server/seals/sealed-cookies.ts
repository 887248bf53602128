/**
 * What a browser keeps for this server: sealed with the deployment's secret and bound to its name, so that any front end reads it and none holds it.
 *
 * Names begin with `__Host-`, which browsers take over https and for this host alone; over http, which there is on this machine alone, without.
 */
import { deflateRawSync, inflateRawSync } from "node:zlib";
import type { DepositSeal } from "@parley/node";
import { parseCookie, stringifySetCookie } from "cookie";
import type { FastifyReply, FastifyRequest } from "fastify";

interface Lasting {
  readonly untilMs: number;
}

export interface SealedCookies {
  name(name: string): string;
  /** False when the browser would not take it: it is longer than `COOKIE_CHARS_MAX`. */
  set(reply: FastifyReply, name: string, value: Lasting, nowMs: number): boolean;
  /** Undefined for what is not there, was changed, has ended, or is another browser's idea. */
  get<T extends Lasting>(request: FastifyRequest, name: string, nowMs: number): T | undefined;
  remove(reply: FastifyReply, name: string): void;
  /** Names that begin so, of cookies that the browser sends: the oldest first (RFC 6265, 5.4). */
  beginning(request: FastifyRequest, name: string): readonly string[];
}

/** What browsers take, with its name. */
export const COOKIE_CHARS_MAX = 4_000;
/** What it may become again: a caller at all its limits is about 200 kB. */
const INFLATED_BYTES_MAX = 262_144;

export function sealedCookies(seal: DepositSeal, isSecure: boolean): SealedCookies {
  const prefix = isSecure ? "__Host-parley" : "parley";

  function write(reply: FastifyReply, name: string, value: string, seconds: number): void {
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

  return {
    name: (name) => `${prefix}-${name}`,
    set(reply, name, value, nowMs) {
      const sealed = seal.seal("cookie", name, deflateRawSync(JSON.stringify(value)).toString("base64url"));
      if (name.length + sealed.length > COOKIE_CHARS_MAX) return false;
      write(reply, name, sealed, (value.untilMs - nowMs) / 1_000);
      return true;
    },
    get<T extends Lasting>({ headers }: FastifyRequest, name: string, nowMs: number): T | undefined {
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
    },
    remove: (reply, name) => write(reply, name, "", 0),
    beginning: ({ headers }, name) =>
      headers.cookie === undefined ? [] : Object.keys(parseCookie(headers.cookie)).filter((each) => each.startsWith(name)),
  };
}
