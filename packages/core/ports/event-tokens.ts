/** The port for the tokens with which other systems report events. */

/** The tokens with which other systems report events. They are derived, never stored. */
export interface EventTokens {
  /**
   * Returns the same token each time. Throws EVENTS_UNAVAILABLE if this process does not know the address at which
   * tokens are accepted.
   */
  tokenOf(taskId: string, key: string): { readonly token: string; readonly url: string };
  /** Returns undefined for a token that this deployment did not issue. */
  read(token: string): { readonly taskId: string; readonly key: string } | undefined;
}
