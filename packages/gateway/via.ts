/**
 * Through which gateways something has come. Each deployment puts its own name before those that it found, into the `_meta` of what it lists of others, and
 * lists nothing that has come through itself: so gateways that are behind one another do not list each other's lists for ever, and a call does not go round.
 */
import type { JsonObject } from "@parley/core";

const VIA = "parley/via";
/** Names of deployments, as they call themselves. */
export const HOPS_MAX = 8;

interface Listed {
  readonly _meta?: JsonObject;
}

function viaOf({ _meta }: Listed): readonly string[] {
  const via = _meta?.[VIA];
  return Array.isArray(via) ? via.filter((name) => typeof name === "string") : [];
}

/** Why it cannot be listed by that deployment. */
export function viaProblem(listed: Listed, deployment: string | undefined): string | undefined {
  const via = viaOf(listed);
  if (deployment !== undefined && via.includes(deployment))
    return "comes back to the gateway that it came from: take that out of PARLEY_UPSTREAMS on one side";
  return via.length < HOPS_MAX ? undefined : `has come through ${via.length} gateways; the limit is ${HOPS_MAX}`;
}

export function withVia<Of extends Listed>(listed: Of, deployment: string): Of {
  return { ...listed, _meta: { ...listed._meta, [VIA]: [deployment, ...viaOf(listed)] } };
}
