/**
 * Finds an issuer's endpoints, such as its keys and its login, from its own metadata. The document must name the issuer that was asked for, so
 * that a document that someone else serves on the same host is not accepted.
 *
 * Source: RFC 8414, 3; OpenID Connect Discovery 1.0, 4; specification 2026-07-28, basic/authorization, "Authorization Server Discovery".
 */
import { ParleyError } from "@parley/core";
import { unsafeAddress } from "./address.ts";
import { askProvider } from "./ask-provider.ts";
import { refuse, shown } from "./refuse.ts";

export interface Discover {
  readonly issuer: string;
  readonly timeoutMs: number;
  /** As for `askProvider`. Absent: all requests of one discovery share the timeout. */
  readonly signal?: AbortSignal | undefined;
  readonly allowHttp: boolean;
  /** Names the setting that allows http, for error messages. Default: that of the issuers of callers' tokens. */
  readonly httpPermit?: string;
}

/** Resolves to the address of the keys. Throws PROVIDER_UNAVAILABLE and PROVIDER_INVALID. */
export async function discoverKeys(discover: Discover): Promise<string> {
  const { jwks_uri: keys } = await discoverAddresses(discover, ["jwks_uri"]);
  return keys;
}

/** Resolves to the metadata and to the addresses of these names in it, each of them safe to contact. Throws PROVIDER_UNAVAILABLE and PROVIDER_INVALID. */
export async function discoverAddresses<Name extends string>(
  { issuer, timeoutMs, signal = AbortSignal.timeout(timeoutMs), allowHttp, httpPermit }: Discover,
  names: readonly Name[],
): Promise<Readonly<Record<Name, string>> & { readonly metadata: Readonly<Record<string, unknown>> }> {
  const what = `the metadata of ${issuer}`;
  let absent: unknown;
  let unusable: unknown;
  for (const url of metadataUrls(issuer)) {
    let isFound = false;
    try {
      const metadata = await askProvider({ url, what, timeoutMs, signal });
      isFound = true;
      if (metadata["issuer"] !== issuer)
        throw refuse("PROVIDER_INVALID", `${what}: the document names the issuer ${shown(metadata["issuer"])}`);
      const addresses = Object.fromEntries(names.map((name) => [name, addressIn(metadata, name, { what, allowHttp, httpPermit })]));
      return { ...(addresses as Record<Name, string>), metadata };
    } catch (error) {
      if (!(error instanceof ParleyError)) throw error;
      // A provider that is down is not tried at the other addresses, which would take the full timeout each.
      if (error.code === "PROVIDER_UNAVAILABLE") throw error;
      if (isFound) unusable ??= error;
      else absent = error;
    }
  }
  // What is wrong with a document says more than that there is none at another address.
  throw unusable ?? absent;
}

function addressIn(
  metadata: Readonly<Record<string, unknown>>,
  name: string,
  { what, allowHttp, httpPermit }: { what: string; allowHttp: boolean; httpPermit: string | undefined },
): string {
  const address = metadata[name];
  const unsafe = typeof address === "string" ? unsafeAddress(address, allowHttp, httpPermit) : "is missing";
  if (typeof address !== "string" || unsafe !== undefined) throw refuse("PROVIDER_INVALID", `${what}: its ${name} ${unsafe}`);
  return address;
}

/** Addresses of the metadata, in the specification's order. */
export function metadataUrls(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  const urls = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ];
  return [...new Set(urls)];
}
