/**
 * Keys by which machines call: an operator makes one, and its front ends know it by a digest. Keys of one name and tenant are one caller, so that
 * a new one can be made before the old one is revoked, and tasks stay whose they are.
 */
export interface ApiKey {
  /** 12 of A-Z a-z 0-9. Stands in the key, in the clear. */
  readonly id: string;
  /** SHA-256 of the whole key, in base64url. The key itself is shown once and kept nowhere. */
  readonly digest: string;
  /** The machine that it is for. */
  readonly name: string;
  readonly tenant: string;
  readonly scopes: readonly string[];
  /** Both in milliseconds since the Unix epoch. Absent: it does not expire. */
  readonly createdAtMs: number;
  readonly expiresAtMs?: number;
}

export interface ApiKeys {
  /** Undefined for one that was never made, or revoked. Throws UNAVAILABLE. */
  find(id: string): Promise<ApiKey | undefined>;
}
