/**
 * The tokens that an OAuth provider issued for a person's consent. They are the deposit of the ask: sealed, beside
 * the journal, until the task ends.
 */
import { ParleyError } from "../errors.ts";

export interface GrantedTokens {
  /** The provider's name in the settings. */
  readonly provider: string;
  readonly accessToken: string;
  /** Absent if the provider did not say. */
  readonly expiresAtMs?: number;
  readonly refreshToken?: string;
  readonly scopes: readonly string[];
}

/** Throws DEPOSIT_UNREADABLE if the text does not hold tokens. */
export function readTokens(key: string, text: string): GrantedTokens {
  try {
    const tokens = JSON.parse(text) as Partial<GrantedTokens>;
    if (typeof tokens.provider === "string" && typeof tokens.accessToken === "string") return tokens as GrantedTokens;
  } catch {
    // Falls through: an error of JSON.parse would quote what it read.
  }
  throw new ParleyError("DEPOSIT_UNREADABLE", `the deposit of the page "${key}" is not a grant`);
}
