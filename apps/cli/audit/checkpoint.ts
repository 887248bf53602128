/** A signed statement of where the chains end. Keep it where the writers of the files cannot write. */
import { createPrivateKey, createPublicKey, sign, verify } from "node:crypto";
import { readFile } from "node:fs/promises";
import { canonicalJson, type JsonObject } from "@parley/core";
import type { Heads } from "./chain.ts";

/** The signature covers the canonical JSON without `signature`. */
export interface Checkpoint {
  readonly parley: "audit checkpoint 1";
  readonly at: string;
  readonly heads: Readonly<Record<string, { readonly n: number; readonly hash: string }>>;
  /** Ed25519, in base64url. */
  readonly signature: string;
}

/** Throws an Error if the file does not contain an Ed25519 key. */
export async function signCheckpoint(heads: Heads, keyFile: string, at: Date): Promise<Checkpoint> {
  const key = createPrivateKey(await readFile(keyFile));
  if (key.asymmetricKeyType !== "ed25519") throw new Error(`${keyFile} must hold an Ed25519 key: openssl genpkey -algorithm ed25519`);
  const ends = [...heads].map(([p, { n, hash }]) => [p, { n, hash }] as const);
  const statement = { parley: "audit checkpoint 1" as const, at: at.toISOString(), heads: Object.fromEntries(ends) };
  return { ...statement, signature: sign(null, toSign(statement), key).toString("base64url") };
}

/** Throws an Error if the file is not a checkpoint or was not signed with that key. */
export async function readCheckpoint(file: string, publicKeyFile: string): Promise<Checkpoint> {
  const checkpoint = parsed(await readFile(file, "utf8"));
  if (checkpoint?.parley !== "audit checkpoint 1" || typeof checkpoint.signature !== "string")
    throw new Error(`${file} is not an audit checkpoint`);
  const { signature, ...statement } = checkpoint;
  const key = createPublicKey(await readFile(publicKeyFile));
  if (key.asymmetricKeyType !== "ed25519") throw new Error(`${publicKeyFile} must hold an Ed25519 key`);
  if (!verify(null, toSign(statement), key, Buffer.from(signature, "base64url")))
    throw new Error(`${file} was not signed by the key in ${publicKeyFile}, or was changed`);
  return checkpoint;
}

function parsed(text: string): Checkpoint | undefined {
  try {
    return JSON.parse(text) as Checkpoint;
  } catch {
    return undefined;
  }
}

function toSign(statement: object): Buffer {
  return Buffer.from(canonicalJson(statement as JsonObject));
}
