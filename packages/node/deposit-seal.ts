/**
 * Seals deposits (secrets and grants that people leave on pages) on their way from a front end to the worker that needs them, whether or not
 * content is encrypted as well. It uses AES-256-GCM with a key derived from the deployment's secret, bound to the task and the ask:
 *
 *   <id of the secret>.<nonce, ciphertext, tag in base64url>
 *
 * The secrets are those of PARLEY_SECRET: the first one seals, all of them open. If none is set, the secret that the deployment keeps in Redis
 * is used; a copy of Redis then contains the key next to the deposits that it opens (docs/security.md).
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import { ParleyError } from "@parley/core";
import { list } from "./environment.ts";

export interface DepositSeal {
  /** Digests that name the secrets: the first one seals, all of them open. */
  readonly secretIds: readonly string[];
  seal(taskId: string, key: string, text: string): string;
  /** Throws DEPOSIT_UNREADABLE. */
  open(taskId: string, key: string, sealed: string): string;
}

/** Lets the processes of a deployment agree on a secret if the operator sets none. */
export interface SharedSecret {
  /** Stores `proposed` if no secret is stored yet, and resolves to the stored secret. */
  agree(proposed: string): Promise<string>;
}

export const secretEnvironment = {
  PARLEY_SECRET: list()
    .refine((secrets) => secrets.every((secret) => secret.length >= 32), "each secret must be at least 32 characters long")
    .describe(
      "Secrets that seal requestState and what people enter on pages, separated by commas: the first one seals, all of them open. Must be the same in all processes. Unset: a secret is generated and kept in Redis.",
    ),
};

/** Resolves to the operator's secrets, or else to the one that the deployment shares. */
export async function agreedSecrets(secrets: readonly string[], shared: SharedSecret): Promise<readonly string[]> {
  return secrets.length > 0 ? secrets : [await shared.agree(randomBytes(32).toString("base64url"))];
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Throws a RangeError for an empty list. */
export function depositSeal(secrets: readonly string[]): DepositSeal {
  const keys = secrets.map(derive);
  const [newest] = keys;
  if (!newest) throw new RangeError("at least one secret is needed");
  return {
    secretIds: keys.map(({ id }) => id),
    seal(taskId, key, text) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv("aes-256-gcm", newest.key, nonce).setAAD(boundTo(taskId, key));
      const sealed = Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
      return `${newest.id}.${sealed.toString("base64url")}`;
    },
    open(taskId, key, sealed) {
      const [id, text = ""] = sealed.split(".");
      const sealedWith = keys.find((each) => each.id === id);
      const bytes = Buffer.from(text, "base64url");
      // Decoding ignores characters that are not base64url, so one deposit would have many spellings.
      if (!sealedWith || bytes.length < NONCE_BYTES + TAG_BYTES || bytes.toString("base64url") !== text) throw unreadable(key);
      try {
        const decipher = createDecipheriv("aes-256-gcm", sealedWith.key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
          .setAAD(boundTo(taskId, key))
          .setAuthTag(bytes.subarray(-TAG_BYTES));
        return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]).toString("utf8");
      } catch {
        throw unreadable(key);
      }
    },
  };
}

/** Seals subscriptions to events, each for its id. */
export function subscriptionSeal({ seal, open }: Pick<DepositSeal, "seal" | "open">) {
  return {
    seal: (id: string, text: string) => seal(id, "subscribed", text),
    open: (id: string, sealed: string) => open(id, "subscribed", sealed),
  };
}

function boundTo(taskId: string, key: string): Buffer {
  return Buffer.from(`${taskId} ${key}`);
}

function unreadable(key: string): ParleyError {
  return new ParleyError("DEPOSIT_UNREADABLE", `the deposit of the page "${key}" cannot be opened with the PARLEY_SECRET of this process`);
}

function derive(secret: string): { readonly id: string; readonly key: Uint8Array } {
  const bytes = (info: string, length: number) => new Uint8Array(hkdfSync("sha256", secret, "", info, length));
  return { id: Buffer.from(bytes("parley deposit id", 6)).toString("base64url"), key: bytes("parley deposit key", 32) };
}
