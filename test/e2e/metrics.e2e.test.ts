/** What operators see: /metrics of both processes, the dashboard, the alerts and the documentation agree. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createClient, message } from "../../bench/client.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { logged } from "../support/processes.ts";
import { until } from "../support/until.ts";

const read = (path: string) => readFile(new URL(`../../${path}`, import.meta.url), "utf8");

let deployment: Deployment;
let directory: string;
let server: string;
let worker: string;

const text = async (url: string) => (await fetch(`${url}/metrics`)).text();
/** The sum of all series of that name whose labels hold all of these. */
async function value(url: string, name: string, ...labels: string[]): Promise<number> {
  const lines = (await text(url)).split("\n").filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return lines
    .filter((line) => labels.every((label) => line.includes(label)))
    .reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}
const typesIn = (exposition: string) => [...exposition.matchAll(/^# TYPE (\S+) /gm)].map(([, name = ""]) => name);

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parley-metrics-"));
  deployment = await startDeployment({
    frontEnds: 1,
    workers: 1,
    tools: [join(import.meta.dirname, "tools/steps.ts"), join(import.meta.dirname, "tools/greet.ts")],
    env: { PARLEY_METRICS_PORT: "0" },
  });
  server = String((await logged(deployment.frontEnds[0]!, "front end ready"))["operator"]);
  worker = String((await logged(deployment.workers[0]!, "worker ready"))["operator"]);

  const client = createClient(deployment.url, 2);
  const start = async () => {
    const { taskId } = await client.call("steps", { file: join(directory, "secret-argument") });
    await until(async () => (await client.get(taskId)).status === "input_required");
    return taskId;
  };
  const taskId = await start();
  await start();
  await client.answer(taskId, { n: { action: "accept", content: { n: 99 } } }).catch(() => undefined);
  await client.answer(taskId, { n: { action: "accept", content: { n: 7 } } });
  await client.answer(taskId, { n: { action: "accept", content: { n: 7 } } });
  await until(async () => (await client.get(taskId)).status === "completed");
  await client.call("no_such_tool", {}).catch(() => undefined);
  const { headers, body } = message("tools/invented", {}, "invented");
  await fetch(deployment.url, { method: "POST", headers, body });
  client.close();
  await until(async () => (await value(worker, "parley_asks_open")) === 1);
});

afterAll(async () => {
  await deployment.close();
  await rm(directory, { recursive: true });
});

describe("what is counted", () => {
  test("requests, by method, revision and outcome", async () => {
    const count = (...labels: string[]) => value(server, "parley_request_seconds_count", 'dialect="2026-07-28"', ...labels);
    expect(await count('method="tools/call"', 'outcome="ok"')).toBe(2);
    expect(await count('method="tools/call"', 'outcome="refused"')).toBe(1);
    expect(await count('method="tasks/update"', 'outcome="ok"')).toBe(2);
    expect(await count('method="tasks/update"', 'outcome="refused"')).toBe(1);
    expect(await count('method="tasks/get"')).toBeGreaterThanOrEqual(3);
  });

  test("tasks, answers and how long people took", async () => {
    expect(await value(server, "parley_tasks_created_total", 'tool="steps"')).toBe(2);
    expect(await value(server, "parley_answers_total", 'receipt="accepted"')).toBe(1);
    expect(await value(server, "parley_answers_total", 'receipt="invalid"')).toBe(1);
    expect(await value(server, "parley_answers_total", 'receipt="duplicate"')).toBe(1);
    expect(await value(server, "parley_answer_wait_seconds_count", 'tool="steps"')).toBe(1);
    // Of a tool that was never asked, too: an alert compares them with questions that were not answered.
    expect(await text(server)).toContain('parley_answers_total{tool="greet",receipt="accepted"} 0\n');
  });

  test("runs, what they replayed, and how long they waited", async () => {
    expect(await value(worker, "parley_run_seconds_count", 'end="parked"')).toBe(2);
    expect(await value(worker, "parley_run_seconds_count", 'end="completed"')).toBe(1);
    expect(await value(worker, "parley_replay_entries_count")).toBe(1);
    expect(await value(worker, "parley_replay_entries_sum")).toBe(3);
    expect(await value(worker, "parley_run_wait_seconds_count", 'cause="created"')).toBe(2);
    expect(await value(worker, "parley_run_wait_seconds_count", 'cause="answered"')).toBe(1);
  });

  test("the deployment, on front ends as on workers: what waits", async () => {
    for (const url of [server, worker]) {
      expect(await value(url, "parley_tasks_unfinished")).toBe(1);
      expect(await value(url, "parley_queue_jobs", 'state="waiting"')).toBe(0);
      expect((await text(url)).match(/^parley_queue_jobs\{/gm)).toHaveLength(2);
    }
  });

  test("the deployment: what waits, and since when", async () => {
    expect(await value(worker, "parley_tasks_unfinished")).toBe(1);
    expect(await value(worker, "parley_tasks_parked")).toBe(1);
    expect(await value(worker, "parley_tasks_overdue")).toBe(0);
    expect(await value(worker, "parley_oldest_ask_seconds")).toBeGreaterThan(0);
    expect(await value(worker, "parley_sweeps_total")).toBeGreaterThan(0);
  });

  test("round trips to Redis, by operation", async () => {
    expect(await value(server, "parley_redis_seconds_count", 'operation="create"')).toBe(2);
    expect(await value(worker, "parley_redis_seconds_count", 'operation="park"')).toBe(2);
  });

  test("nothing under a name that a client made up, and nothing of arguments and answers", async () => {
    const all = (await text(server)) + (await text(worker));
    expect(all).not.toMatch(/no_such_tool|invented|secret-argument/);
    expect(await value(server, "parley_request_seconds_count", 'outcome="refused"', 'method="none"')).toBe(1);
  });
});

describe("the operator's port", () => {
  test("is ready when Redis takes writes", async () => {
    for (const url of [server, worker]) {
      expect(await (await fetch(`${url}/readyz`)).json()).toEqual({ status: "ok" });
      expect((await fetch(`${url}/healthz`)).status).toBe(200);
    }
  });

  test("tells the health check of a container, which has no other way to ask", async () => {
    const checked = async (port: string) => {
      const check = spawn(process.execPath, ["apps/cli/healthcheck.ts"], { env: { ...process.env, PARLEY_METRICS_PORT: port } });
      const [code] = (await once(check, "exit")) as [number];
      return code;
    };
    for (const url of [server, worker]) expect(await checked(new URL(url).port)).toBe(0);
    expect(await checked("1")).toBe(1);
  });

  test("is not on the port that serves clients", async () => {
    expect((await fetch(deployment.url.replace("/mcp", "/metrics"))).status).toBe(404);
  });

  test("serves no web page, and no name that an attacker could own", async () => {
    const status = (headers: Record<string, string>) =>
      new Promise<number | undefined>((resolve, reject) => {
        request(`${server}/metrics`, { headers }, (response) => resolve(response.resume().statusCode))
          .on("error", reject)
          .end();
      });
    expect(await status({ origin: "https://evil.example" })).toBe(403);
    expect(await status({ "sec-fetch-site": "cross-site" })).toBe(403);
    expect(await status({ host: "evil.example:9464" })).toBe(403);
    expect(await status({ host: "10.0.0.7:9464" })).toBe(200);
    expect(await status({ host: "server:9464" })).toBe(200);
  });
});

describe("what is shown of it", () => {
  const shown = async () => new Set([...typesIn(await text(server)), ...typesIn(await text(worker))]);
  const namesIn = (expressions: string) =>
    new Set([...expressions.matchAll(/\b(?:parley|process|nodejs)_[a-z0-9_]+/g)].map(([name]) => name.replace(/_(bucket|sum|count)$/, "")));

  test("every metric of the dashboard exists", async () => {
    const dashboard = JSON.parse(await read("deploy/grafana/parley.json")) as { panels: { targets?: { expr: string }[] }[] };
    const expressions = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    expect(expressions.length).toBeGreaterThan(20);
    expect([...namesIn(expressions.join("\n"))].filter((name) => !existing.has(name))).toEqual([]);
  });

  test("the dashboard shows every metric of Parley's, except which versions run", async () => {
    const { panels } = JSON.parse(await read("deploy/grafana/parley.json")) as { panels: object[] };
    const shownThere = namesIn(JSON.stringify(panels) + "parley_draining");
    const missing = [...existing].filter((name) => name.startsWith("parley_") && !shownThere.has(name));
    expect(missing.toSorted()).toEqual(["parley_build_info", "parley_rules_info"]);
  });

  test("every metric of the alerts exists, and every alert says why", async () => {
    const alerts = await read("deploy/prometheus/alerts.yml");
    const expressions = [...alerts.matchAll(/^\s+expr: (.+)$/gm)].map(([, expr = ""]) => expr);
    expect([...namesIn(expressions.join("\n"))].filter((name) => !existing.has(name))).toEqual([]);
    const count = (pattern: RegExp) => [...alerts.matchAll(pattern)].length;
    expect(count(/^\s+why: \S/gm)).toBe(count(/^\s+- alert: /gm));
    expect(expressions).toHaveLength(count(/^\s+- alert: /gm));
  });

  test("the documentation has every metric of Parley's, and no other", async () => {
    const documented = [...(await read("docs/operations.md")).matchAll(/^\| `(parley_\w+)/gm)].map(([, name = ""]) => name);
    const own = [...existing].filter((name) => name.startsWith("parley_"));
    expect(documented.toSorted()).toEqual(own.toSorted());
  });

  test("every alert is in the documentation", async () => {
    const operations = await read("docs/operations.md");
    const alerts = [...(await read("deploy/prometheus/alerts.yml")).matchAll(/- alert: (\w+)/g)].map(([, name = ""]) => name);
    expect(alerts.filter((name) => !operations.includes(name))).toEqual([]);
  });

  let existing: Set<string>;
  beforeAll(async () => {
    existing = await shown();
  });
});
