import { type Caller, canonicalJson, type Services } from "@parley/core";
import type { Bound } from "../../../seals/request-state.ts";
import type { Called } from "./stateless-route.ts";

/** What a requestState is bound to: the same for a call and its retries, and for nothing else. */
export function bindingOf({ digest }: Services, { kind, name, arguments: args }: Called, { principal }: Caller): Bound {
  return { principal, kind, name, argumentsDigest: digest(canonicalJson(args)) };
}
