/** The checks of `parley doctor`. Each reports a finding and how to fix it. None changes anything. */
import { createServer } from "node:net";
import type { Catalogue } from "@parley/core";
import { openRulesFile, RulesError } from "@parley/approvals";
import { UpstreamsError } from "@parley/gateway/every-process";
import { OauthFileError } from "@parley/identity";
import { readEnvironment, SettingsError, toolModules, withFiles } from "@parley/node";
import { inspectRedis, type RedisFacts, withoutPassword } from "@parley/redis";
import { loadCatalogue } from "@parley/sdk";
import { SERVER_SETTINGS, serverConfig } from "@parley/server";
import { readWebhooks, WebhooksError } from "@parley/webhooks";
import { WORKER_SETTINGS } from "@parley/worker";
import { contentFindings } from "./check-content.ts";
import { placeFindings } from "./check-place.ts";
import { upstreamFindings } from "./check-upstreams.ts";
import { type HasTool, versionFindings } from "./check-versions.ts";
import { namesThatFitNothing } from "../deployment/names-in-rules.ts";
import { misspelt } from "../deployment/misspelt-settings.ts";
import { ofUpstreams } from "../deployment/is-from-upstream.ts";
import { counted } from "../terminal/counted.ts";

export interface Finding {
  /** A `problem` keeps Parley from serving; `advice` does not. */
  readonly level: "fine" | "advice" | "problem";
  readonly about: string;
  readonly says: string;
  /** How to fix it. */
  readonly cure?: string;
}

const NODE_MIN = [22, 22] as const;
const SETTINGS = Object.keys({ ...SERVER_SETTINGS.shape, ...WORKER_SETTINGS.shape });

export async function checkUp(given: NodeJS.ProcessEnv): Promise<Finding[]> {
  const environment = readable(given);
  const unread = environment["REDIS_URL_FILE"];
  // Without REDIS_URL, `parley start` runs its own Redis: the other settings are still worth checking.
  const settings = unread ? environment : { ...environment, REDIS_URL: environment["REDIS_URL"] || "redis://127.0.0.1" };
  const found = configuration(settings);
  const areSettingsFine = !unread && found.every(({ level }) => level !== "problem");
  found.push(...(unread ? [] : await redis(environment)));
  const isServing = Boolean(environment["REDIS_URL"]) && found.every(({ level }) => level !== "problem");
  const loaded = await tools(settings);
  return [
    nodeVersion(process.versions.node),
    ...found,
    ...misspeltSettings(given),
    ...(await placeFindings(environment)),
    // Connecting to an unreachable Redis would wait for it. A key management service can be checked without Redis.
    ...(areSettingsFine ? await contentFindings(settings, { isRedisServing: isServing }) : []),
    ...(isServing && loaded.catalogue ? await versionFindings(environment, hasTool(loaded.catalogue, environment)) : []),
    ...(areSettingsFine ? await upstreamFindings(environment["PARLEY_UPSTREAMS"], environment) : []),
    ...(areSettingsFine && loaded.catalogue ? await rules(environment) : []),
    await port(settings),
    loaded.finding,
  ];
}

export function nodeVersion(version: string): Finding {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const about = "Node.js";
  if (major > NODE_MIN[0] || (major === NODE_MIN[0] && minor >= NODE_MIN[1])) return { level: "fine", about, says: version };
  return {
    level: "problem",
    about,
    says: `${version} is too old`,
    cure: `Run through npm (\`npm run parley -- …\`), which brings its own, or install Node.js ${NODE_MIN.join(".")} or newer.`,
  };
}

/** The settings with values read from `…_FILE` files. If a file cannot be read, the settings as given: the check of the settings reports it. */
function readable(given: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  try {
    return withFiles(SETTINGS, given);
  } catch (error) {
    if (error instanceof SettingsError) return given;
    throw error;
  }
}

function configuration(environment: NodeJS.ProcessEnv): Finding[] {
  const problems = new Set<string>();
  for (const read of [
    () => serverConfig(readEnvironment(SERVER_SETTINGS, environment)),
    () => readEnvironment(WORKER_SETTINGS, environment),
    () => environment["PARLEY_RULES"] && openRulesFile(environment["PARLEY_RULES"]),
    () => environment["PARLEY_WEBHOOKS"] && readWebhooks(environment["PARLEY_WEBHOOKS"], environment),
  ]) {
    try {
      read();
    } catch (error) {
      for (const problem of problemsIn(error, environment)) problems.add(problem);
    }
  }
  if (problems.size === 0) return [{ level: "fine", about: "settings", says: "all valid" }];
  return [...problems].map(problemWithSetting);
}

/** The problems of settings, and of the files that they name. Throws any other error. */
function problemsIn(
  error: unknown,
  { PARLEY_UPSTREAMS: upstreams, PARLEY_OAUTH: oauth, PARLEY_RULES: rules, PARLEY_WEBHOOKS: webhooks }: NodeJS.ProcessEnv,
): readonly string[] {
  if (error instanceof SettingsError) return error.problems;
  if (error instanceof RulesError) return error.problems.map((problem) => `PARLEY_RULES: ${rules}: ${problem}`);
  if (error instanceof WebhooksError) return error.problems.map((problem) => `PARLEY_WEBHOOKS: ${webhooks}: ${problem}`);
  if (error instanceof UpstreamsError) return error.problems.map((problem) => `PARLEY_UPSTREAMS: ${upstreams}: ${problem}`);
  if (error instanceof OauthFileError) return error.problems.map((problem) => `PARLEY_OAUTH: ${oauth}: ${problem}`);
  throw error;
}

function problemWithSetting(problem: string): Finding {
  const page = problem.startsWith("PARLEY_UPSTREAMS: ") ? "docs/gateway.md describes the file." : ".env.example describes every setting.";
  return { level: "problem", about: "settings", says: problem, cure: page };
}

function misspeltSettings(environment: NodeJS.ProcessEnv): Finding[] {
  return misspelt(Object.keys(environment), SETTINGS).map(({ name, meant }) => ({
    level: "advice",
    about: "settings",
    says: `${name} is not a setting, and is ignored`,
    cure: `If you mean ${meant}, rename it.`,
  }));
}

async function rules(environment: NodeJS.ProcessEnv): Promise<Finding[]> {
  const { PARLEY_RULES: file } = environment;
  if (!file) return [];
  const about = "rules";
  const found = await namesThatFitNothing(openRulesFile(file).current(), environment);
  const cure = "Correct the name in PARLEY_RULES, or ignore this until the tool is there.";
  return found.length === 0 ? [{ level: "fine", about, says: file }] : found.map((says) => ({ level: "advice", about, says, cure }));
}

async function redis(environment: NodeJS.ProcessEnv): Promise<Finding[]> {
  const about = "Redis";
  const { REDIS_URL: url, PARLEY_PREFIX: prefix, PARLEY_REDIS_REPLICAS: replicas, PARLEY_ALLOW_EVICTION: allowed } = environment;
  if (!url) {
    return [
      {
        level: "advice",
        about,
        says: "REDIS_URL is not set",
        cure: "`parley start` starts its own Redis; `parley server` and `parley worker` need REDIS_URL.",
      },
    ];
  }
  try {
    // An invalid value is a finding of the settings.
    const allowEviction = SERVER_SETTINGS.shape.PARLEY_ALLOW_EVICTION.safeParse(allowed || undefined).data ?? false;
    return redisFindings(await inspectRedis(url, prefix || "parley"), { replicas: Number(replicas || 0), allowEviction });
  } catch (error) {
    const says = `${withoutPassword(url)} cannot be used: ${error instanceof Error ? error.message : String(error)}`;
    return [{ level: "problem", about, says, cure: "Start it, or correct REDIS_URL (redis://user:password@host:port)." }];
  }
}

interface UsedAs {
  /** How many must have a write before it is acknowledged. */
  readonly replicas?: number;
  readonly allowEviction?: boolean;
}

export function redisFindings(facts: RedisFacts, { replicas = 0, allowEviction = false }: UsedAs = {}): Finding[] {
  const { version, recent, readOnly, maxmemoryPolicy, appendOnly, appendFsync, missingRights, usedMemoryBytes, maxmemoryBytes } = facts;
  const about = "Redis";
  const findings: Finding[] = [
    recent
      ? { level: "fine", about, says: version }
      : { level: "problem", about, says: `${version} is too old`, cure: "Install Redis 6.2 or newer, or Valkey." },
  ];
  if (readOnly) {
    findings.push({
      level: "problem",
      about,
      says: "it is a replica and refuses writes",
      cure: "Name its master in REDIS_URL; with Sentinel, the sentinels: redis-sentinel://host,host/name.",
    });
  }
  if (facts.mode === "no cluster") {
    findings.push({
      level: "problem",
      about,
      says: "it is not a Cluster, and REDIS_URL names one",
      cure: "Use redis:// (rediss:// over TLS); with Sentinel, redis-sentinel://host,host/name.",
    });
  }
  if (facts.mode === "node") {
    findings.push({
      level: "advice",
      about,
      says: "it is a node of a Cluster, of which REDIS_URL names this node alone",
      cure: "Use redis-cluster://, unless this node has all slots.",
    });
  }
  if (replicas > 0 && facts.isCluster) {
    findings.push({
      level: "problem",
      about,
      says: "PARLEY_REDIS_REPLICAS is not for a Cluster",
      cure: "Remove it, or use Sentinel: docs/redis.md#failover.",
    });
  } else if (replicas > facts.replicas) {
    findings.push({
      level: "problem",
      about,
      says: `PARLEY_REDIS_REPLICAS is ${replicas}, and ${counted(facts.replicas, "replica is", "replicas are")} connected: no call or answer would be acknowledged`,
      cure: "Connect as many replicas, or lower the setting.",
    });
  }
  if (missingRights.length > 0) {
    const rights = missingRights.join(" ");
    findings.push({
      level: "problem",
      about,
      says: `its user lacks rights: ${rights}`,
      cure: `redis-cli ACL SETUSER <user> ${rights}; docs/redis.md lists all of them.`,
    });
  }
  if (maxmemoryPolicy !== "noeviction") {
    findings.push({
      level: allowEviction ? "advice" : "problem",
      about,
      says: `maxmemory-policy ${maxmemoryPolicy} may drop tasks that wait for an answer`,
      cure: "redis-cli CONFIG SET maxmemory-policy noeviction, and the same in redis.conf; or PARLEY_ALLOW_EVICTION=true to take the risk.",
    });
  }
  if (!appendOnly) {
    findings.push({
      level: "advice",
      about,
      says: "no append-only file: what was written since the last snapshot is lost when Redis dies",
      cure: "redis-cli CONFIG SET appendonly yes, and the same in redis.conf.",
    });
  } else if (appendFsync === "no") {
    findings.push({
      level: "advice",
      about,
      says: "appendfsync no: a crash of the machine may lose up to half a minute",
      cure: "redis-cli CONFIG SET appendfsync everysec (at most about a second is lost), or always.",
    });
  }
  if (maxmemoryBytes === 0) {
    findings.push({
      level: "advice",
      about,
      says: "no maxmemory: nothing warns, and no new call is refused, before it has used up the memory of its machine",
      cure: "redis-cli CONFIG SET maxmemory, to at most half of what the machine has, and the same in redis.conf; docs/scaling.md has what tasks take.",
    });
  } else if (usedMemoryBytes > maxmemoryBytes * 0.8) {
    findings.push({
      level: "advice",
      about,
      says: `${Math.round((usedMemoryBytes / maxmemoryBytes) * 100)} % of maxmemory is used; from 95 % on new calls are refused`,
      cure: "Raise maxmemory, or have less kept (PARLEY_RETENTION): docs/operations.md#parleyredisalmostfull.",
    });
  }
  return findings;
}

async function port(environment: NodeJS.ProcessEnv): Promise<Finding> {
  const host = environment["PARLEY_HOST"] || "127.0.0.1";
  const number = Number(environment["PARLEY_PORT"] || environment["PORT"] || 3000);
  const about = "port";
  const server = createServer();
  try {
    await new Promise<void>((done, fail) => {
      server.once("error", fail);
      server.listen(number, host, done);
    });
    await new Promise<void>((done) => server.close(() => done()));
    return { level: "fine", about, says: `${host}:${number} is free` };
  } catch (error) {
    const says = `${host}:${number} is not available to listen on: ${error instanceof Error ? error.message : String(error)}`;
    // The usual reason is a Parley that is already running, which is not a problem.
    return {
      level: "advice",
      about,
      says,
      cure: "Unless this is your own Parley server, stop the process that uses the port, or set PARLEY_PORT to another one.",
    };
  }
}

function hasTool({ tools, prompts }: Catalogue, environment: NodeJS.ProcessEnv): HasTool {
  const isUpstreams = ofUpstreams(environment["PARLEY_UPSTREAMS"]);
  return ({ kind, name }) => (kind === "tool" ? tools : prompts).has(name) || isUpstreams(name);
}

async function tools(environment: NodeJS.ProcessEnv): Promise<{ readonly finding: Finding; readonly catalogue?: Catalogue }> {
  const about = "tools";
  const modules = toolModules(environment["PARLEY_TOOLS"], environment);
  try {
    const catalogue = await loadCatalogue(modules);
    const { tools: all, prompts, resources } = catalogue;
    const says = [counted(all.size, "tool"), counted(prompts.size, "prompt"), counted(resources.size, "resource")].join(", ");
    return { finding: { level: "fine", about, says }, catalogue };
  } catch (error) {
    const says = error instanceof Error ? error.message : String(error);
    const cure = 'PARLEY_TOOLS, or "parley": { "tools": … } in package.json, names modules: paths from here, or packages.';
    return { finding: { level: "problem", about, says, cure } };
  }
}
