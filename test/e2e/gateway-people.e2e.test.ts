/**
 * Many people at one classic upstream at once, with two front ends and two workers: each question reaches its own caller only, and each
 * answer its own question.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient } from "../../bench/client.ts";
import { overlappingCalls } from "../../bench/gateway/overlap.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { type Issuer, startIssuer } from "../support/issuer.ts";
import { until } from "../support/until.ts";
import { type RunningUpstream, startUpstream, writeUpstreams } from "../support/upstream.ts";

const PUBLIC_URL = "http://parley.example";
const PEOPLE = 20;

let directory: string;
let classic: RunningUpstream;
let issuer: Issuer;
let deployment: Deployment;
let tokens: readonly string[];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parley-people-"));
  [classic, issuer] = await Promise.all([startUpstream("classic.ts", ["http"]), startIssuer({ audience: `${PUBLIC_URL}/mcp` })]);
  const file = await writeUpstreams(directory, [{ name: "up", url: classic.url }]);
  deployment = await startDeployment({
    env: { PARLEY_UPSTREAMS: file },
    frontEndEnv: { PARLEY_AUTH: "required", PARLEY_AUTH_ISSUERS: issuer.url, PARLEY_PUBLIC_URL: PUBLIC_URL },
  });
  tokens = await Promise.all(Array.from({ length: PEOPLE }, (_, number) => issuer.token({ sub: `person-${number}` })));
  const client = createClient(deployment.url, 1, tokens[0]);
  await until(async () => (await client.call("up_plain", { text: "there?" })).taskId);
  client.close();
});

afterAll(async () => {
  await deployment?.close();
  await Promise.all([classic?.kill(), issuer?.close()]);
  await rm(directory, { recursive: true });
});

test.each([
  [200, 1],
  [40, 3],
])("%i overlapping calls of twenty people, answered in random order, in %i rounds: no answer goes astray", async (calls, rounds) => {
  expect(await overlappingCalls({ url: deployment.url, tokens, calls, rounds })).toEqual({ answers: calls * rounds, strays: 0 });
});

test("one person's question cannot be read or answered by another", async () => {
  const [one, other] = [createClient(deployment.url, 1, tokens[0]), createClient(deployment.url, 1, tokens[1])];
  const { taskId } = await one.call("up_ask", { text: "mine" });
  await until(async () => (await one.get(taskId)).status === "input_required");
  await expect(other.get(taskId)).rejects.toThrow();
  await expect(other.answer(taskId, { "question-1": { action: "accept", content: { size: 1 } } })).rejects.toThrow();
  expect((await one.get(taskId)).status).toBe("input_required");
  for (const client of [one, other]) client.close();
});
