/** The person left, by Ctrl-C or Escape; or the question is over: the signal says which. */
export const LEFT: unique symbol = Symbol("left");
