/**
 * The credentials of a request, as HTTP carries them: one Authorization header with a bearer token, and nothing beside it.
 *
 * Source: RFC 6750, 2; specification 2026-07-28, basic/authorization, "Token Requirements": never in the query string.
 */
import { refuse } from "./refuse.ts";

export interface Carried {
  /** Names and values in turn, as they came: `headers` of Node drops a second Authorization without a word. */
  readonly rawHeaders: readonly string[];
  /** With its query. */
  readonly url: string;
}

/** Most characters of a token. Providers issue one to two thousand; each is hashed, parsed and remembered. */
export const TOKEN_CHARS_MAX = 8_192;

/** Undefined when there is none. Throws CREDENTIALS_MISPLACED, TOKEN_TOO_LARGE, TOKEN_MALFORMED. */
export function bearerToken({ rawHeaders, url }: Carried): string | undefined {
  const query = url.indexOf("?");
  if (query !== -1 && new URLSearchParams(url.slice(query + 1)).has("access_token")) {
    throw refuse("CREDENTIALS_MISPLACED", "the address has an access_token: send it in the Authorization header");
  }
  const given = headersNamed(rawHeaders, "authorization");
  if (given.length > 1) throw refuse("CREDENTIALS_MISPLACED", "the request has several Authorization headers: send one");
  const [header] = given;
  if (header === undefined) return undefined;
  if (header.length > TOKEN_CHARS_MAX + "Bearer ".length) {
    throw refuse("TOKEN_TOO_LARGE", `the access token is larger than ${TOKEN_CHARS_MAX} characters`);
  }
  const [, token] = /^Bearer +([\w.~+/-]+=*) *$/i.exec(header) ?? [];
  if (token === undefined) throw refuse("TOKEN_MALFORMED", "the Authorization header does not hold `Bearer` and one access token");
  return token;
}

export function headersNamed(rawHeaders: readonly string[], name: string): readonly string[] {
  const values: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const value = rawHeaders[index + 1];
    if (value !== undefined && rawHeaders[index]?.toLowerCase() === name) values.push(value);
  }
  return values;
}
