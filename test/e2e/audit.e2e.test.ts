/** From a call to a verified file: a deployment that records, the exporter, the verifier and the checkpoint, as an operator runs them. */
import { execFile } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient } from "../../bench/client.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { until } from "../support/until.ts";
import { type RunningUpstream, startUpstream, writeUpstreams } from "../support/upstream.ts";

const ROOT = resolve(import.meta.dirname, "../..");
let deployment: Deployment;
let folder: string;
let upstream: RunningUpstream;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "parley-audit-"));
  const tools = ["greet", "passes"].map((name) => join(import.meta.dirname, `tools/${name}.ts`));
  upstream = await startUpstream("classic.ts", ["http"], { MARKS: join(folder, "marks") });
  const file = await writeUpstreams(folder, [
    { name: "brief", url: upstream.url, questionTimeout: "1s" },
    { name: "long", url: upstream.url },
  ]);
  deployment = await startDeployment({ workers: 1, tools, env: { PARLEY_AUDIT: "true", PARLEY_UPSTREAMS: file } });
});
afterAll(async () => {
  await deployment?.close();
  await upstream?.kill();
  await rm(folder, { recursive: true });
});

/** The fields of all records. */
async function recorded(): Promise<readonly string[]> {
  const { redis } = deployment.redis;
  const streams = (await deployment.redis.keys()).filter((key) => key.endsWith(":audit"));
  const entries = await Promise.all(streams.map(async (stream) => await redis.xrange(stream, "-", "+")));
  return entries.flat().map(([, fields]) => fields.join(" "));
}

interface Ended {
  readonly code: number;
  readonly stdout: string;
}

function parley(...command: string[]): Promise<Ended> {
  const env = { ...process.env, REDIS_URL: deployment.redis.url, PARLEY_PREFIX: deployment.redis.prefix };
  return new Promise((done) => {
    execFile(process.execPath, ["apps/cli/main.ts", "audit", ...command], { cwd: ROOT, env }, (error, stdout) =>
      done({ code: error ? Number(error.code) : 0, stdout }),
    );
  });
}

test("calls, questions and answers of two front ends are exported once, verified, and held to a signed checkpoint", async () => {
  const client = createClient(deployment.url, 4);
  const { taskId } = await client.call("greet", { greeting: "MARKER" });
  await until(async () => (await client.get(taskId)).status === "input_required");
  await client.answer(taskId, { name: { action: "accept", content: { name: "MARKER" } } });
  await until(async () => (await client.get(taskId)).status === "completed");
  const { taskId: passing } = await client.call("passes", {});
  await until(async () => (await client.get(passing)).status === "completed");
  const { taskId: unanswered } = await until(() => client.call("brief_form", { text: "MARKER" }), { everyMs: 100 });
  const { taskId: givenUp } = await until(() => client.call("long_impatient", { text: "2000" }), { everyMs: 100 });
  for (const asked of [unanswered, givenUp]) await until(async () => (await client.get(asked)).status === "input_required");
  for (const asked of [unanswered, givenUp]) await until(async () => (await client.get(asked)).status === "completed");
  const { taskId: refused } = await client.call("long_secret", { text: "MARKER" });
  await until(async () => (await client.get(refused)).status === "completed");
  client.close();
  // The ends of calls at upstreams are recorded right after them.
  await until(async () => (await recorded()).filter((text) => text.includes(`"action":"end"`)).length >= 3);
  const blocking = new Client({ name: "audit", version: "1" }, { capabilities: { elicitation: { form: {} } } });
  blocking.setRequestHandler(ElicitRequestSchema, async () => ({ action: "accept" as const, content: { name: "MARKER" } }));
  await blocking.connect(new StreamableHTTPClientTransport(new URL(deployment.url)) as never);
  await blocking.callTool({ name: "greet", arguments: { greeting: "MARKER" } });
  await blocking.close();

  const file = join(folder, "audit.jsonl");
  expect(await parley("export", "--out", file)).toMatchObject({ code: 0 });
  expect(await parley("export", "--out", file)).toEqual({ code: 0, stdout: `0 records written to ${file}\n` });
  const text = await readFile(file, "utf8");
  const records = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(text).not.toContain("MARKER");
  expect(records.at(0)).toMatchObject({ action: "call", taskId, tool: "tool greet", verdict: "created" });
  expect(records.filter(({ action }) => action === "shown").length).toBeGreaterThan(0);
  const answer = records.find(({ action }) => action === "answer");
  expect(answer).toMatchObject({
    ask: "name",
    did: "accept",
    verdict: "accepted",
    door: "2026-07-28 tasks/update",
    call: records[0]?.["call"],
  });
  expect(records.find(({ tool }) => tool === "tool takes")).toMatchObject({
    action: "call",
    door: "tool passes",
    parent: passing,
    principal: records.find(({ tool }) => tool === "tool passes")?.["principal"],
    verdict: "created",
  });

  // Of an upstream's question that nobody answered.
  const ofUpstream = records.filter(({ taskId: id }) => id === unanswered);
  const facts = ofUpstream.map(({ action, door, did, verdict, principal }) => [action, door, did, verdict, principal].join(" "));
  // Each front end that shows a question records it.
  expect([...new Set(facts)]).toEqual([
    "call 2026-07-28 tools/call  created anonymous",
    "shown 2026-07-28 tasks/get   anonymous",
    "answer deadline timeout accepted ",
    "end gateway  result ",
  ]);
  const [shown, timedOut] = [ofUpstream[1], ofUpstream.at(-2)];
  for (const name of ["tool", "ask", "asked", "question", "schema", "call"]) expect(timedOut).toHaveProperty(name, shown?.[name]);
  expect(timedOut).toMatchObject({ tool: "tool brief_form", ask: "question-1" });
  expect(Number(timedOut?.["at"]) - Number(timedOut?.["asked"])).toBeGreaterThanOrEqual(1_000);

  // Of one that its upstream gave up.
  const withdrawn = records.findLast(({ taskId: id, action }) => id === givenUp && action === "answer");
  expect(withdrawn).toMatchObject({ action: "answer", door: "gateway", did: "withdrawn", verdict: "accepted", ask: "question-1" });
  for (const name of ["asked", "question", "schema", "call"]) expect(withdrawn).toHaveProperty(name);
  expect(withdrawn).not.toHaveProperty("principal");

  // Of one that asks for a secret, which nobody is asked.
  const [, unasked, ...more] = records.filter(({ taskId: id }) => id === refused);
  const of = { tool: "tool long_secret", upstream: "long", verdict: "secret" };
  expect(unasked).toMatchObject({ action: "refuse", door: "gateway", ...of, call: expect.any(String) as string });
  expect(Object.hasOwn(unasked ?? {}, "principal")).toBe(false);
  expect(more).toMatchObject([{ action: "end", door: "gateway", tool: "tool long_secret", verdict: "result", call: unasked?.["call"] }]);

  // Through a session: on the call's own stream, and back by a message of its own.
  const ofSession = records.filter(({ door }) => String(door).startsWith("2025-11-25 ")).map(({ action, door }) => [action, door]);
  expect(ofSession).toEqual(
    expect.arrayContaining([
      ["call", "2025-11-25 tools/call"],
      ["shown", "2025-11-25 tools/call"],
      ["answer", "2025-11-25 response"],
    ]),
  );
  expect(records.every(({ door }) => door !== undefined)).toBe(true);

  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const [key, pub, checkpoint] = ["private.pem", "public.pem", "checkpoint.json"].map((name) => join(folder, name));
  await writeFile(key ?? "", privateKey.export({ type: "pkcs8", format: "pem" }));
  await writeFile(pub ?? "", publicKey.export({ type: "spki", format: "pem" }));
  await writeFile(checkpoint ?? "", (await parley("checkpoint", "--key", key ?? "", file)).stdout);
  const verify = () => parley("verify", "--checkpoint", checkpoint ?? "", "--public-key", pub ?? "", file);
  expect(await verify()).toMatchObject({ code: 0, stdout: expect.stringMatching(/: whole\n$/) as string });

  await writeFile(file, text.replace('"accept"', '"decline"'));
  expect(await verify()).toMatchObject({ code: 1, stdout: expect.stringContaining("was changed") as string });
  await writeFile(file, text.slice(0, text.trimEnd().lastIndexOf("\n") + 1));
  expect(await parley("verify", file)).toMatchObject({ code: 0 });
  expect(await verify()).toMatchObject({ code: 1, stdout: expect.stringContaining("is missing from the files") as string });
});
