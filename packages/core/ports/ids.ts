/** The port for everything that is drawn: ids, tokens, random numbers. */

export interface Ids {
  /**
   * Returns a new task id with at least 128 bits of entropy (I10), for the tenant whose keys seal the task's content.
   * All ids drawn for one idempotency key (`Once`) belong to one partition. Throws CONTENT_KEY_MISSING.
   */
  taskId(tenant?: string, once?: string): string | Promise<string>;
  /** A fencing token, unique within the deployment for all time. */
  token(): string;
  uuid(): string;
  /** In [0, 1). */
  random(): number;
}
