/**
 * requestState: the value that a client without tasks carries from an InputRequiredResult into its retried call.
 *
 *   compact JWE, `alg: dir`, `enc: A256GCM`, `kid` = the deployment's key that sealed it
 *
 * It names a hidden task. The seal binds it to the principal, the tool or prompt, and the digest of the arguments, and it expires: a state
 * that was changed, has expired or comes with another call is refused. The task itself decides which questions are answered (I2), so an
 * answer counts once however often the state is returned. Its content cannot be read without the key, and every seal draws a fresh
 * initialisation vector, so two states never look alike.
 *
 * Source: specification 2026-07-28, basic/patterns/mrtr, "requestState".
 */
import { createHash } from "node:crypto";
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
  /** The asks that were sent with this state (`carriedKey`). Answers to other asks are ignored. */
  readonly asked: readonly string[];
  /** Deadline of the last of these asks. */
  readonly deadlineMs: number;
  /** How far the task's feed was reported. The next round continues after it. */
  readonly feedCursor?: string;
  readonly expiresAtMs: number;
}

/** The properties of a call to which a state is bound. */
export type Binding = Pick<RequestState, "principal" | "kind" | "name" | "argumentsDigest">;

export interface RequestStates {
  /** Throws TOO_LARGE. The default PARLEY_OPEN_ASKS_MAX is far below what a state can name. */
  seal(state: RequestState): Promise<string>;
  /** Throws REQUEST_STATE_INVALID. The error does not repeat the state, because an attacker controls it. */
  open(sealed: string, binding: Binding, nowMs: number): Promise<RequestState>;
}

const SEALED_CHARS_MAX = 16_384;
/** Length of a SHA-256 digest in base64url. */
const CARRIED_KEY_CHARS_MAX = 43;

/** A key as a state carries it: a long one as its digest, so that the length of a state depends only on the number of asks. */
export function carriedKey(key: string): string {
  return key.length <= CARRIED_KEY_CHARS_MAX ? key : createHash("sha256").update(key).digest("base64url");
}

/** Whether the ask was sent with the state. Front ends before 2026-11-24 sealed long keys as they were. */
export function wasAsked({ asked }: Pick<RequestState, "asked">, key: string): boolean {
  return asked.includes(carriedKey(key)) || asked.includes(key);
}

export function requestStates(keys: StateKeys): RequestStates {
  return {
    async seal(state) {
      const { kid, key } = keys.sealing;
      const sealed = await new CompactEncrypt(encoder.encode(JSON.stringify(state)))
        .setProtectedHeader({ alg: "dir", enc: "A256GCM", kid })
        .encrypt(key);
      if (sealed.length <= SEALED_CHARS_MAX) return sealed;
      const open = `${state.asked.length} questions open at once`;
      throw new ParleyError(
        "TOO_LARGE",
        `the call has ${open}, more than a requestState of ${SEALED_CHARS_MAX} characters names: call it as a task`,
      );
    },

    async open(sealed, binding, nowMs) {
      const state = await decrypt(keys, sealed);
      // The state of another principal is treated like one that was never sealed.
      if (state?.principal !== binding.principal) throw invalidState("it cannot be opened");
      if (state.expiresAtMs <= nowMs) throw invalidState("it has expired");
      const isSameCall = state.kind === binding.kind && state.name === binding.name && state.argumentsDigest === binding.argumentsDigest;
      if (!isSameCall) throw invalidState("it belongs to another request");
      return state;
    },
  };
}

export function invalidState(why: string): ParleyError {
  return new ParleyError("REQUEST_STATE_INVALID", `requestState is not valid: ${why}`);
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

async function decrypt(keys: StateKeys, sealed: string): Promise<RequestState | undefined> {
  if (sealed.length > SEALED_CHARS_MAX) return undefined;
  try {
    const { plaintext } = await compactDecrypt(sealed, ({ kid }) => keyOf(keys, kid), {
      keyManagementAlgorithms: ["dir"],
      contentEncryptionAlgorithms: ["A256GCM"],
    });
    // Only front ends have the key, so the content is valid.
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
