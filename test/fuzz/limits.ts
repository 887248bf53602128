/** The limits that replies must respect. */

/** Beyond this a caller counts as hanging, also on a machine that stands still for a while. */
export const REPLY_TIMEOUT_MS = 15_000;

/** Of a reply that is no page of a list, and of every error. */
export const REPLY_BYTES_MAX = 65_536;

/** The deployment's PARLEY_PAGE_SIZE: small, so that the size of a list has a bound that is worth having. */
export const PAGE_SIZE = 40;

/** A page of tasks: the message of each has at most 1,000 characters, of up to three bytes. */
export const LIST_BYTES_MAX = REPLY_BYTES_MAX + PAGE_SIZE * 4_096;

/** PARLEY_BODY_BYTES_MAX, PARLEY_BODY_DEPTH_MAX and PARLEY_BODY_VALUES_MAX, docs/limits.md. */
export const BODY_BYTES_MAX = 1_048_576;
export const BODY_DEPTH_MAX = 64;
export const BODY_VALUES_MAX = 25_000;

/** PARLEY_BATCH_MAX. */
export const BATCH_MAX = 100;

/** More than PARLEY_STORED_VALUE_MAX. */
export const REPLIES_TOO_LARGE_CHARS = 262_145;
