/** What is sent to a key management service and how each of its replies is handled; kms.e2e.test.ts uses a real one. */
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { ParleyError } from "@parley/core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { KeyRing } from "./key-ring.ts";
import { kmsKeyRing } from "./kms.ts";

const ARN = "arn:aws:kms:us-east-1:1:key/1";
const bytes = Buffer.alloc(32, "a data key");
const base64 = bytes.toString("base64");

let service: Server;
let endpoint: string;
/** The service's next replies, the last one repeated; a string is an error code. */
let answers: (object | string)[] = [];
const asked: unknown[][] = [];
const logged: unknown[][] = [];

beforeAll(async () => {
  vi.stubEnv("AWS_ACCESS_KEY_ID", "id");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "secret");
  service = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      asked.push([String(request.headers["x-amz-target"]).split(".").at(-1), JSON.parse(Buffer.concat(chunks).toString())]);
      const answer = answers.length > 1 ? answers.shift() : answers[0];
      const isError = typeof answer === "string";
      response.writeHead(isError ? 400 : 200, { "content-type": "application/x-amz-json-1.1" });
      response.end(JSON.stringify(isError ? { __type: answer, message: "what was sent" } : answer));
    })();
  }).listen(0, "127.0.0.1");
  await once(service, "listening");
  endpoint = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
});
beforeEach(() => {
  asked.length = 0;
  logged.length = 0;
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});
afterAll(() => {
  vi.unstubAllEnvs();
  service.closeAllConnections();
  service.close();
});

function aRing({ before, ...more }: { readonly before?: KeyRing; readonly endpoint?: string } = {}): KeyRing {
  const log = {
    debug() {},
    info() {},
    warn: (...line: unknown[]) => void logged.push(["warn", ...line]),
    error: (...line: unknown[]) => void logged.push(["error", ...line]),
  };
  return kmsKeyRing({ key: "alias/parley", endpoint, region: "us-east-1", log, before, ...more });
}

describe("a key ring of a key management service", () => {
  test("has a data key wrapped and unwrapped, bound to its context", async () => {
    const ring = aRing();
    answers = [{ KeyId: ARN, CiphertextBlob: Buffer.from("wrapped?>").toString("base64") }, { Plaintext: base64 }];
    const wrapped = await ring.wrap(bytes, "word tenant");
    expect(wrapped).toStrictEqual({ keyId: ARN, wrapped: Buffer.from("wrapped?>").toString("base64url") });
    expect(await ring.unwrap(wrapped, "word tenant")).toEqual(bytes);
    const context = { parley: "word tenant" };
    expect(asked).toStrictEqual([
      ["Encrypt", { KeyId: "alias/parley", Plaintext: base64, EncryptionContext: context }],
      ["Decrypt", { KeyId: ARN, CiphertextBlob: Buffer.from("wrapped?>").toString("base64"), EncryptionContext: context }],
    ]);
  });

  test("leaves earlier wrapped keys to the ring before it, and has none of them without one", async () => {
    const given = { keyId: "k3Pq1234", wrapped: "w" };
    const unwrap = vi.fn(async () => bytes);
    const before = { unwrap } as Partial<KeyRing> as KeyRing;
    expect(await aRing({ before }).unwrap(given, "word tenant")).toBe(bytes);
    expect(unwrap.mock.calls).toStrictEqual([[given, "word tenant"]]);
    expect(await aRing().unwrap(given, "word tenant")).toBeUndefined();
    expect(asked).toEqual([]);
  });

  test("resolves an alias, and again after a minute", async () => {
    const ring = aRing();
    const now = vi.spyOn(performance, "now");
    answers = [{ KeyMetadata: { KeyId: "1", Arn: ARN } }, { KeyMetadata: { KeyId: "2", Arn: `${ARN}2` } }];
    now.mockReturnValue(1_000);
    expect(await ring.currentKeyId()).toBe(ARN);
    now.mockReturnValue(60_999);
    expect(await ring.currentKeyId()).toBe(ARN);
    now.mockReturnValue(61_000);
    expect(await ring.currentKeyId()).toBe(`${ARN}2`);
    expect(asked).toStrictEqual([
      ["DescribeKey", { KeyId: "alias/parley" }],
      ["DescribeKey", { KeyId: "alias/parley" }],
    ]);
  });

  test("assumes the key from the settings if the service does not name it", async () => {
    answers = [{}];
    expect(await aRing().currentKeyId()).toBe("alias/parley");
  });

  test.each([
    "AccessDeniedException",
    "DisabledException",
    "IncorrectKeyException",
    "InvalidCiphertextException",
    "InvalidKeyUsageException",
    "KMSInvalidStateException",
    "NotFoundException",
  ])("that does not have the key says so, and what was wrapped waits: %s", async (code) => {
    const ring = aRing();
    answers = [code];
    const problem = `the key management service does not unwrap a data key: ${code} (PARLEY_CONTENT_KMS)`;
    expect(await ring.unwrap({ keyId: ARN, wrapped: "w" }, "word tenant")).toBeUndefined();
    expect(logged).toStrictEqual([["error", { keyId: ARN, problem }, "key management service does not open a data key"]]);
    await expect(ring.wrap(bytes, "word tenant")).rejects.toThrow(
      new ParleyError("CONTENT_KEY_MISSING", `the key management service does not wrap a data key: ${code} (PARLEY_CONTENT_KMS)`),
    );
    await expect(ring.wrap(bytes, "word tenant")).rejects.toMatchObject({ code: "CONTENT_KEY_MISSING" });
  });

  test("that refuses for another reason may reply later, and none of its text is shown", async () => {
    const ring = aRing();
    answers = ["KMSInternalException"];
    const problem = (what: string) => `the key management service cannot be asked to ${what}: KMSInternalException (PARLEY_CONTENT_KMS)`;
    for (const [what, ask] of [
      ["unwrap a data key", () => ring.unwrap({ keyId: ARN, wrapped: "w" }, "word tenant")],
      ["describe the key", () => ring.currentKeyId()],
    ] as const) {
      const refused = ask();
      await expect(refused).rejects.toThrow(new ParleyError("UNAVAILABLE", problem(what)));
      await expect(refused).rejects.toMatchObject({ code: "UNAVAILABLE" });
    }
    const line = ["warn", { problem: "KMSInternalException", key: "alias/parley" }, "key management service cannot be asked"];
    expect(logged).toStrictEqual([line, line]);
  });

  test.each([
    ["nothing", {}],
    ["no wrapped key", { KeyId: ARN }],
    ["an empty one", { KeyId: ARN, CiphertextBlob: "" }],
    ["something that is not bytes", { KeyId: ARN, CiphertextBlob: {} }],
    ["no key that wrapped", { CiphertextBlob: base64 }],
    ["a key that is not one of a service", { KeyId: "1", CiphertextBlob: base64 }],
    ["a key whose name would split the record", { KeyId: "arn:a b", CiphertextBlob: base64 }],
  ])("records no data key that could not be unwrapped: %s", async (_what, answer) => {
    answers = [answer];
    const problem = "the key management service cannot be asked to wrap a data key: its answer is not one of AWS KMS (PARLEY_CONTENT_KMS)";
    await expect(aRing().wrap(bytes, "word tenant")).rejects.toThrow(new ParleyError("UNAVAILABLE", problem));
  });

  test("uses no data key of another length, one byte less and one more", async () => {
    const ring = aRing();
    for (const length of [0, 31, 33]) {
      answers = [{ Plaintext: Buffer.alloc(length).toString("base64") }];
      await expect(ring.unwrap({ keyId: ARN, wrapped: "w" }, "word tenant")).rejects.toMatchObject({ code: "UNAVAILABLE" });
    }
  });

  test("reads a reply of 64 KiB, and not one byte more", async () => {
    const ring = aRing();
    const wrapped = { KeyId: ARN, CiphertextBlob: base64, more: "" };
    const room = 65_536 - JSON.stringify(wrapped).length;
    answers = [{ ...wrapped, more: "m".repeat(room) }];
    expect(await ring.wrap(bytes, "word tenant")).toMatchObject({ keyId: ARN });
    answers = [{ ...wrapped, more: "m".repeat(room + 1) }];
    await expect(ring.wrap(bytes, "word tenant")).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });

  test.each([
    ["does not reply", () => undefined],
    ["does not finish its reply", (response: ServerResponse) => response.writeHead(200).write('{"KeyId":')],
  ])("that %s is given up after five seconds, and tried three times", async (_what, hang) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    let requests = 0;
    const slow = createServer((_request, response) => {
      requests += 1;
      hang(response);
    }).listen(0, "127.0.0.1");
    await once(slow, "listening");
    const address = `http://127.0.0.1:${(slow.address() as AddressInfo).port}`;
    const pass = async (ms: number) => {
      for (let passed = 0; passed < ms; passed += 10) {
        await vi.advanceTimersByTimeAsync(10);
        await new Promise(setImmediate);
      }
    };
    let outcome: unknown;
    void aRing({ endpoint: address })
      .wrap(bytes, "word tenant")
      .catch((error: unknown) => (outcome = error));
    for (const attempt of [1, 2, 3]) {
      while (requests < attempt) await pass(10);
      await pass(4_500);
      expect([requests, outcome]).toEqual([attempt, undefined]);
      await pass(600);
    }
    while (outcome === undefined) await pass(10);
    expect(outcome).toEqual(
      new ParleyError(
        "UNAVAILABLE",
        "the key management service cannot be asked to wrap a data key: it did not answer in time (PARLEY_CONTENT_KMS)",
      ),
    );
    expect(requests).toBe(3);
    slow.closeAllConnections();
    slow.close();
  });

  test("that is unreachable is tried three times, and may be back later", async () => {
    const refusing = createServer().listen(0, "127.0.0.1");
    await once(refusing, "listening");
    const address = `http://127.0.0.1:${(refusing.address() as AddressInfo).port}`;
    let connections = 0;
    refusing.on("connection", (socket) => {
      connections += 1;
      socket.destroy();
    });
    await expect(aRing({ endpoint: address }).wrap(bytes, "word tenant")).rejects.toThrow(
      "the key management service cannot be asked to wrap a data key: the connection to it failed (ECONNRESET) (PARLEY_CONTENT_KMS)",
    );
    expect(connections).toBe(3);
    refusing.close();
  });

  /** What an error says about the service. */
  async function problem(ring: KeyRing): Promise<string | undefined> {
    const message = await ring.wrap(bytes, "word tenant").then(
      () => "",
      (error: Error) => error.message,
    );
    return /data key: (.*) \(PARLEY_CONTENT_KMS\)$/.exec(message)?.[1];
  }

  test("that refuses connections, does not speak HTTP, or is another server is named as that", async () => {
    expect(await problem(aRing({ endpoint: "http://127.0.0.1:1" }))).toBe("it refuses connections (ECONNREFUSED)");
    const others = [
      createTcpServer((socket) => void socket.on("error", () => undefined).end("nonsense\r\n\r\n")),
      createServer((_request, response) => void response.writeHead(502, { "content-type": "text/html" }).end("<p>what was sent</p>")),
    ];
    const problems: unknown[] = [];
    for (const other of others) {
      await once(other.listen(0, "127.0.0.1"), "listening");
      problems.push(await problem(aRing({ endpoint: `http://127.0.0.1:${(other.address() as AddressInfo).port}` })));
      other.close();
    }
    expect(problems).toEqual([
      expect.stringMatching(/^its answer is not HTTP \(HPE_[A-Z_]+\)$/),
      "its answer is not one of AWS KMS (HTTP 502)",
    ]);
  });

  test("without credentials is not asked, and the error says so", async () => {
    vi.stubEnv("AWS_ACCESS_KEY_ID", undefined);
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", undefined);
    vi.stubEnv("AWS_EC2_METADATA_DISABLED", "true");
    vi.stubEnv("AWS_SHARED_CREDENTIALS_FILE", "/none");
    vi.stubEnv("AWS_CONFIG_FILE", "/none");
    expect(await problem(aRing())).toBe("no credentials for it were found (CredentialsProviderError)");
    expect(asked).toEqual([]);
    vi.stubEnv("AWS_ACCESS_KEY_ID", "id");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "secret");
  });
});
