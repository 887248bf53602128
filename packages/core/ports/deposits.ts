/** The port to what people left on pages. */

/** Deposits: what people left on pages, for the runs of their tasks alone. */
export interface Deposits {
  /** Throws DEPOSIT_UNREADABLE if the deposit is gone, or sealed with a secret that this process does not have. */
  open(taskId: string, key: string): Promise<string>;
  /** Replaces `before` with `text`. Returns false if the deposit has changed or is gone. Throws as `open` does. */
  replace(taskId: string, key: string, before: string, text: string): Promise<boolean>;
}
