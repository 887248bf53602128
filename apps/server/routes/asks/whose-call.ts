/** Whose call asks, for the person who reads a question. */
import { type CallFacts, type Caller, may, personOf, whoIs } from "@parley/core";

/** `nobodys`: callers cannot be told apart. `named`: somebody else's, whose name is known. */
export type WhoseCall = { readonly whose: "nobodys" | "yours" | "others" } | { readonly whose: "named"; readonly name: string };

export function whoseCall(caller: Caller, call: CallFacts): WhoseCall {
  if (caller.authenticatedBy === "nobody") return { whose: "nobodys" };
  if (may(caller, "follow", { call, asks: [] }) || personOf(caller) === personOf(call)) return { whose: "yours" };
  const name = whoIs(call.caller ?? {});
  return name === undefined ? { whose: "others" } : { whose: "named", name };
}
