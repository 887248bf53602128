/**
 * A key with which a machine calls Parley. An operator creates it, and front ends recognise it by its digest. All
 * keys of one name and tenant belong to one caller, so a key can be replaced before the old one is revoked, and the
 * caller keeps its tasks.
 */
export interface ApiKey {
  /** 12 characters of A-Z a-z 0-9. Part of the key, in the clear. */
  readonly id: string;
  /** SHA-256 of the whole key, in base64url. The key itself is shown once and never stored. */
  readonly digest: string;
  /** The machine that uses the key. */
  readonly name: string;
  readonly tenant: string;
  readonly scopes: readonly string[];
  /** Both in milliseconds since the Unix epoch. Without `expiresAtMs` the key does not expire. */
  readonly createdAtMs: number;
  readonly expiresAtMs?: number;
}

export interface ApiKeys {
  /** Undefined if the key does not exist or was revoked. Throws UNAVAILABLE. */
  find(id: string): Promise<ApiKey | undefined>;
}
