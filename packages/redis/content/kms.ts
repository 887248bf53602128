/**
 * A key ring that stays within a key management service: AWS KMS, or a server that speaks its protocol. Parley sends it data keys to wrap and to unwrap, each
 * once in a process and epoch, and never content. Of the key that wraps nothing leaves the service.
 *
 * What is wrapped is bound to its word and its tenant by the encryption context, which the service's own log shows too.
 */
import {
  DecryptCommand,
  DescribeKeyCommand,
  EncryptCommand,
  KMSClient,
  type KMSClientConfig,
  KMSServiceException,
} from "@aws-sdk/client-kms";
import { type Log, ParleyError } from "@parley/core";
import type { KeyRing } from "./key-ring.ts";

export interface KmsSettings {
  /** Of the key that wraps: its id, ARN, or alias (`alias/parley`). */
  readonly key: string;
  /** Of a server that is not Amazon's. */
  readonly endpoint: string | undefined;
  readonly region: string;
  readonly log: Log;
  /** Unwraps what it wrapped before: for a deployment that moves to the service. */
  readonly before: KeyRing | undefined;
}

const ATTEMPTS = 3;
const CONNECT_MS = 2_000;
const REQUEST_MS = 5_000;
/** Keys that are asked for at once. */
const SOCKETS_MAX = 50;
/** How long an alias is taken to be of the same key. */
const KEY_KEPT_MS = 60_000;

/** Of a key that this deployment does not have, or not any more: what was wrapped waits, and asking again is in vain until somebody does something. */
const LACKS_KEY: ReadonlySet<string> = new Set([
  "AccessDeniedException",
  "DisabledException",
  "IncorrectKeyException",
  "InvalidCiphertextException",
  "InvalidKeyUsageException",
  "KMSInvalidStateException",
  "NotFoundException",
]);

/** Credentials are found as AWS' tools find them: variables of the environment, files, the role of a machine or pod. */
export function kmsKeyRing({ key, endpoint, region, log, before }: KmsSettings): KeyRing {
  const config: KMSClientConfig = {
    region,
    maxAttempts: ATTEMPTS,
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      requestTimeout: REQUEST_MS,
      throwOnRequestTimeout: true,
      httpsAgent: { maxSockets: SOCKETS_MAX },
      httpAgent: { maxSockets: SOCKETS_MAX },
    },
    ...(endpoint !== undefined && { endpoint }),
  };
  const client = new KMSClient(config);
  let current: { readonly keyId: string; readonly atMs: number } | undefined;

  /** Throws CONTENT_KEY_MISSING for what waits until somebody does something, UNAVAILABLE for what may pass by itself. */
  async function asked<T>(what: string, ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      // The service's own words may quote what was sent: its code says what is wrong.
      const code = error instanceof Error ? error.name : "unknown";
      if (error instanceof KMSServiceException && LACKS_KEY.has(code))
        throw new ParleyError("CONTENT_KEY_MISSING", `the key management service does not ${what}: ${code} (PARLEY_CONTENT_KMS)`);
      log.warn({ problem: code, key }, "key management service cannot be asked");
      throw new ParleyError("UNAVAILABLE", `the key management service cannot be asked to ${what}: ${code} (PARLEY_CONTENT_KMS)`);
    }
  }

  return {
    async wrap(dataKey, context) {
      const { KeyId = "", CiphertextBlob } = await asked("wrap a data key", () =>
        client.send(new EncryptCommand({ KeyId: key, Plaintext: dataKey, EncryptionContext: { parley: context } })),
      );
      return { keyId: KeyId, wrapped: Buffer.from(CiphertextBlob ?? []).toString("base64url") };
    },
    async unwrap(given, context) {
      const { keyId, wrapped } = given;
      if (!isOfKms(keyId)) return await before?.unwrap(given, context);
      try {
        const { Plaintext } = await asked("unwrap a data key", () =>
          client.send(
            new DecryptCommand({ KeyId: keyId, CiphertextBlob: Buffer.from(wrapped, "base64url"), EncryptionContext: { parley: context } }),
          ),
        );
        return Plaintext && Buffer.from(Plaintext);
      } catch (error) {
        if (!(error instanceof ParleyError) || error.code !== "CONTENT_KEY_MISSING") throw error;
        log.error({ keyId, problem: error.message }, "key management service does not open a data key");
        return undefined;
      }
    },
    async currentKeyId() {
      if (current && performance.now() - current.atMs < KEY_KEPT_MS) return current.keyId;
      const { KeyMetadata } = await asked("describe the key", () => client.send(new DescribeKeyCommand({ KeyId: key })));
      const keyId = KeyMetadata?.Arn ?? key;
      current = { keyId, atMs: performance.now() };
      return keyId;
    },
  };
}

/** Keys of a file or of the environment have short names (key-ring.ts), and the service's are ARNs. */
function isOfKms(keyId: string): boolean {
  return keyId.startsWith("arn:");
}
