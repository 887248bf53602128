/** The served stateless revisions, and how a request selects one. */
import { headerValue } from "../header-value.ts";
import { given, isObject } from "../json-rpc.ts";
import type { Inbound, StatelessDialect } from "./dialect.ts";
import { metaOf } from "./envelope.ts";
import { PROTOCOL_VERSION } from "./names.ts";
import { rev20260728 } from "./rev-2026-07-28/index.ts";

/** Newest first, as in STATELESS_VERSIONS. */
export const STATELESS_DIALECTS = [rev20260728] as const;

/**
 * The revision that the request names, even if the rest is malformed, so that it gets that revision's errors. Only this family has a version in
 * `_meta`: if that version is not served, the newest revision reports it. Undefined for a request of a session.
 */
export function statelessDialect({ headers, body }: Pick<Inbound, "headers" | "body">): StatelessDialect | undefined {
  const params = isObject(body) ? given(body, "params") : undefined;
  const meta = (isObject(params) && metaOf(params)) || {};
  const named = [headerValue(headers, "mcp-protocol-version"), given(meta, PROTOCOL_VERSION)];
  const dialect = STATELESS_DIALECTS.find(({ version }) => named.includes(version));
  return dialect ?? (given(meta, PROTOCOL_VERSION) !== undefined ? STATELESS_DIALECTS[0] : undefined);
}
