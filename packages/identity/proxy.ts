/**
 * Callers that a proxy has authenticated, for example by mutual TLS or a service mesh, and names in a header. The header counts only in requests
 * from the proxy's own address, since anyone can write a header.
 */
import { type Caller, typedName } from "@parley/core";
import { addressRanges } from "./address.ts";
import { NAME_CHARS_MAX, principalOf } from "./claims.ts";
import { headersNamed } from "./credentials.ts";
import { refuse } from "./refuse.ts";
import type { ProxySettings } from "./settings.ts";

export interface Proxied {
  readonly rawHeaders: readonly string[];
  /** Remote address of the connection. */
  readonly address: string | undefined;
}

/** Returns a function that finds the caller named by a proxy; undefined if the header is missing. It throws PROXY_NOT_TRUSTED, CREDENTIALS_MISPLACED, TOKEN_CLAIM_INVALID. */
export function proxiedCaller({ header, addresses, scopes }: ProxySettings): (request: Proxied) => Caller | undefined {
  const trusted = addressRanges(addresses);
  return ({ rawHeaders, address }) => {
    const [name, ...more] = headersNamed(rawHeaders, header);
    if (name === undefined) return undefined;
    if (address === undefined || !trusted?.has(address)) {
      throw refuse("PROXY_NOT_TRUSTED", `the header ${header} comes from an address that is not a trusted proxy`);
    }
    if (more.length > 0) throw refuse("CREDENTIALS_MISPLACED", `the request has several ${header} headers: send only one`);
    if (name === "" || name.length > NAME_CHARS_MAX) {
      throw refuse("TOKEN_CLAIM_INVALID", `the header ${header} must name a caller with 1 to ${NAME_CHARS_MAX} characters`);
    }
    const by = `proxy:${header}`;
    return Object.freeze({
      principal: principalOf(["default", by, name]),
      tenant: "default",
      scopes,
      authenticatedBy: by,
      names: Object.freeze([typedName("sub", name)]),
      groups: Object.freeze([]),
      roles: Object.freeze([]),
    });
  };
}
