/** What happens reaches a webhook of the operator's file, from two workers of which one is killed, and a client's cursor holds at every front end. */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Webhook as Verifier } from "standardwebhooks";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient } from "../../bench/client.ts";
import { rpc } from "../../apps/server/client.fixture.ts";
import type { Front } from "../../apps/server/deployment.fixture.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { until } from "../support/until.ts";

const SECRET = `whsec_${randomBytes(32).toString("base64")}`;
let directory: string;
let deployment: Deployment;
let receiver: Server;
const taken: { readonly id: string; readonly type: string; readonly taskId: string }[] = [];

async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  const { type, data } = new Verifier(SECRET).verify(text, request.headers as Record<string, string>) as {
    type: string;
    data: { taskId: string };
  };
  const id = String(request.headers["webhook-id"]);
  // A worker that is killed before it has saved its place leaves what was taken to be posted again, under the same id.
  if (!taken.some((each) => each.id === id)) taken.push({ id, type, taskId: data.taskId });
  response.writeHead(204).end();
}

beforeAll(async () => {
  receiver = createServer((request, response) => void take(request, response));
  await new Promise<void>((listening) => receiver.listen(0, "127.0.0.1", listening));
  directory = await mkdtemp(join(tmpdir(), "parley-events-"));
  const file = join(directory, "webhooks.yaml");
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  await writeFile(file, `webhooks: { ops: { url: "${url}", secret: "\${OPS_SECRET}", private: true } }`);
  const env = { PARLEY_OUTBOX: "true", PARLEY_PARTITIONS: "2" };
  deployment = await startDeployment({
    frontEnds: 2,
    workers: 2,
    tools: [join(import.meta.dirname, "tools/greet.ts")],
    env,
    workerEnv: { PARLEY_WEBHOOKS: file, OPS_SECRET: SECRET },
  });
});
afterAll(async () => {
  await deployment.close();
  await new Promise((closed) => receiver.close(closed));
  await rm(directory, { recursive: true, force: true });
});

async function greeted(): Promise<string> {
  const client = createClient(deployment.url, 1);
  const { taskId } = await client.call("greet", { greeting: "Hello" });
  await until(async () => (await client.get(taskId)).status === "input_required");
  await client.answer(taskId, { name: { action: "accept", content: { name: "Ada" } } });
  await until(async () => (await client.get(taskId)).status === "completed");
  return taskId;
}

test("a task's life is posted under one id each, in order, also when a worker is killed, and polled from a cursor at any front end", async () => {
  const front = { url: deployment.url } as Front;
  const start = await rpc(front, "events/poll", { name: "task.changed", cursor: null });
  const typesOf = (taskId: string) => taken.filter((each) => each.taskId === taskId).map(({ type }) => type);
  const life = ["ask.opened", "ask.settled", "task.ended"];

  const first = await greeted();
  await until(() => typesOf(first).length === 3);
  expect(typesOf(first)).toEqual(life);

  await deployment.workers[0]?.kill();
  const second = await greeted();
  // A claim of the worker that died runs out after half a minute.
  await until(() => typesOf(second).length >= 3, { timeoutMs: 90_000 });
  expect(typesOf(second)).toEqual(life);
  expect(typesOf(first)).toEqual(life);

  const polled = await rpc(front, "events/poll", { name: "task.changed", cursor: start.result?.["cursor"] });
  const events = polled.result?.["events"] as unknown as { data: { taskId: string; change: string } }[];
  expect(events.map(({ data }) => [data.taskId, data.change])).toEqual(
    [first, second].flatMap((taskId) => ["asked", "answered", "completed"].map((change) => [taskId, change])),
  );
});
