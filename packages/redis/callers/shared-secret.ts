/** The secret that front ends share if the operator has set none: the first one that is stored in Redis. */
import { hash, randomBytes } from "node:crypto";
import type { Redis } from "ioredis";
import type { Keys } from "../keys.ts";
import { reached } from "../connection/unavailable.ts";

/** How the front ends of a deployment agree on a secret if the operator has not set one. */
export interface SharedSecret {
  /** Stores `proposed` if nothing is stored yet; resolves to what is stored. Throws UNAVAILABLE. */
  agree(proposed: string): Promise<string>;
}

export function createSharedSecret({ redis, keys }: { readonly redis: Redis; readonly keys: Keys }): SharedSecret {
  return {
    async agree(proposed) {
      // Of two that propose at once one is stored, and both read it.
      await reached(redis.set(keys.secret, proposed, "NX"));
      return (await reached(redis.get(keys.secret))) ?? proposed;
    },
  };
}

/** Identifies this deployment. The id gives no access to anything. */
export async function deploymentId({ agree }: SharedSecret): Promise<string> {
  const secret = await agree(randomBytes(32).toString("base64url"));
  return hash("sha256", `deployment ${secret}`, "base64url").slice(0, 16);
}
