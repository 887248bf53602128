import { type Caller, canonicalJson, type Services } from "@parley/core";
import type { Binding } from "../../../seals/request-state.ts";
import type { Called } from "./stateless-route.ts";

/** Binds a requestState to a call. The binding is the same for the call and its retries, and differs for any other call. */
export function bindingOf({ digest }: Services, { kind, name, arguments: args }: Called, { principal }: Caller): Binding {
  return { principal, kind, name, argumentsDigest: digest(canonicalJson(args)) };
}
