/**
 * `npm run test:compose`: the compose file, for real. Brings it up under a name of its own, puts it under load, rolls it, kills parts of it,
 * and takes it down again. Says so and succeeds where there is no Docker.
 *
 *   up     http://localhost:<port>/mcp serves, all containers healthy, none as root, none with a writable root
 *   roll   deploy/roll.sh server and worker under load: no request fails; calls that were held are handed over
 *   scale  --scale server=3 --scale worker=3: the proxy finds the third
 *   kill   a front end, a worker and Redis are killed under load: no task is lost
 */
import { spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePorts } from "../support/balancer.ts";
import { type LoadReport, startLoad } from "../support/steady-load.ts";
import { until } from "../support/until.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const HELD = Number(process.env["COMPOSE_CALLS"] ?? 100);
/** A Compose that is no plugin: COMPOSE=docker-compose */
const COMPOSE = (process.env["COMPOSE"] ?? "docker compose").split(" ");

const [port = 0] = await freePorts(1);
const env = { ...process.env, COMPOSE_PROJECT_NAME: "parley-test", PARLEY_PUBLISH: String(port) };

function tryRun(command: readonly string[], timeoutMs = 600_000): { ok: boolean; out: string } {
  const [program = "", ...args] = command;
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: ROOT, env, encoding: "utf8", timeout: timeoutMs });
  return { ok: status === 0, out: `${stdout ?? ""}${status === 0 ? "" : (stderr ?? "")}`.trim() };
}

/** Not while a load runs: it would stand still. */
function run(...command: string[]): string {
  const { ok, out } = tryRun(command);
  if (!ok) throw new Error(`${command.join(" ")}:\n${out}`);
  return out;
}

const compose = (...args: string[]) => run(...COMPOSE, ...args);
const containers = (service: string) => compose("ps", "-q", service).split("\n").filter(Boolean);

/** As run, beside a load. */
async function beside(...command: string[]): Promise<void> {
  const [program = "", ...args] = command;
  const child = spawn(program, args, { cwd: ROOT, env, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const status = await new Promise((ended) => child.once("close", ended));
  if (status !== 0) throw new Error(`${command.join(" ")}:\n${said}`);
}

/** What the README tells people to type, without its first two words. */
function readmeCommand(): string[] {
  const [, command = ""] = /^docker compose (up .*?) *(?:#.*)?$/m.exec(readFileSync(`${ROOT}/README.md`, "utf8")) ?? [];
  const words = command.split(" ");
  // An image that was built before, where Compose cannot build.
  return process.env["COMPOSE_NO_BUILD"] === undefined ? words : words.map((word) => (word === "--build" ? "--no-build" : word));
}

let failed = 0;
function check(what: string, holds: boolean, detail: unknown = ""): void {
  console.log(`${holds ? "✓" : "✗"} ${what}${detail === "" ? "" : `  ${JSON.stringify(detail)}`}`);
  if (!holds) failed += 1;
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

if (!tryRun(["docker", "info"], 10_000).ok || !tryRun([...COMPOSE, "version"], 10_000).ok) {
  console.log("test:compose skipped: no Docker with Compose answers here");
  process.exit(0);
}

const url = `http://localhost:${port}/mcp`;
try {
  const startedAtMs = Date.now();
  compose(...readmeCommand());
  check("up: all containers are healthy", true, { seconds: (Date.now() - startedAtMs) / 1_000 });
  const facts = [...containers("server"), ...containers("worker")].map((id) =>
    run("docker", "inspect", "-f", "{{.Config.User}} {{.HostConfig.ReadonlyRootfs}} {{.HostConfig.Memory}}", id),
  );
  check(
    "up: two front ends and two workers, as a user, with a read-only root and limits",
    facts.join() === Array(4).fill("node true 536870912").join(),
    facts[0],
  );
  check("up: the operator's port is not published", !(await fetch(`http://localhost:${port}/metrics`)).ok);

  const rolled = startLoad(url, { tasks: 8, calls: HELD });
  await until(() => rolled.report.calls >= HELD && rolled.report.tasks > 8, { timeoutMs: 60_000 });
  await beside("deploy/roll.sh", "server");
  await beside("deploy/roll.sh", "worker");
  await sleep(3_000);
  const roll = await rolled.stop();
  check("roll: no request failed, no call was lost", roll.failures.length === 0 && roll.givenUp.length === 0, shown(roll));

  compose("up", "-d", "--no-build", "--no-recreate", "--wait", "--scale", "server=3", "--scale", "worker=3");
  const served = () =>
    containers("server").filter((id) => run("sh", "-c", `docker logs --since 3s ${id} 2>&1`).includes("request answered")).length;
  const scaled = startLoad(url, { tasks: 4, calls: 0 });
  const all = await until(() => served() === 3, { timeoutMs: 30_000, everyMs: 500 }).catch(() => false);
  check("scale: three front ends are served to", all);
  await scaled.stop();

  const killed = startLoad(url, { tasks: 16, calls: 16, patience: 60 });
  await until(() => killed.report.tasks > 16, { timeoutMs: 60_000 });
  const outage: Record<string, number> = {};
  for (const service of ["server", "worker", "redis"]) {
    const [id = ""] = containers(service);
    const before = killed.report;
    const killedAtMs = Date.now();
    await beside("docker", "kill", id);
    if (service === "redis") await beside("docker", "start", id);
    await until(() => killed.report.tasks >= before.tasks + 32, { timeoutMs: 90_000 });
    outage[service] = Date.now() - killedAtMs;
    if (service !== "redis") await beside("docker", "start", id);
    await sleep(2_000);
  }
  const kill = await killed.stop();
  check("kill: a front end, a worker and Redis died, and every task and call came to its end", kill.givenUp.length === 0, {
    ...shown(kill),
    outage,
  });
} catch (error) {
  check(error instanceof Error ? error.message : String(error), false);
  console.log(tryRun([...COMPOSE, "logs", "--tail", "20"]).out);
} finally {
  if (process.env["COMPOSE_KEEP"] === undefined) tryRun([...COMPOSE, "down", "--volumes", "--timeout", "5"]);
}
process.exit(failed === 0 ? 0 : 1);
