/**
 * npm run test:compose -- [part …]
 *
 * Tests the compose file with Docker: starts it under a separate name, puts it under load, rolls it, kills parts of it, and removes it.
 * Without Docker, prints that it was skipped and succeeds.
 *
 *   up       http://localhost:<port>/mcp serves, all containers are healthy and confined, and no password is visible
 *   settings every setting in .env reaches its containers
 *   login    the profile with a provider, under a separate name: login.ts
 *   roll     deploy/roll.sh server and worker under load: no request fails; held calls are handed over. A roll that fails leaves
 *            nothing behind, and the next one succeeds
 *   scale    --scale server=3 --scale worker=3: the proxy finds the third
 *   proxy    ends within its grace period although a stream is open
 *   kill     a front end, a worker and Redis are killed under load: no task is lost
 *   memory   Redis is written to while it rewrites its file, and then filled: it refuses writes, is not killed, and serves again
 *   backup   of a running deployment, restored into an empty one
 */
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { SERVER_SETTINGS } from "@parley/server";
import { WORKER_SETTINGS } from "@parley/worker";
import { createClient } from "../../bench/client.ts";
import { listen } from "../../bench/listener.ts";
import { freePorts } from "../support/free-ports.ts";
import { type LoadReport, startLoad } from "../support/steady-load.ts";
import { until } from "../support/until.ts";
import { check, failures } from "./checks.ts";
import { BUILD, COMPOSE, deployment, ROOT } from "./deployment.ts";
import { login } from "./login.ts";

const HELD = Number(process.env["COMPOSE_CALLS"] ?? 100);
const PROJECT = "parley-test";

const [port = 0] = await freePorts(1);
const { tryRun, run, compose, containers, container, inspect, beside, mustBeside } = deployment({
  project: PROJECT,
  files: ["docker-compose.yml", "test/compose/hand-over.yml"],
  env: { PARLEY_PUBLISH: `127.0.0.1:${port}` },
});
const redis = (command: string) =>
  compose("exec", "-T", "redis", "sh", "-c", `REDISCLI_AUTH=$(cat /run/parley/redis-password) redis-cli ${command}`);

/** What the README tells people to type, without its first two words. */
function readmeCommand(): string[] {
  const [, command = ""] = /^docker compose (up .*?) *(?:#.*)?$/m.exec(readFileSync(`${ROOT}/README.md`, "utf8")) ?? [];
  const words = command.split(" ");
  return words.map((word) => (word === "--build" ? BUILD : word));
}

const shown = ({ failures, ...report }: LoadReport) => ({ ...report, failed: failures.length, kinds: kindsOf(failures) });
/** How often each kind of failure was seen. */
const kindsOf = (failures: readonly string[]) =>
  Object.fromEntries(
    Object.entries(Object.groupBy(failures, (failure) => failure.replace(/ after \d+ ms$/, ""))).map(([kind, all = []]) => [
      kind,
      all.length,
    ]),
  );

if (!tryRun(["docker", "info"]).ok || !tryRun([...COMPOSE, "version"]).ok) {
  console.log("test:compose skipped, and with it the login profile: no Docker with Compose answers here");
  process.exit(0);
}

const url = `http://localhost:${port}/mcp`;
try {
  const parts = { settings, login, up, roll, failedRoll, scale, proxy, kill, memory, backup };
  const wanted = process.argv.slice(2);
  const needsUp = wanted.some((name) => name !== "settings" && name !== "login");
  for (const [name, part] of Object.entries(parts))
    if (wanted.length === 0 || wanted.includes(name) || (name === "up" && needsUp)) await part();
} catch (error) {
  check(error instanceof Error ? error.message : String(error), false);
  console.log(tryRun([...COMPOSE, "logs", "--tail", "20"]).out);
} finally {
  if (process.env["COMPOSE_KEEP"] === undefined) {
    tryRun([...COMPOSE, "down", "--volumes", "--timeout", "5"]);
    tryRun(["docker", "rmi", "-f", "parley:broken"]);
  }
}
process.exit(failures() === 0 ? 0 : 1);

function settings(): void {
  // As Compose itself resolves the file; nothing is started.
  const directory = mkdtempSync(join(tmpdir(), "parley-compose-"));
  try {
    copyFileSync(join(ROOT, "docker-compose.yml"), join(directory, "docker-compose.yml"));
    const names = Object.keys({ ...SERVER_SETTINGS.shape, ...WORKER_SETTINGS.shape });
    const lines = [...names, "KEY_OF_A_TOOL"].map((name) => `${name}=of-${name.toLowerCase()}`);
    writeFileSync(join(directory, ".env"), lines.join("\n"));
    const { ok, out } = tryRun(
      [...COMPOSE, "--project-directory", directory, "-f", join(directory, "docker-compose.yml"), "config", "--format", "json"],
      {
        COMPOSE_FILE: "",
      },
    );
    if (!ok) throw new Error(out);
    const { services } = JSON.parse(out) as { services: Record<string, { environment: Record<string, string> }> };
    const wired: Record<string, string[]> = {
      server: ["PARLEY_AUTH_NONE_ANYWHERE", "PARLEY_HOST", "PARLEY_METRICS_HOST", "PARLEY_METRICS_PORT", "PARLEY_PORT", "REDIS_URL"],
      worker: ["PARLEY_METRICS_HOST", "PARLEY_METRICS_PORT", "REDIS_URL"],
    };
    for (const [service, own] of Object.entries(wired)) {
      const environment = services[service]?.environment ?? {};
      const other = [...names, "KEY_OF_A_TOOL"].filter((name) => environment[name] !== `of-${name.toLowerCase()}`);
      check(
        `settings: ${names.length} of .env reach the ${service}, but for those that wire it`,
        other.toSorted().join() === own.join(),
        other,
      );
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function up(): void {
  const startedAtMs = Date.now();
  compose(...readmeCommand());
  check("up: all containers are healthy", true, { seconds: (Date.now() - startedAtMs) / 1_000 });
  const facts = [...containers("server"), ...containers("worker")].map((id) =>
    inspect(id, "{{.Config.User}} {{.HostConfig.ReadonlyRootfs}} {{.HostConfig.Memory}}"),
  );
  check(
    "up: two front ends and two workers, as a user, with a read-only root and limits",
    facts.join() === Array(4).fill("node true 536870912").join(),
    facts[0],
  );
  const all = ["proxy", "server", "worker", "redis", "secrets"].flatMap(containers);
  const confined = all.map((id) =>
    inspect(
      id,
      '{{.HostConfig.ReadonlyRootfs}} {{.HostConfig.CapDrop}} {{.HostConfig.SecurityOpt}} {{.HostConfig.PidsLimit}} {{index .HostConfig.LogConfig.Config "max-size"}}',
    ),
  );
  check(
    "up: all containers have a read-only root, no capabilities, no new privileges, and limits on processes and logs",
    confined.length === 7 && new Set(confined).size === 1 && confined[0] === "true [ALL] [no-new-privileges:true] 256 10m",
    confined[0],
  );
  check("up: Redis is not root", inspect(container("redis"), "{{.Config.User}}") === "redis");
  check("up: Redis' network has no way out", run("docker", "network", "inspect", "-f", "{{.Internal}}", `${PROJECT}_back`) === "true");
  const password = compose("exec", "-T", "redis", "cat", "/run/parley/redis-password");
  const seen = all.map((id) => run("docker", "inspect", id)).join() + compose("top") + compose("config");
  check(
    "up: the password is 64 random digits, in no environment, arguments or configuration",
    /^[0-9a-f]{64}$/.test(password) && !seen.includes(password),
  );
  compose("up", "-d", "--no-build", "--wait");
  check("up: and stays what it is", compose("exec", "-T", "redis", "cat", "/run/parley/redis-password") === password);
}

async function roll(): Promise<void> {
  check("up: the operator's port is not published", !(await fetch(`http://localhost:${port}/metrics`)).ok);
  const rolled = startLoad(url, { tasks: 8, calls: HELD });
  await until(() => rolled.report.calls >= HELD && rolled.report.tasks > 8);
  await mustBeside("deploy/roll.sh", "server");
  await mustBeside("deploy/roll.sh", "worker");
  await sleep(3_000);
  const report = await rolled.stop();
  check("roll: no request failed, no call was lost", report.failures.length === 0 && report.givenUp.length === 0, shown(report));
  check("roll: calls that were held were handed over", report.handedOver > 0, { handedOver: report.handedOver });
}

async function failedRoll(): Promise<void> {
  const made = run("docker", "create", inspect(container("server"), "{{.Config.Image}}"));
  run("docker", "commit", "--change", "ENV PARLEY_LEASE=soon", made, "parley:broken");
  run("docker", "rm", made);
  const before = containers("server");
  const rolled = startLoad(url, { tasks: 8, calls: 8 });
  await until(() => rolled.report.tasks > 8);
  const { status, said } = await beside(["deploy/roll.sh", "server"], { PARLEY_VERSION: "broken", ROLL_TIMEOUT: "20" });
  check("failed roll: ends with 1 and shows what the new version said", status === 1 && said.includes("PARLEY_LEASE"), said.slice(-300));
  await mustBeside("deploy/roll.sh", "server");
  const report = await rolled.stop();
  const after = containers("server");
  check("failed roll: no request failed", report.failures.length === 0 && report.givenUp.length === 0, shown(report));
  check("failed roll: the next one replaced all, and left none over", after.length === 2 && !after.some((id) => before.includes(id)));
}

async function scale(): Promise<void> {
  compose("up", "-d", "--no-build", "--no-recreate", "--wait", "--scale", "server=3", "--scale", "worker=3");
  const served = () =>
    containers("server").filter((id) => run("sh", "-c", `docker logs --since 3s ${id} 2>&1`).includes("request answered")).length;
  const scaled = startLoad(url, { tasks: 4, calls: 0 });
  const all = await until(() => served() === 3, { everyMs: 500 }).catch(() => false);
  check("scale: three front ends are served to", all);
  await scaled.stop();
}

async function proxy(): Promise<void> {
  const client = createClient(url, 1);
  const { taskId } = await client.call("book_dinner", { date: "2041-05-05", time: "19:00" });
  client.close();
  const listener = listen(url, taskId);
  await listener.told("input_required");
  const startedAtMs = Date.now();
  await mustBeside("docker", "stop", container("proxy"));
  const seconds = (Date.now() - startedAtMs) / 1_000;
  listener.close();
  const code = inspect(container("proxy"), "{{.State.ExitCode}}");
  check(
    "proxy: ends by itself with a stream open, which it left open for as long as it could",
    code !== "137" && seconds > 20 && seconds < 30,
    {
      code,
      seconds,
    },
  );
  compose("up", "-d", "--no-build", "--no-recreate", "--wait");
}

async function kill(): Promise<void> {
  const killed = startLoad(url, { tasks: 16, calls: 16, patience: 60 });
  await until(() => killed.report.tasks > 16);
  const outage: Record<string, number> = {};
  for (const service of ["server", "worker", "redis"]) {
    const id = container(service);
    const before = killed.report;
    const killedAtMs = Date.now();
    await mustBeside("docker", "kill", id);
    if (service === "redis") await mustBeside("docker", "start", id);
    await until(() => killed.report.tasks >= before.tasks + 32, { timeoutMs: 90_000 });
    outage[service] = Date.now() - killedAtMs;
    if (service !== "redis") await mustBeside("docker", "start", id);
    await sleep(2_000);
  }
  const report = await killed.stop();
  check("kill: a front end, a worker and Redis died, and every task and call came to its end", report.givenUp.length === 0, {
    ...shown(report),
    outage,
  });
}

async function memory(): Promise<void> {
  const id = container("redis");
  const field = (section: string, name: string) => new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(redis(`info ${section}`))?.[1];
  const maxmemory = Number(field("memory", "maxmemory"));
  const limit = Number(inspect(id, "{{.HostConfig.Memory}}"));
  check("memory: Redis takes 40 % of its container's memory for data", Math.round((maxmemory / limit) * 100) === 40, { limit, maxmemory });

  // Nine tenths of it in values of 1,000 bytes, each 1,130 with what Redis needs beside. In a container of its own, with a limit of its own.
  const keys = Math.floor((maxmemory * 0.9) / 1_130);
  const write = (requests: number) =>
    `redis-benchmark -h redis -a "$(cat /run/parley/redis-password)" -t set -d 1000 -r ${keys} -n ${requests} -c 20 -P 16 -q`;
  const writer = (command: string) => beside([...COMPOSE, "run", "--rm", "--no-deps", "-T", "--entrypoint", "sh", "redis", "-c", command]);
  await writer(write(keys * 3));
  // Every value is overwritten while the file is rewritten: each page that is touched is copied.
  const rewrites: string[] = [];
  for (let round = 0; round < 3; round += 1) {
    redis("bgrewriteaof");
    await writer(write(keys * 2));
    await until(() => field("persistence", "aof_rewrite_in_progress") === "0", { timeoutMs: 120_000, everyMs: 500 });
    rewrites.push(`${field("persistence", "aof_last_bgrewrite_status")}, ${field("persistence", "aof_last_cow_size")} bytes copied`);
  }
  const alive = () => inspect(id, "{{.RestartCount}} {{.State.OOMKilled}} {{.State.Running}}");
  check(
    "memory: rewrites its file under writes and is not killed",
    alive() === "0 false true" && rewrites.every((each) => each.startsWith("ok")),
    {
      used: Number(field("memory", "used_memory")),
      rewrites,
    },
  );

  const { said } = await writer(write(keys * 3).replace(`-r ${keys}`, `-r ${keys * 3}`));
  check("memory: full, it refuses writes and is not killed", said.includes("OOM") && alive() === "0 false true", said.slice(-200));
  const ready = () =>
    fetch(`http://localhost:${port}/readyz`).then(
      ({ status }) => status,
      () => 0,
    );
  // What the writer's connections took is free again, so that a small write may pass: Redis is to refuse all of them.
  redis("config set maxmemory 1mb");
  const unready = await until(async () => (await ready()) === 503).catch(() => false);
  check("memory: while it refuses writes front ends are not ready", unready);
  redis(`config set maxmemory ${maxmemory}`);
  redis(
    "--scan --pattern 'key:*' | xargs -n 1000 sh -c 'REDISCLI_AUTH=$(cat /run/parley/redis-password) redis-cli unlink \"$@\" > /dev/null' sh",
  );
  check("memory: emptied, it serves again", await until(async () => (await ready()) === 200).catch(() => false));
}

async function backup(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "parley-backup-"));
  const file = join(directory, "parley.rdb");
  try {
    let client = createClient(url, 1);
    const { taskId } = await client.call("book_dinner", { date: "2041-06-06", time: "19:00" });
    await until(async () => (await client.get(taskId)).status === "input_required");
    run("deploy/backup.sh", file);
    client.close();
    check(
      "backup: is a snapshot that nobody else can read",
      readFileSync(file).subarray(0, 5).toString() === "REDIS" && run("stat", "-c", "%a", file) === "600",
    );

    compose("down", "--volumes", "--timeout", "20");
    compose("up", "-d", "--no-build", "--wait");
    client = createClient(url, 1);
    const gone = await client.get(taskId).then(
      () => false,
      () => true,
    );
    client.close();
    run("deploy/restore.sh", file);
    client = createClient(url, 1);
    await client.answer(taskId, { "party-size": { action: "accept", content: { partySize: 4 } } });
    const ended = await until(async () => (await client.get(taskId)).status === "completed").catch(() => false);
    check("restore: a task that waited in the backup is answered and ends in a deployment that was empty", gone && ended);
    client.close();

    const whole = readFileSync(file);
    for (const [content, problem] of [
      ["something else", "is not a backup"],
      [whole.subarray(0, whole.length / 2), "is damaged"],
    ] as const) {
      writeFileSync(file, content);
      const { ok, out } = tryRun(["deploy/restore.sh", file]);
      check(
        `restore: refuses what ${problem}, and stops nothing for it`,
        !ok && out.includes(problem) && (await fetch(`http://localhost:${port}/readyz`)).ok,
      );
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
}
