/**
 * Reads the credentials of an HTTP request: one Authorization header with a bearer token, and no other.
 *
 * Source: RFC 6750, 2; specification 2026-07-28, basic/authorization, "Token Requirements": never in the query string.
 */
import { refuse } from "./refuse.ts";

export interface Carried {
  /** Names and values in turn, as received. Node's `headers` silently drops a second Authorization header. */
  readonly rawHeaders: readonly string[];
  /** Including the query. */
  readonly url: string;
}

/** Maximum length of a token, since each one is hashed, parsed and remembered. Providers issue tokens of one to two thousand characters. */
export const TOKEN_CHARS_MAX = 8_192;

/** The bearer token; undefined if there is none. Throws CREDENTIALS_MISPLACED, TOKEN_TOO_LARGE, TOKEN_MALFORMED. */
export function bearerToken({ rawHeaders, url }: Carried): string | undefined {
  const query = url.indexOf("?");
  if (query !== -1 && new URLSearchParams(url.slice(query + 1)).has("access_token")) {
    throw refuse("CREDENTIALS_MISPLACED", "the URL contains an access_token: send it in the Authorization header instead");
  }
  const given = headersNamed(rawHeaders, "authorization");
  if (given.length > 1) throw refuse("CREDENTIALS_MISPLACED", "the request has several Authorization headers: send only one");
  const [header] = given;
  if (header === undefined) return undefined;
  if (header.length > TOKEN_CHARS_MAX + "Bearer ".length) {
    throw refuse("TOKEN_TOO_LARGE", `the access token is larger than ${TOKEN_CHARS_MAX} characters`);
  }
  const [, token] = /^Bearer +([\w.~+/-]+=*) *$/i.exec(header) ?? [];
  if (token === undefined) throw refuse("TOKEN_MALFORMED", "the Authorization header must contain `Bearer` and one access token");
  return token;
}

/** All values of a header. `name` is in lower case. */
export function headersNamed(rawHeaders: readonly string[], name: string): readonly string[] {
  const values: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const value = rawHeaders[index + 1];
    if (value !== undefined && rawHeaders[index]?.toLowerCase() === name) values.push(value);
  }
  return values;
}
