/** What an OAuth provider gave for a person's consent. It is kept as a deposit of its ask: sealed, beside the journal, until the task ends. */
import { ParleyError } from "./errors.ts";

export interface GrantedTokens {
  /** The provider's name in the settings. */
  readonly provider: string;
  readonly accessToken: string;
  /** Absent where the provider did not say. */
  readonly expiresAtMs?: number;
  readonly refreshToken?: string;
  readonly scopes: readonly string[];
}

/** Throws DEPOSIT_UNREADABLE for what is none. */
export function readTokens(key: string, text: string): GrantedTokens {
  try {
    const tokens = JSON.parse(text) as Partial<GrantedTokens>;
    if (typeof tokens.provider === "string" && typeof tokens.accessToken === "string") return tokens as GrantedTokens;
  } catch {
    // As below: an error of JSON would quote what it read.
  }
  throw new ParleyError("DEPOSIT_UNREADABLE", `the deposit of the page "${key}" is not a grant`);
}
