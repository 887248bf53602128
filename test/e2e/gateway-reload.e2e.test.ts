/**
 * The file of upstreams changes while a deployment serves: nothing is restarted, and waiting calls are answered at the upstream where they
 * were made.
 */
import { once } from "node:events";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { createServer, request as forward } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { type Client, createClient, message } from "../../bench/client.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { until } from "../support/until.ts";
import { type RunningUpstream, startUpstream, writeUpstreams } from "../support/upstream.ts";

let directory: string;
let classic: RunningUpstream;
let stateless: RunningUpstream;
let deployment: Deployment;
let client: Client;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parley-reload-"));
  [classic, stateless] = await Promise.all([startUpstream("classic.ts", ["http"]), startUpstream("stateless.ts", ["0"])]);
  deployment = await startDeployment({ frontEnds: 2, workers: 2, env: { PARLEY_UPSTREAMS: await writeUpstreams(directory, []) } });
  client = createClient(deployment.url, 5);
});

afterAll(async () => {
  client?.close();
  await deployment?.close();
  await Promise.all([classic?.kill(), stateless?.kill()]);
  await rm(directory, { recursive: true });
});

async function names(frontEnd: string): Promise<readonly string[]> {
  const { headers, body } = message("tools/list", {}, "");
  const { "mcp-name": _, ...rest } = headers;
  const { result } = (await (await fetch(`${frontEnd}/mcp`, { method: "POST", headers: rest, body })).json()) as {
    result: { tools: { name: string }[] };
  };
  return result.tools.map(({ name }) => name);
}

/** At every front end. */
const offered = (condition: (names: readonly string[]) => boolean) =>
  until(async () => (await Promise.all(deployment.frontEnds.map(({ url }) => names(url)))).every(condition), {
    timeoutMs: 60_000,
    everyMs: 100,
  });

test("upstreams come, change and go; waiting questions are answered where they were asked; an invalid file changes nothing", async () => {
  await writeUpstreams(directory, [{ name: "classic", url: classic.url }]);
  await offered((all) => all.includes("classic_confirm"));
  const { taskId } = await client.call("classic_confirm", { text: "held" });
  await until(async () => (await client.get(taskId)).status === "input_required");

  await writeUpstreams(directory, [
    { name: "classic", url: classic.url, prefix: "old_", include: ["plain"] },
    { name: "stateless", url: stateless.url },
  ]);
  await offered((all) => all.includes("stateless_echo") && all.includes("old_plain") && !all.some((name) => name.startsWith("classic_")));
  await expect(client.call("classic_confirm", { text: "gone" })).rejects.toThrow("classic_confirm");
  const echoed = await client.call("stateless_echo", { text: "new" });
  await until(async () => (await client.get(echoed.taskId)).status === "completed");

  await client.answer(taskId, { "question-1": { action: "accept", content: { ok: true } } });
  const done = await until(async () => {
    const task = await client.get(taskId);
    return task.status === "completed" && task;
  });
  expect(JSON.parse(done.result?.content?.[0]?.text ?? "")).toEqual({ said: "held", action: "accept", content: { ok: true } });

  await writeFile(join(directory, "parley.upstreams.json"), '{"upstreams": [{"name": "BAD"}]}');
  const all = [...deployment.frontEnds, ...deployment.workers];
  await until(() =>
    all.every(({ logs }) => logs.some(({ msg }) => msg === "file of upstreams is invalid, its last valid content stays in effect")),
  );
  await offered((now) => now.includes("stateless_echo"));

  await writeUpstreams(directory, []);
  await offered((now) => !now.includes("stateless_echo"));
});

test("the answer to a question is sent with the credentials that the file has by then", async () => {
  const seen: (string | undefined)[] = [];
  const watching = createServer((request, response) => {
    const { method, url, headers } = request;
    seen.push(headers.authorization);
    const passed = forward({ port: classic.port, method, path: url, headers }, (reply) => {
      response.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(response);
    });
    // A stream is left when its reader is.
    response.once("close", () => passed.destroy());
    passed.once("error", () => response.destroy());
    request.pipe(passed);
  }).listen(0, "127.0.0.1");
  await once(watching, "listening");
  onTestFinished(() => {
    watching.closeAllConnections();
    watching.close();
  });
  const url = `http://127.0.0.1:${(watching.address() as AddressInfo).port}/mcp`;
  const token = join(directory, "token");
  await writeFile(token, "first");
  await writeUpstreams(directory, [{ name: "rotated", url, headers: { authorization: `Bearer \${file:${token}}` } }]);
  await offered((all) => all.includes("rotated_confirm"));
  const { taskId } = await client.call("rotated_confirm", { text: "held" });
  await until(async () => (await client.get(taskId)).status === "input_required");
  expect(new Set(seen)).toEqual(new Set(["Bearer first"]));

  const changes = () => deployment.workers.map(({ logs }) => logs.filter(({ msg }) => msg === "file of upstreams has changed").length);
  const before = changes();
  await writeFile(`${token}~`, "second");
  await rename(`${token}~`, token);
  await until(() => changes().every((count, worker) => count > (before[worker] ?? 0)));
  seen.length = 0;
  await client.answer(taskId, { "question-1": { action: "accept", content: { ok: true } } });
  await until(async () => (await client.get(taskId)).status === "completed");
  expect(new Set(seen)).toEqual(new Set(["Bearer second"]));
});
