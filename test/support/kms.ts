/** A server that speaks as much of the protocol of AWS KMS as Parley does, on loopback, and that can be told to answer anything else. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export const KMS_ARN = "arn:aws:kms:us-east-1:111122223333:key/1";
/** For the processes that use it. Nothing may ever print the second one. */
export const KMS_CREDENTIALS = { AWS_ACCESS_KEY_ID: "AKIAPARLEY", AWS_SECRET_ACCESS_KEY: "s3cret-of-the-service" };
const JSON_TYPE = { "content-type": "application/x-amz-json-1.1" };

export interface KmsRequest {
  readonly operation: string;
  readonly body: Readonly<Record<string, unknown>>;
}
/** Answers in place of the server. Returning false leaves the answer to it. */
export type KmsAnswer = (request: KmsRequest, response: ServerResponse) => false | void;

export interface Kms {
  readonly endpoint: string;
  readonly asked: KmsRequest[];
  answer(instead: KmsAnswer | undefined): void;
  close(): void;
}

export async function startKms(): Promise<Kms> {
  const asked: KmsRequest[] = [];
  let instead: KmsAnswer | undefined;
  const server = createServer((request, response) => {
    void (async () => {
      const asking = { operation: String(request.headers["x-amz-target"]).split(".").at(-1)!, body: await bodyOf(request) };
      asked.push(asking);
      if (instead !== undefined && instead(asking, response) !== false) return;
      sendKms(response, answerTo(asking));
    })();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    answer: (given) => void (instead = given),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

export function sendKms(response: ServerResponse, body: unknown): void {
  response.writeHead(200, JSON_TYPE).end(JSON.stringify(body));
}

/** An error as the service reports them. */
export function refuseKms(response: ServerResponse, code: string, status = 400): void {
  response.writeHead(status, JSON_TYPE).end(JSON.stringify({ __type: code, message: "MARKER of the service's own words" }));
}

async function bodyOf(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString()) as Readonly<Record<string, unknown>>;
}

/** What it wraps is legible to it, which is all that a test of its callers needs. */
function answerTo({ operation, body }: KmsRequest): object {
  if (operation === "DescribeKey") return { KeyMetadata: { KeyId: "1", Arn: KMS_ARN } };
  if (operation === "Encrypt") {
    const wrapped = JSON.stringify({ bytes: body["Plaintext"], context: body["EncryptionContext"] });
    return { KeyId: KMS_ARN, CiphertextBlob: Buffer.from(wrapped).toString("base64") };
  }
  const { bytes, context } = JSON.parse(Buffer.from(String(body["CiphertextBlob"]), "base64").toString()) as Record<string, unknown>;
  if (JSON.stringify(context) !== JSON.stringify(body["EncryptionContext"])) return { __type: "InvalidCiphertextException" };
  return { KeyId: KMS_ARN, Plaintext: bytes };
}
