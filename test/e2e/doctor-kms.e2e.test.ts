/**
 * `parley doctor` while the key management service that seals content is away: what it prints, how long it takes, and its exit code.
 * apps/cli/doctor/check-content-kms.redis.test.ts covers everything else that such a service may do.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePorts } from "../support/free-ports.ts";
import { type Kms, KMS_CREDENTIALS, type KmsAnswer, refuseKms, startKms } from "../support/kms.ts";
import { parley } from "../support/parley.ts";
import { openTestRedis, type TestRedis } from "../support/redis.ts";

let redis: TestRedis;
let kms: Kms;
beforeAll(async () => {
  redis = openTestRedis();
  kms = await startKms();
});
afterAll(async () => {
  kms.close();
  await redis.close();
});

async function doctor(args: readonly string[], more: NodeJS.ProcessEnv = {}) {
  const [port] = await freePorts(1);
  const startedAtMs = performance.now();
  const run = await parley(["doctor", ...args], {
    env: {
      REDIS_URL: redis.url,
      PARLEY_PREFIX: redis.prefix,
      PARLEY_PORT: String(port),
      PARLEY_CONTENT_KMS: "alias/parley",
      PARLEY_CONTENT_KMS_ENDPOINT: kms.endpoint.replace("http://", "http://MARKER:MARKER@"),
      AWS_EC2_METADATA_DISABLED: "true",
      ...KMS_CREDENTIALS,
      ...more,
    },
  });
  const printed = run.stdout + run.stderr;
  for (const secret of [KMS_CREDENTIALS.AWS_SECRET_ACCESS_KEY, "MARKER"]) expect(printed).not.toContain(secret);
  expect(printed).not.toMatch(/^\s+at /m);
  expect(run.stderr).toBe("");
  return { ...run, tookMs: performance.now() - startedAtMs };
}

test("one that serves is fine, and nothing is sealed yet", async () => {
  kms.answer(undefined);
  const { code, stdout } = await doctor([]);
  expect(stdout).toContain(`✓ content keys: alias/parley at ${kms.endpoint} wraps and unwraps data keys\n`);
  expect(stdout).toContain("✓ content keys: no data keys yet: nothing has been sealed\n");
  expect(code).toBe(0);
});

const problem = "cannot be asked to wrap a data key";
const CASES: readonly [what: string, answer: KmsAnswer | undefined, says: string, more?: NodeJS.ProcessEnv][] = [
  ["refuses", (_, response) => refuseKms(response, "AccessDeniedException"), "does not wrap a data key: AccessDeniedException"],
  ["answers garbage", (_, response) => void response.end("<html>MARKER</html>"), `${problem}: its answer is not one of AWS KMS (HTTP 200)`],
  ["is silent", () => undefined, `${problem}: it did not answer in time`],
  ["is not there", undefined, `${problem}: it refuses connections (ECONNREFUSED)`, { PARLEY_CONTENT_KMS_ENDPOINT: "http://127.0.0.1:1" }],
  [
    "is asked without credentials",
    undefined,
    `${problem}: no credentials for it were found (CredentialsProviderError)`,
    { AWS_ACCESS_KEY_ID: "", AWS_SECRET_ACCESS_KEY: "", HOME: "/nonexistent" },
  ],
];

test.each(CASES)("one that %s is the one problem, in words and as JSON", async (_what, answer, words, more) => {
  kms.answer(answer);
  const endpoint = more?.["PARLEY_CONTENT_KMS_ENDPOINT"] ?? kms.endpoint;
  const says = `alias/parley at ${endpoint}: the key management service ${words} (PARLEY_CONTENT_KMS)`;
  const text = await doctor([], more);
  expect(text.stdout).toContain(`✗ content keys: ${says}\n    `);
  expect(text.code).toBe(1);
  // Three requests of five seconds, and what a process needs to start on a busy machine.
  expect(text.tookMs).toBeLessThan(30_000);

  const json = await doctor(["--json"], more);
  const { findings } = JSON.parse(json.stdout) as { readonly findings: readonly { readonly level: string }[] };
  expect(findings.filter(({ level }) => level === "problem")).toEqual([
    { level: "problem", about: "content keys", says, cure: expect.stringMatching(/\(docs\/encryption\.md\)\.$/) },
  ]);
  expect(json.code).toBe(1);
});
