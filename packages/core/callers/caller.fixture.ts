import { type Caller, DEFAULT_TENANT } from "./caller.ts";

/** A caller of that name without tenant, scopes or credentials. */
export function callerNamed(principal: string, more: Partial<Caller> = {}): Caller {
  return { principal, tenant: DEFAULT_TENANT, scopes: [], authenticatedBy: "test", names: [principal], groups: [], roles: [], ...more };
}
