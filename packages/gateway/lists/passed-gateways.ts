/**
 * Which gateways a listed item has passed through. Each deployment puts its own name in front of those that it found in the `_meta` of an upstream's
 * item, and lists nothing that has passed through itself. Gateways behind one another therefore do not list each other's items forever, and no call
 * goes round in a circle.
 */
import type { JsonObject } from "@parley/core";

const VIA = "parley/via";
/** Names of deployments. */
export const HOPS_MAX = 8;

interface Listed {
  readonly _meta?: JsonObject;
}

function viaOf({ _meta }: Listed): readonly string[] {
  const via = _meta?.[VIA];
  return Array.isArray(via) ? via.filter((name) => typeof name === "string") : [];
}

/** Why that deployment cannot list the item; undefined if it can. */
export function viaProblem(listed: Listed, deployment: string | undefined): string | undefined {
  const via = viaOf(listed);
  if (deployment !== undefined && via.includes(deployment))
    return "comes back to the gateway that it came from: remove it from PARLEY_UPSTREAMS on one side";
  return via.length < HOPS_MAX ? undefined : `has come through ${via.length} gateways; the limit is ${HOPS_MAX}`;
}

export function withVia<Of extends Listed>(listed: Of, deployment: string): Of {
  return { ...listed, _meta: { ...listed._meta, [VIA]: [deployment, ...viaOf(listed)] } };
}
