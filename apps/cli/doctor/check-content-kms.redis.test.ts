/** What `parley doctor` reports about a faulty key management service. */
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { aLife, anAsk, HOUR_MS } from "../../../test/contract/builders.ts";
import { openRedis } from "../../../test/contract/open-redis.ts";
import { type Kms, KMS_ARN, KMS_CREDENTIALS, type KmsAnswer, refuseKms, sendKms, startKms } from "../../../test/support/kms.ts";
import { contentFindings } from "./check-content.ts";

const about = "content keys";
const BASE = { REDIS_URL: "redis://127.0.0.1", PARLEY_CONTENT_KMS: "alias/parley" };

beforeAll(() => {
  for (const [name, value] of Object.entries(KMS_CREDENTIALS)) vi.stubEnv(name, value);
});
afterAll(() => void vi.unstubAllEnvs());

async function aKms(answer?: KmsAnswer): Promise<Kms> {
  const kms = await startKms();
  onTestFinished(() => kms.close());
  kms.answer(answer);
  return kms;
}

/** The findings without a Redis. */
async function asked(endpoint: string, more: object = {}) {
  const findings = await contentFindings({ ...BASE, PARLEY_CONTENT_KMS_ENDPOINT: endpoint, ...more }, { isRedisServing: false });
  const printed = JSON.stringify(findings);
  for (const secret of [KMS_CREDENTIALS.AWS_SECRET_ACCESS_KEY, "MARKER", "    at "]) expect(printed).not.toContain(secret);
  return findings;
}

/** A server that handles every connection like this. */
async function aServer(serve: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    serve(socket);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const html =
  (status: number): KmsAnswer =>
  (_request, response) =>
    void response.writeHead(status, { "content-type": "text/html" }).end("<html>MARKER: log in</html>");
const says =
  (body: unknown): KmsAnswer =>
  (_request, response) =>
    sendKms(response, body);
const only =
  (operation: string, answer: (response: ServerResponse) => void): KmsAnswer =>
  (request, response) =>
    request.operation === operation ? answer(response) : false;

describe("the doctor of a key management service", () => {
  test("reports no problem if the service wraps and unwraps, before anything is sealed", async () => {
    const kms = await aKms();
    const findings = await asked(kms.endpoint);
    expect(findings).toEqual([{ level: "fine", about, says: `alias/parley at ${kms.endpoint} wraps and unwraps data keys` }]);
    expect(kms.asked.map(({ operation }) => operation)).toEqual(["Encrypt", "Decrypt", "DescribeKey"]);
  });

  const wrap = "the key management service cannot be asked to wrap a data key";
  const START = "Start it, or correct PARLEY_CONTENT_KMS_ENDPOINT, PARLEY_CONTENT_KMS_REGION and the credentials (docs/encryption.md).";
  const ALLOW =
    "Correct PARLEY_CONTENT_KMS, or enable the key and allow kms:Encrypt, kms:Decrypt and kms:DescribeKey for it (docs/encryption.md).";
  const cases: [what: string, answer: KmsAnswer, says: string, cure?: string][] = [
    [
      "refuses to wrap",
      (_, response) => refuseKms(response, "AccessDeniedException"),
      "the key management service does not wrap a data key: AccessDeniedException",
      ALLOW,
    ],
    [
      "does not know the key",
      (_, response) => refuseKms(response, "NotFoundException"),
      "the key management service does not wrap a data key: NotFoundException",
      ALLOW,
    ],
    [
      "refuses to unwrap alone",
      only("Decrypt", (response) => refuseKms(response, "AccessDeniedException")),
      "the key management service does not unwrap a data key: AccessDeniedException",
      ALLOW,
    ],
    [
      "does not know the credentials",
      (_, response) => refuseKms(response, "UnrecognizedClientException"),
      `${wrap}: UnrecognizedClientException`,
    ],
    ["throttles", (_, response) => refuseKms(response, "ThrottlingException"), `${wrap}: ThrottlingException`],
    ["fails inside", (_, response) => refuseKms(response, "KMSInternalException", 500), `${wrap}: KMSInternalException`],
    [
      "names its error by a text",
      (_, response) => refuseKms(response, "MARKER went\nwrong"),
      `${wrap}: its answer is not one of AWS KMS (HTTP 400)`,
    ],
    ["is a page to log in", html(200), `${wrap}: its answer is not one of AWS KMS (HTTP 200)`],
    ["is a proxy without a server behind it", html(502), `${wrap}: its answer is not one of AWS KMS (HTTP 502)`],
    [
      "moved",
      (_, response) => void response.writeHead(302, { location: "http://MARKER.invalid/" }).end(),
      `${wrap}: its answer is not one of AWS KMS (HTTP 302)`,
    ],
    ["answers nothing in particular", says({}), `${wrap}: its answer is not one of AWS KMS`],
    ["answers null", says(null), `${wrap}: its answer is not one of AWS KMS`],
    ["wraps to nothing", says({ KeyId: KMS_ARN, CiphertextBlob: "" }), `${wrap}: its answer is not one of AWS KMS`],
    ["wraps to a number", says({ KeyId: KMS_ARN, CiphertextBlob: 7 }), `${wrap}: its answer is not one of AWS KMS`],
    ["wraps by a key without a name", says({ CiphertextBlob: "QUFBQQ==" }), `${wrap}: its answer is not one of AWS KMS`],
    [
      "wraps by a key whose name would split its record",
      says({ KeyId: "arn:MARKER of two words", CiphertextBlob: "QUFBQQ==" }),
      `${wrap}: its answer is not one of AWS KMS`,
    ],
    [
      "unwraps to nothing",
      only("Decrypt", (response) => sendKms(response, {})),
      "the key management service cannot be asked to unwrap a data key: its answer is not one of AWS KMS",
    ],
    [
      "unwraps a byte less",
      only("Decrypt", (response) => sendKms(response, { Plaintext: Buffer.alloc(31).toString("base64") })),
      "the key management service cannot be asked to unwrap a data key: its answer is not one of AWS KMS",
    ],
    [
      "answers without an end",
      (_, response) => void setInterval(() => response.write(Buffer.alloc(16_384, "M")), 1).unref(),
      `${wrap}: its answer is not one of AWS KMS`,
    ],
  ];
  test.each(cases)("names the fault of a service that %s", async (_what, answer, words, cure = START) => {
    const { endpoint } = await aKms(answer);
    const findings = await asked(endpoint);
    expect(findings).toEqual([{ level: "problem", about, says: `alias/parley at ${endpoint}: ${words} (PARLEY_CONTENT_KMS)`, cure }]);
  });

  test("reports a service that unwraps to another key than it wrapped", async () => {
    const { endpoint } = await aKms(only("Decrypt", (response) => sendKms(response, { Plaintext: Buffer.alloc(32).toString("base64") })));
    const findings = await asked(endpoint);
    expect(findings).toMatchObject([
      {
        level: "problem",
        says: `alias/parley at ${endpoint}: the key management service unwraps a data key to a different value than it wrapped`,
      },
    ]);
  });

  test("gives advice if a key cannot be described: tasks do not need that", async () => {
    const { endpoint } = await aKms(only("DescribeKey", (response) => refuseKms(response, "AccessDeniedException")));
    const findings = await asked(endpoint);
    expect(findings).toMatchObject([
      { level: "fine", says: `alias/parley at ${endpoint} wraps and unwraps data keys` },
      {
        level: "advice",
        says: expect.stringContaining("does not describe the key: AccessDeniedException"),
        cure: expect.stringContaining("kms:DescribeKey"),
      },
    ]);
  });

  test("reports a service that stops responding half-way", async () => {
    const { endpoint } = await aKms(only("DescribeKey", (response) => refuseKms(response, "KMSInternalException", 500)));
    const findings = await asked(endpoint);
    expect(findings).toMatchObject([
      { level: "problem", says: expect.stringContaining("cannot be asked to describe the key: KMSInternalException"), cure: START },
    ]);
  });

  test.each([
    ["does not exist", async () => "http://127.0.0.1:1", "it refuses connections (ECONNREFUSED)"],
    ["closes every connection", () => aServer((socket) => socket.destroy()), "the connection to it failed (ECONNRESET)"],
    ["is an SSH server", () => aServer((socket) => void socket.end("SSH-2.0-MARKER\r\n")), "its answer is not HTTP (HPE_INVALID_CONSTANT)"],
  ])("says that it %s", async (_what, start, words) => {
    const endpoint = await start();
    const findings = await asked(endpoint);
    expect(findings).toMatchObject([
      { level: "problem", about, says: `alias/parley at ${endpoint}: ${wrap}: ${words} (PARLEY_CONTENT_KMS)`, cure: START },
    ]);
  });

  test.concurrent.each<[string, KmsAnswer]>([
    ["is silent", () => undefined],
    ["is silent behind its headers", (_, response) => response.writeHead(200).flushHeaders()],
    ["sends a byte now and then", (_, response) => void setInterval(() => response.write(" "), 100).unref()],
  ])("is bounded by three requests of five seconds where it %s", async (_what, answer) => {
    const kms = await startKms();
    kms.answer(answer);
    try {
      const findings = await asked(kms.endpoint);
      expect(findings).toMatchObject([
        { level: "problem", says: `alias/parley at ${kms.endpoint}: ${wrap}: it did not answer in time (PARLEY_CONTENT_KMS)` },
      ]);
      expect(kms.asked).toHaveLength(3);
    } finally {
      kms.close();
    }
  });

  test("gives up on a service that is slow every time", async () => {
    const { endpoint } = await aKms(() => undefined);
    const given = { ...BASE, PARLEY_CONTENT_KMS_ENDPOINT: endpoint };
    expect(await contentFindings(given, { isRedisServing: false, patienceMs: 300 })).toMatchObject([
      { level: "problem", about, says: `alias/parley at ${endpoint}: not checked within 0.3 s` },
    ]);
  });

  test("shows nothing of an address but its place", async () => {
    const findings = await asked("http://user:MARKER@127.0.0.1:1/MARKER?token=MARKER");
    expect(findings).toMatchObject([{ says: expect.stringMatching(/^alias\/parley at http:\/\/127\.0\.0\.1:1: the key management/) }]);
  });

  test("says how many data keys it does not open, and why", async () => {
    const kms = await aKms();
    const opened = await openRedis({ contentKms: "alias/parley", contentKmsEndpoint: kms.endpoint });
    const given = {
      ...BASE,
      REDIS_URL: opened.url,
      PARLEY_PREFIX: opened.prefix,
      PARLEY_CONTENT_KMS_ENDPOINT: kms.endpoint,
    };
    try {
      const fine = { level: "fine", about, says: `alias/parley at ${kms.endpoint} wraps and unwraps data keys` };
      await aLife(opened.store, opened.newTaskId).parked([anAsk("size")], { arguments: {}, retentionMs: HOUR_MS });
      expect(await contentFindings(given, { isRedisServing: true })).toEqual([
        fine,
        { level: "fine", about, says: "1 data key tried, and all of them open" },
      ]);
      // The key of the trial opens, that of the task no longer does.
      kms.answer(({ operation, body }, response) => {
        const isTrial = JSON.stringify(body).includes("parley doctor");
        return operation === "Decrypt" && !isTrial ? refuseKms(response, "DisabledException") : false;
      });
      expect(await contentFindings(given, { isRedisServing: true })).toMatchObject([
        fine,
        {
          level: "problem",
          says: "the key that wrapped 1 of 1 data key is not here: tasks that were sealed with them wait (the key management service does not unwrap a data key: DisabledException (PARLEY_CONTENT_KMS))",
        },
      ]);
    } finally {
      await opened.close();
    }
  });
});
