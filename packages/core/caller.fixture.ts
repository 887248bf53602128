import { type Caller, DEFAULT_TENANT } from "./caller.ts";

/** Somebody who is known by that name and whom nothing else is said of. */
export function callerNamed(principal: string, more: Partial<Caller> = {}): Caller {
  return { principal, tenant: DEFAULT_TENANT, scopes: [], authenticatedBy: "test", names: [principal], groups: [], roles: [], ...more };
}
