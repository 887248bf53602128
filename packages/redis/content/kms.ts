/**
 * A key ring in a key management service: AWS KMS, or a server with its protocol. Parley sends it data keys to wrap
 * and unwrap, each once per process and epoch, and never content. The wrapping key never leaves the service.
 *
 * A wrapped data key is bound to its word and its tenant by the encryption context, which also appears in the
 * service's own log.
 *
 * The service's replies are not trusted: they are bounded in time and bytes, and a reply without the expected fields
 * counts as an outage. If a data key were recorded with an empty wrapping, everything sealed with it would be lost.
 */
import type { Readable } from "node:stream";
import {
  DecryptCommand,
  DescribeKeyCommand,
  EncryptCommand,
  KMSClient,
  type KMSClientConfig,
  KMSServiceException,
} from "@aws-sdk/client-kms";
import { type Log, ParleyError } from "@parley/core";
import { DATA_KEY_BYTES, type KeyRing } from "./key-ring.ts";

export interface KmsSettings {
  /** Id, ARN, or alias (`alias/parley`) of the wrapping key. */
  readonly key: string;
  /** For a server that is not Amazon's. */
  readonly endpoint: string | undefined;
  readonly region: string;
  readonly log: Log;
  /** Unwraps earlier keys, for a deployment that moves to the service. */
  readonly before: KeyRing | undefined;
}

const ATTEMPTS = 3;
const CONNECT_MS = 2_000;
/** Time limit of one attempt, from sending the request to the last byte of the reply. */
const REQUEST_MS = 5_000;
/** The longest replies of the real service have about 10,000 bytes. */
const ANSWER_BYTES_MAX = 65_536;
/** Requests in flight at once. */
const SOCKETS_MAX = 50;
/** How long an alias is assumed to name the same key. */
const KEY_KEPT_MS = 60_000;

/** The deployment does not have the key, or no longer: tasks wait, and retrying is useless until an operator acts. */
const LACKS_KEY: ReadonlySet<string> = new Set([
  "AccessDeniedException",
  "DisabledException",
  "IncorrectKeyException",
  "InvalidCiphertextException",
  "InvalidKeyUsageException",
  "KMSInvalidStateException",
  "NotFoundException",
]);

/** Finds credentials as AWS' tools do: environment variables, files, the role of a machine or pod. */
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
  client.middlewareStack.add(
    (next) => async (args) => {
      const untilMs = performance.now() + REQUEST_MS;
      const result = await next(args);
      // The client's own timeout ends with the headers, and it reads a body of any size.
      const response = result.response as { body: Readable };
      const body = await wholeAnswer(response.body, untilMs);
      return { ...result, response: Object.assign(response, { body }) };
    },
    { step: "deserialize", priority: "low", name: "boundedAnswer" },
  );
  let current: { readonly keyId: string; readonly atMs: number } | undefined;

  /** Throws CONTENT_KEY_MISSING if an operator has to act, UNAVAILABLE for an outage that may pass. */
  async function asked<T>(what: string, ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      const problem = problemOf(error);
      if (error instanceof KMSServiceException && LACKS_KEY.has(error.name))
        throw new ParleyError("CONTENT_KEY_MISSING", `the key management service does not ${what}: ${problem} (PARLEY_CONTENT_KMS)`);
      log.warn({ problem, key }, "key management service cannot be asked");
      throw new ParleyError("UNAVAILABLE", `the key management service cannot be asked to ${what}: ${problem} (PARLEY_CONTENT_KMS)`);
    }
  }

  return {
    async wrap(dataKey, context) {
      return await asked("wrap a data key", async () => {
        const { KeyId: keyId, CiphertextBlob } = await client.send(
          new EncryptCommand({ KeyId: key, Plaintext: dataKey, EncryptionContext: { parley: context } }),
        );
        if (!isOfKms(keyId) || !isBytes(CiphertextBlob)) throw new UnfitAnswer();
        return { keyId, wrapped: Buffer.from(CiphertextBlob).toString("base64url") };
      });
    },
    async unwrap(given, context) {
      const { keyId, wrapped } = given;
      if (!isOfKms(keyId)) return await before?.unwrap(given, context);
      try {
        return await asked("unwrap a data key", async () => {
          const { Plaintext } = await client.send(
            new DecryptCommand({ KeyId: keyId, CiphertextBlob: Buffer.from(wrapped, "base64url"), EncryptionContext: { parley: context } }),
          );
          if (!isBytes(Plaintext) || Plaintext.length !== DATA_KEY_BYTES) throw new UnfitAnswer();
          return Buffer.from(Plaintext);
        });
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

/** The reply does not come from AWS KMS. */
class UnfitAnswer extends Error {}

/**
 * Reads a whole reply. Throws an error that the client treats as a timeout and retries, or UnfitAnswer if the reply
 * is too long.
 */
async function wholeAnswer(body: Readable, untilMs: number): Promise<Uint8Array> {
  const timer = setTimeout(
    () => body.destroy(Object.assign(new Error("the answer is not complete"), { name: "TimeoutError" })),
    untilMs - performance.now(),
  );
  try {
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      length += chunk.length;
      // Leaving the loop closes the connection.
      if (length > ANSWER_BYTES_MAX) throw new UnfitAnswer();
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } finally {
    clearTimeout(timer);
  }
}

/** Error names and codes, as opposed to arbitrary text from another kind of server. */
const NAME = /^[A-Za-z]\w{2,63}$/;

/**
 * The problem, for a log and for callers: neither what was sent, nor what was received, nor an address. The service's
 * messages may quote any of these, so only codes are shown.
 */
function problemOf(error: unknown): string {
  const { name, code, $metadata } = error as { name?: unknown; code?: unknown; $metadata?: { readonly httpStatusCode?: number } };
  if (error instanceof KMSServiceException && error.name !== "Unknown" && NAME.test(error.name)) return error.name;
  if (name === "CredentialsProviderError") return "no credentials for it were found (CredentialsProviderError)";
  // The client's own timeouts have a code that network timeouts also have.
  if (name === "TimeoutError" && (code === undefined || code === "ETIMEDOUT")) return "it did not answer in time";
  if (typeof code === "string" && NAME.test(code)) {
    if (code === "ECONNREFUSED") return "it refuses connections (ECONNREFUSED)";
    if (code === "ENOTFOUND") return "its host name is not known (ENOTFOUND)";
    if (code.startsWith("HPE_")) return `its answer is not HTTP (${code})`;
    return `the connection to it failed (${code})`;
  }
  const status = $metadata?.httpStatusCode;
  return `its answer is not one of AWS KMS${status === undefined ? "" : ` (HTTP ${status})`}`;
}

/**
 * The service names its keys by ARNs, a ring in a file or the environment by short digests (key-ring.ts). Records in
 * Redis are separated by spaces.
 */
function isOfKms(keyId: string | undefined): keyId is string {
  return typeof keyId === "string" && /^arn:\S{1,2048}$/.test(keyId);
}

/** If a server sends something other than base64, the client passes it on. */
function isBytes(value: unknown): value is Uint8Array {
  return value instanceof Uint8Array && value.length > 0;
}
