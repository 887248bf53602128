/**
 * requestState: what a client without tasks carries from an InputRequiredResult back into its retried call.
 *
 *   compact JWE, `alg: dir`, `enc: A256GCM`, `kid` = which of the deployment's keys sealed it
 *
 * It names a hidden task. The seal binds it to the principal, to what was called and to the digest of the arguments, and it expires: a
 * state that was changed, is too old or comes with another call does not open. Which questions it answers is decided by the task itself
 * (I2), so an answer counts once however often the state comes back. Nothing in it can be read without the key, and each sealing draws a
 * fresh initialisation vector, so two rounds never look alike.
 *
 * Source: specification 2026-07-28, basic/patterns/mrtr, "requestState".
 */
import { compactDecrypt, CompactEncrypt } from "jose";
import { ParleyError } from "@parley/core";
import type { StateKeys } from "./state-keys.ts";

export interface RequestState {
  readonly taskId: string;
  readonly principal: string;
  readonly kind: "tool" | "prompt";
  readonly name: string;
  /** Digest of the canonical JSON of the arguments. */
  readonly argumentsDigest: string;
  /** Keys of the asks that went out with this state: answers to others are ignored. */
  readonly asked: readonly string[];
  /** When the last of these asks times out. */
  readonly deadlineMs: number;
  /** How far the task's feed was shown, so that the next round continues behind it. */
  readonly feedCursor?: string;
  readonly expiresAtMs: number;
}

/** What the request that brings a state back says about itself. */
export type Bound = Pick<RequestState, "principal" | "kind" | "name" | "argumentsDigest">;

export interface RequestStates {
  seal(state: RequestState): Promise<string>;
  /** Throws REQUEST_STATE_INVALID for anything that is wrong with it, without saying more: the text is attacker-controlled. */
  open(sealed: string, bound: Bound, nowMs: number): Promise<RequestState>;
}

const SEALED_CHARS_MAX = 16_384;

export function requestStates(keys: StateKeys): RequestStates {
  return {
    async seal(state) {
      const { kid, key } = keys.sealing;
      return await new CompactEncrypt(encoder.encode(JSON.stringify(state)))
        .setProtectedHeader({ alg: "dir", enc: "A256GCM", kid })
        .encrypt(key);
    },

    async open(sealed, bound, nowMs) {
      const state = await decrypted(keys, sealed);
      // Of another's nobody learns that it is one.
      if (state?.principal !== bound.principal) throw invalidState("it cannot be opened");
      if (state.expiresAtMs <= nowMs) throw invalidState("it has expired");
      const same = state.kind === bound.kind && state.name === bound.name && state.argumentsDigest === bound.argumentsDigest;
      if (!same) throw invalidState("it belongs to another request");
      return state;
    },
  };
}

export function invalidState(why: string): ParleyError {
  return new ParleyError("REQUEST_STATE_INVALID", `requestState is not valid: ${why}`);
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

async function decrypted(keys: StateKeys, sealed: string): Promise<RequestState | undefined> {
  if (sealed.length > SEALED_CHARS_MAX) return undefined;
  try {
    const { plaintext } = await compactDecrypt(sealed, ({ kid }) => keyOf(keys, kid), {
      keyManagementAlgorithms: ["dir"],
      contentEncryptionAlgorithms: ["A256GCM"],
    });
    // Only a front end holds the key, so the shape is right.
    return JSON.parse(decoder.decode(plaintext)) as RequestState;
  } catch {
    return undefined;
  }
}

function keyOf(keys: StateKeys, kid: string | undefined): Uint8Array {
  const key = kid === undefined ? undefined : keys.byKid.get(kid);
  if (!key) throw new RangeError("no such key");
  return key;
}
