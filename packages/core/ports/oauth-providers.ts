/** The port to the OAuth providers at which people give tools access. */
import type { GrantedTokens } from "../callers/granted-tokens.ts";

/** OAuth providers, by the names that tools use. */
export interface OauthProviders {
  /**
   * Throws GRANT_EXPIRED, PROVIDER_UNAVAILABLE, PROVIDER_INVALID, and OAUTH_UNAVAILABLE for a provider that is not
   * configured.
   */
  refresh(tokens: GrantedTokens): Promise<GrantedTokens>;
  /**
   * Asks the provider to end what it granted. Resolves to `unsupported` if it offers no way to do so. Throws
   * PROVIDER_UNAVAILABLE, PROVIDER_INVALID and OAUTH_UNAVAILABLE.
   */
  revoke(tokens: GrantedTokens): Promise<"ended" | "unsupported">;
}
