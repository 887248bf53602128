/**
 * People see and withdraw the access that they granted for later tasks:
 *
 *   list ─▶ revoke ─▶ Parley forgets the tokens ─▶ the provider is asked to end them as well
 *
 * The access ends here in any case. The provider is asked afterwards, once: it may be unreachable, and it may offer no
 * way to end the access (RFC 7009 is optional). What it did is returned, logged and audited.
 */
import { type Caller, DEFAULT_TENANT } from "../callers/caller.ts";
import { describeError } from "../task/describe-error.ts";
import { readTokens } from "../callers/granted-tokens.ts";
import type { GrantAbout, GrantRef, ListedGrant, RevokedGrant } from "../callers/kept-grants.ts";
import { grantOwnerOf } from "../callers/policy.ts";
import type { Services } from "./services.ts";

/** `failed`: the provider could not be asked, or refused. */
export type AtProvider = "ended" | "unsupported" | "failed";

export interface RevokeGrant {
  readonly caller: Caller;
  readonly door: string;
  readonly id: string;
  /** The consent that the caller saw. A later one is not revoked. */
  readonly consent: string;
}

type Keeping = Pick<Services, "grants" | "oauth" | "audit" | "log">;

/** The caller's own grants. Throws UNAVAILABLE. */
export async function ownGrants({ grants }: Pick<Services, "grants">, caller: Caller): Promise<readonly ListedGrant[]> {
  const owner = grantOwnerOf(caller);
  return owner && grants ? await grants.list(owner) : [];
}

/**
 * Revokes one of the caller's own grants. Resolves to undefined if the caller has no such grant, whether or not somebody
 * else does. Throws UNAVAILABLE.
 */
export async function revokeOwnGrant(
  services: Keeping,
  { caller, door, id, consent }: RevokeGrant,
): Promise<{ readonly about: GrantAbout; readonly atProvider: AtProvider } | undefined> {
  const owner = grantOwnerOf(caller);
  const { grants } = services;
  if (!owner || !grants) return undefined;
  const ref = { ...owner, id };
  const revoked = await grants.revoke(ref, consent, door);
  if (!revoked) return undefined;
  return { about: revoked.about, atProvider: await endAtProvider(services, { ref, revoked, door }) };
}

/** Asks the provider to end a grant that was revoked here. Does not throw. */
export async function endAtProvider(
  { oauth, audit, log }: Pick<Keeping, "oauth" | "audit" | "log">,
  { ref, revoked, door }: { readonly ref: GrantRef; readonly revoked: RevokedGrant; readonly door?: string },
): Promise<AtProvider> {
  const { about, text } = revoked;
  const facts = { grant: ref.id, upstream: about.upstream, provider: about.provider };
  let atProvider: AtProvider = "failed";
  try {
    if (text !== undefined && oauth) atProvider = await oauth.revoke(readTokens("grant", text));
    log.info({ ...facts, atProvider }, "grant revoked");
  } catch (error) {
    log.warn({ ...facts, atProvider, ...describeError(error) }, "grant revoked");
  }
  const { principal, tenant = DEFAULT_TENANT } = ref;
  void audit?.note({
    action: "grant",
    principal,
    ...(tenant !== DEFAULT_TENANT && { tenant }),
    ...(door !== undefined && { door }),
    grant: about,
    verdict: VERDICTS[atProvider],
  });
  return atProvider;
}

const VERDICTS: Readonly<Record<AtProvider, string>> = {
  ended: "provider_ended",
  unsupported: "provider_unsupported",
  failed: "provider_failed",
};
