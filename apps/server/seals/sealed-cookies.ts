/**
 * Cookies of this server, sealed with the deployment's secret and bound to their name, so that any front end can read them and none has to
 * keep anything.
 *
 * Over https, their names begin with `__Host-`, which browsers accept only for this host. Over http, which is used only on a local machine,
 * they have no such prefix.
 */
import { deflateRawSync, inflateRawSync } from "node:zlib";
import type { DepositSeal } from "@parley/node";
import { parseCookie, stringifySetCookie } from "cookie";
import type { FastifyReply, FastifyRequest } from "fastify";

interface Expiring {
  readonly untilMs: number;
}

export interface SealedCookies {
  name(name: string): string;
  /** Returns false if the cookie would be longer than `COOKIE_CHARS_MAX`, because browsers would not accept it. */
  set(reply: FastifyReply, name: string, value: Expiring, nowMs: number): boolean;
  /** Undefined if the cookie does not exist, has expired, or was not sealed by this deployment under this name. */
  get<T extends Expiring>(request: FastifyRequest, name: string, nowMs: number): T | undefined;
  remove(reply: FastifyReply, name: string): void;
  /** Names of the browser's cookies that begin with `prefix`, the oldest first (RFC 6265, 5.4). */
  namesWith(request: FastifyRequest, prefix: string): readonly string[];
}

/** Longest name and value that browsers accept. */
export const COOKIE_CHARS_MAX = 4_000;
/** Largest value after decompression. A caller with all claims at their limits is about 200 kB. */
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
    get<T extends Expiring>({ headers }: FastifyRequest, name: string, nowMs: number): T | undefined {
      const given = headers.cookie === undefined ? undefined : parseCookie(headers.cookie)[name];
      if (given === undefined) return undefined;
      try {
        const text = Buffer.from(seal.open("cookie", name, given), "base64url");
        // Only front ends have the key, so the content is valid.
        const value = JSON.parse(inflateRawSync(text, { maxOutputLength: INFLATED_BYTES_MAX }).toString()) as T;
        return value.untilMs > nowMs ? value : undefined;
      } catch {
        return undefined;
      }
    },
    remove: (reply, name) => write(reply, name, "", 0),
    namesWith: ({ headers }, namePrefix) =>
      headers.cookie === undefined ? [] : Object.keys(parseCookie(headers.cookie)).filter((each) => each.startsWith(namePrefix)),
  };
}
