/** Paths are appended to PARLEY_PUBLIC_URL, and its spelling is compared: with the `aud` of tokens, and with redirect addresses. */

/**
 * The address without a trailing slash, as clients and browsers write it: scheme and host in lower case, no port that is
 * the default. For zod's `transform`: a problem is added to the schema instead of thrown.
 */
export function publicUrlSetting(text: string, schema: { addIssue(problem: string): void }): string {
  const url = URL.parse(text);
  const problem = url ? problemOf(url) : EXPECTED;
  if (problem !== undefined) schema.addIssue(problem);
  return url ? `${url.origin}${url.pathname.replace(/\/+$/, "")}` : text;
}

const EXPECTED = "must be an address with http:// or https://, such as https://parley.example.com";

function problemOf({ protocol, username, password, search, hash, pathname }: URL): string | undefined {
  if (protocol !== "https:" && protocol !== "http:") return EXPECTED;
  if (username !== "" || password !== "") return "must not name a user or a password, since everyone reads it";
  if (search !== "" || hash !== "") return "must not have a query or a fragment, since paths are appended to it";
  if (/\/mcp\/*$/.test(pathname)) return "must not end with /mcp, which is appended to it";
  return undefined;
}
