/**
 * What a result says of approvals is said by this deployment. A server behind the gateway may be a Parley with rules of its own, whose word its caller
 * should have, and any server may write what it likes: both are passed on as what somebody behind this deployment says.
 */
import type { JsonObject } from "@parley/core";
import { isObject } from "./arguments.ts";
import { DENIAL } from "./denial.ts";
import { EDITED } from "./edit.ts";

/** In `_meta`: what was in it behind this deployment. */
export const BEHIND = "parley/behind";

const OWN = [DENIAL, EDITED, BEHIND];

export function fromBehind(result: JsonObject): JsonObject {
  const { _meta: meta } = result;
  if (!isObject(meta) || !OWN.some((name) => Object.hasOwn(meta, name))) return result;
  const isOwn = ([name]: [string, unknown]) => OWN.includes(name);
  const [said, rest] = [Object.entries(meta).filter(isOwn), Object.entries(meta).filter((each) => !isOwn(each))];
  return { ...result, _meta: { ...Object.fromEntries(rest), [BEHIND]: Object.fromEntries(said) } };
}
