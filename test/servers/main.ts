/**
 * npm run test:servers -- [--only NAME,…] [--report FILE]
 *
 * Servers of others, unmodified, each seen by a client directly and through the gateway with two front ends and two workers: every list, every
 * resource and some calls, compared field by field. What may differ is in compare.ts. A server that cannot be installed or started
 * here is told of and skipped.
 */
import { mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ListRootsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { startDeployment } from "../support/deployment.ts";
import { startOwnRedis } from "../support/shared-redis.ts";
import { until } from "../support/until.ts";
import { writeUpstreams } from "../support/upstream.ts";
import { differences, look, type Seen } from "./compare.ts";
import { install, type Server, SERVERS } from "./servers.ts";

const { values } = parseArgs({ options: { only: { type: "string" }, report: { type: "string" } } });
const only = values.only?.split(",");
const chosen = SERVERS.filter(({ name }) => only === undefined || only.includes(name));
if (chosen.length === 0) throw new Error(`--only takes ${SERVERS.map(({ name }) => name).join(", ")}`);

const DIRECT_MS = 60_000;

interface Started {
  readonly command: string;
  readonly args: string[];
  readonly env: Record<string, string>;
  readonly calls: NonNullable<ReturnType<NonNullable<Server["calls"]>>>;
}

interface Row {
  readonly name: string;
  readonly seen: number;
  readonly different: readonly string[];
  readonly skipped?: string;
}

const redis = await startOwnRedis();
const place = await mkdtemp(join(tmpdir(), "parley-servers-run-"));
const rows: Row[] = [];
try {
  const able: { readonly server: Server; readonly program: string; readonly direct: Seen }[] = [];
  const programs = await Promise.all(
    chosen.map(async (server) => await installedWhereItCanRun(server).catch((error: unknown) => ({ skipped: lineOf(error) }))),
  );
  for (const [index, server] of chosen.entries()) {
    const program = programs[index] ?? { skipped: "" };
    try {
      if (typeof program !== "string") throw new Error(program.skipped);
      able.push({ server, program, direct: await seenDirectly(server, program) });
    } catch (error) {
      rows.push({
        name: server.name,
        seen: 0,
        different: [],
        skipped: lineOf(error),
      });
    }
  }
  rows.push(...(await seenThrough(able)));
} finally {
  await redis.close();
  await rm(place, { recursive: true, force: true });
}

for (const { name, seen, different, skipped } of rows) {
  console.log(skipped === undefined ? `${name}: ${seen} compared, ${different.length} different` : `${name}: skipped, ${skipped}`);
  for (const each of different) console.log(`  ${each}`);
}
if (values.report) {
  const failed = rows.filter(({ different }) => different.length > 0).length;
  const passed = rows.filter(({ skipped, different }) => skipped === undefined && different.length === 0).length;
  await writeFile(values.report, JSON.stringify({ numPassedTests: passed, numFailedTests: failed }));
}
process.exit(rows.some(({ different }) => different.length > 0) ? 1 : 0);

function lineOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split("\n", 1)[0] ?? "";
}

async function installedWhereItCanRun(server: Server): Promise<string> {
  if (server.needs && !(await stat(server.needs).catch(() => undefined))) throw new Error(`${server.needs} is missing`);
  return await install(server);
}

/** The same directory each time, so that paths in results are equal; what it has is made anew. */
async function start({ name, args, env, calls, prepare }: Server, program: string): Promise<Started> {
  const directory = join(place, name);
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  await prepare?.(directory);
  return {
    command: program,
    args: [...(args?.(directory) ?? [])],
    env: { PATH: `${join(process.execPath, "..")}:${process.env["PATH"] ?? ""}`, HOME: directory, ...env?.(directory) },
    calls: calls?.(directory) ?? [],
  };
}

function newClient(): Client {
  const client = new Client(
    { name: "servers", version: "1" },
    { capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} } },
  );
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: pathToFileURL(place).href }] }));
  return client;
}

async function seenDirectly(server: Server, program: string): Promise<Seen> {
  const { command, args, env, calls } = await start(server, program);
  const client = newClient();
  await client.connect(new StdioClientTransport({ command, args, env, stderr: "ignore" }), { timeout: DIRECT_MS });
  try {
    return await look({ client, calls });
  } finally {
    await client.close();
  }
}

async function seenThrough(able: readonly { readonly server: Server; readonly program: string; readonly direct: Seen }[]): Promise<Row[]> {
  const started = await Promise.all(able.map(async ({ server, program }) => await start(server, program)));
  const upstreams = able.map(({ server: { name, settings } }, index) => {
    const { command, args, env } = started[index] as Started;
    return { name, command, args, env, prefix: `${name}.`, ...settings };
  });
  const deployment = await startDeployment({
    redisUrl: redis.url,
    tools: [join(import.meta.dirname, "../e2e/tools/greet.ts")],
    env: { PARLEY_UPSTREAMS: await writeUpstreams(place, upstreams) },
  });
  const client = newClient();
  const found: Row[] = [];
  try {
    await client.connect(new StreamableHTTPClientTransport(new URL(deployment.url)));
    for (const [index, { server, direct }] of able.entries()) {
      await until(async () => (await client.listTools()).tools.some(({ name }) => name.startsWith(`${server.name}.`)));
      const through = await look({ client, upstream: server.name, calls: started[index]?.calls ?? [] });
      found.push({ name: server.name, seen: direct.size, different: differences(direct, through, server.name) });
    }
  } finally {
    await client.close();
    await deployment.close();
  }
  return found;
}
