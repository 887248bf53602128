/**
 * `npm run bench:gateway`: what the gateway adds to a call, keeps in memory, and whether it mixes up calls.
 *
 *   --only latency | cost | held | overlap    runs one part; writes nothing
 *   --quick                                   runs a tenth of it; writes nothing
 *
 * A complete run writes the section "The gateway" of bench/RESULTS.md, which `npm run bench` leaves unchanged.
 */
import { execFileSync } from "node:child_process";
import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { startIssuer } from "../../test/support/issuer.ts";
import { writeGatewaySection } from "../report.ts";
import { callCosts, type Side } from "./cost.ts";
import { CALLS_MAX, type GatewayDeployment, startGateway } from "./deployment.ts";
import { heldCalls } from "./held.ts";
import { callLatency } from "./latency.ts";
import { overlappingCalls } from "./overlap.ts";

const { values } = parseArgs({ options: { only: { type: "string" }, quick: { type: "boolean", default: false } } });
const some = (count: number) => (values.quick ? Math.ceil(count / 10) : count);
const CALLS = { measured: some(1_000), warmUp: some(8_000) };
/** The processes are warm by then. */
const MORE_CALLS = { measured: some(1_000), warmUp: some(300) };
const WARM_UP = CALLS.warmUp.toLocaleString("en");
const PUBLIC_URL = "http://parley.example";
const PEOPLE = 20;
const SIDES: readonly (readonly [Side, string])[] = [
  ["direct", "direct"],
  ["own", "Parley's own tool"],
  ["gateway", "through the gateway, a session for each call"],
  ["again", "through the gateway, `reuseSessions`"],
  ["taskless", "through the gateway, `reuseSessions` and `taskless`"],
];

const pin = (cores: string, pid: number) => {
  if (cpus().length > 1) execFileSync("taskset", ["-acp", cores, String(pid)]);
};
pin("1", process.pid);

const parts = { latency, cost, held, overlap };
const lines: string[] = [];
for (const [name, measure] of Object.entries(parts)) {
  if (values.only !== undefined && values.only !== name) continue;
  const loads = loadavg().map((load) => load.toFixed(2));
  process.stderr.write(`${name} … (load ${loads.join(", ")})\n`);
  lines.push(...(await measure()), "", `Load average at the start: ${loads.join(", ")}.`, "");
}
process.stdout.write(`${lines.join("\n")}\n`);
if (values.only === undefined && !values.quick) {
  const [cpu] = cpus();
  const machine = `${cpus().length} × ${cpu?.model ?? "unknown"}, Node ${process.version}`;
  writeGatewaySection({ lines, machine, directory: new URL("../", import.meta.url) });
}

async function latency(): Promise<string[]> {
  const { plain, once, thrice, unpinned } = await withGateway({}, async (deployment) => {
    const pinned = {
      plain: await callLatency(deployment, "plain", CALLS),
      once: await callLatency(deployment, "ask", CALLS),
      thrice: await callLatency(deployment, "ask_thrice", MORE_CALLS),
    };
    const { frontEnd, worker, upstream, redis } = deployment;
    const redisPid = Number(/process_id:(\d+)/.exec(await redis.info("server"))?.[1]);
    const everywhere = `0-${cpus().length - 1}`;
    for (const pid of [frontEnd.pid, worker.pid, upstream.pid, redisPid, process.pid]) pin(everywhere, pid);
    try {
      const plain = await callLatency(deployment, "plain", MORE_CALLS);
      return { ...pinned, unpinned: { plain, once: await callLatency(deployment, "ask", MORE_CALLS) } };
    } finally {
      pin("1", process.pid);
    }
  });
  const each = (side: Side) => (thrice[side].p50 - once[side].p50) / 2;
  const rows = [
    { what: "plain tool call", goalMs: 2, of: (side: Side) => plain[side] },
    { what: "call with an elicitation", goalMs: 5, of: (side: Side) => once[side] },
    { what: "each further elicitation of a call", goalMs: 5, of: (side: Side) => ({ p50: each(side), p99: undefined }) },
    { what: "plain tool call, unpinned", goalMs: 2, of: (side: Side) => unpinned.plain[side] },
    { what: "call with an elicitation, unpinned", goalMs: 5, of: (side: Side) => unpinned.once[side] },
  ];
  return [
    `A client of 2025-11-25 holds its call and answers at once: directly at a classic upstream, at a Parley tool that does the same, and through the gateway. Ten calls of each in turn, after ${WARM_UP} of each that are not measured: the processes run for days, and V8 optimizes their code only after thousands of calls. What a further elicitation takes is half of what a call with three takes beyond a call with one. Unpinned, every process may use every core. On a busy machine, compare the ratios.`,
    "",
    "| | | p50 (p99) | times direct, p50 | added to direct, p50 | … to Parley's own | goal | reached |",
    "|---|---|---|---|---|---|---|---|",
    ...rows.flatMap(({ what, goalMs, of }) =>
      SIDES.map(([side, name]) => {
        const { p50, p99 } = of(side);
        const addedMs = p50 - of("direct").p50;
        const isOurs = side !== "direct" && side !== "own";
        const judged = isOurs
          ? [ms(addedMs), ms(p50 - of("own").p50), `≤ ${goalMs} ms`, addedMs <= goalMs ? "yes" : "**no**"]
          : [side === "own" ? ms(addedMs) : "", "", "", ""];
        const times = side === "direct" ? "" : (p50 / of("direct").p50).toFixed(1);
        return `| ${what} | ${name} | ${ms(p50)}${p99 === undefined ? "" : ` (${ms(p99)})`} | ${times} | ${judged.join(" | ")} |`;
      }),
    ),
  ];
}

async function cost(): Promise<string[]> {
  const found = await withGateway({}, async (deployment) => [
    ["plain tool call", await callCosts(deployment, "plain", CALLS)] as const,
    ["call with an elicitation", await callCosts(deployment, "ask", CALLS)] as const,
  ]);
  return [
    `CPU time of the same calls in milliseconds, each measured alone after ${WARM_UP} others, sessions of later calls included:`,
    "",
    "| | | front end | worker | upstream | Redis | commands of Redis | HTTP requests at the upstream |",
    "|---|---|---|---|---|---|---|---|",
    ...found.flatMap(([what, costs]) =>
      SIDES.map(([side, name]) => {
        const { frontEndMs, workerMs, upstreamMs, redisMs, commands, requests } = costs[side];
        const all = [frontEndMs, workerMs, upstreamMs, redisMs].map((value) => value.toFixed(2));
        return `| ${what} | ${name} | ${all.join(" | ")} | ${Math.round(commands)} | ${requests.toFixed(1)} |`;
      }),
    ),
  ];
}

async function held(): Promise<string[]> {
  const found = await withGateway({}, (deployment) => heldCalls(deployment, some(CALLS_MAX)));
  const count = (value: number) => value.toLocaleString("en");
  return [
    `${count(found.calls)} classic elicitations held in one worker:`,
    "",
    "| | |",
    "|---|---|",
    `| live heap of the worker per call | ${kb(found.heapPerCall)} |`,
    `| resident memory of the worker per call | ${kb(found.residentPerCall)} |`,
    `| live heap before the calls, and after all have ended | ${kb(found.heapBefore)}, ${kb(found.heapAfter)} |`,
    `| entries in Redis that name the holder of a call, during the calls and afterwards | ${count(found.holderKeysHeld)}, ${found.holderKeysAfter} |`,
    `| sessions at the upstream afterwards, beyond those before | ${found.sessionsAfter} |`,
  ];
}

async function overlap(): Promise<string[]> {
  const issuer = await startIssuer({ audience: `${PUBLIC_URL}/mcp` });
  try {
    const exp = Math.floor(Date.now() / 1_000) + 3_600;
    const tokens = await Promise.all(Array.from({ length: PEOPLE }, (_, number) => issuer.token({ sub: `person-${number}`, exp })));
    const env = { PARLEY_AUTH: "required", PARLEY_AUTH_ISSUERS: issuer.url, PARLEY_PUBLIC_URL: PUBLIC_URL };
    const { answers, strays } = await withGateway(env, ({ url }) => overlappingCalls({ url, tokens, calls: 200, rounds: some(50) }));
    return [
      `200 overlapping calls of ${PEOPLE} people on one upstream, answered in random order, ${some(50)} rounds: ${answers.toLocaleString("en")} answers, of which ${strays} reached a question other than their own.`,
    ];
  } finally {
    await issuer.close();
  }
}

async function withGateway<T>(
  frontEndEnv: Readonly<Record<string, string>>,
  work: (deployment: GatewayDeployment) => Promise<T>,
): Promise<T> {
  const deployment = await startGateway(frontEndEnv);
  try {
    return await work(deployment);
  } finally {
    await deployment.close();
  }
}

function ms(value: number): string {
  return `${value.toFixed(value < 10 ? 2 : 1)} ms`;
}

function kb(bytes: number): string {
  return `${Math.round(bytes / 1_024).toLocaleString("en")} KiB`;
}
