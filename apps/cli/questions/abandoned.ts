/** The person left with Ctrl-C or Escape, or the question was closed; an aborted signal means the latter. */
export const ABANDONED: unique symbol = Symbol("abandoned");

/** The person wants to answer later: the question stays open. */
export const LATER: unique symbol = Symbol("later");
