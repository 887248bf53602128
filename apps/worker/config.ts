/** All settings of a worker, read from the environment once. */
import { rulesEnvironment } from "@parley/approvals/every-process";
import { gatewayEnvironment, gatewaySettings, openUpstreamsFile, upstreamsEnvironment } from "@parley/gateway/every-process";
import {
  coreEnvironment,
  coreProblems,
  coreSettings,
  duration,
  hostsEnvironment,
  logEnvironment,
  secretEnvironment,
  SettingsError,
  whole,
  toolModules,
  toolsEnvironment,
} from "@parley/node";
import { publicUrlSetting } from "@parley/core";
import { filesEnvironment, filesSettings } from "@parley/files";
import { oauthEnvironment, oauthProblems, oauthScopes, openOauthFile } from "@parley/identity/oauth-settings";
import { redisSettings, toRedisSettings } from "@parley/redis";
import { subscriptionsEnvironment, webhooksEnvironment } from "@parley/webhooks/every-process";
import { telemetryEnvironment, telemetrySettings } from "@parley/telemetry";
import { z } from "zod";

export const WORKER_SETTINGS = z.object({
  ...redisSettings.shape,
  ...coreEnvironment,
  ...logEnvironment,
  ...hostsEnvironment,
  ...telemetryEnvironment,
  ...secretEnvironment,
  ...filesEnvironment,
  ...oauthEnvironment,
  ...upstreamsEnvironment,
  ...gatewayEnvironment,
  ...rulesEnvironment,
  ...webhooksEnvironment,
  ...subscriptionsEnvironment,
  ...toolsEnvironment,
  PARLEY_CONCURRENCY: whole(50, { max: 10_000 }).describe("Maximum number of runs at once in one worker process."),
  PARLEY_PUBLIC_URL: z
    .string()
    .transform(publicUrlSetting)
    .optional()
    .describe(
      "Address at which clients and other systems reach the server, without /mcp: https://parley.example.com. Unset: the Host header of each request is used, and tools cannot wait for events.",
    ),
  PARLEY_WORKER_PARTITIONS: whole(64, { min: 0, max: 1_024 }).describe(
    "Approximate number of partitions that one worker takes runs from; more if a partition would otherwise have fewer than two workers. 0: all.",
  ),
  PARLEY_DRAIN_TIMEOUT: duration("20s").describe(
    "How long active runs may take to finish after SIGTERM; other workers take over the rest.",
  ),
  PARLEY_MODULE_TIMEOUT: duration("30s").describe("How long a module that tools share may take to start, or to stop, in a worker."),
  PARLEY_RUN_REPORT: duration("1m").describe(
    "How long a run of a tool may be active before its worker logs it, again whenever that time has doubled; 0: never.",
  ),
  PARLEY_BLOCKED_REPORT: duration("2s").describe("How long a tool may block its worker's event loop before the worker logs it."),
  PARLEY_BLOCKED_KILL: duration("30s").describe(
    "How long a tool may block the event loop before its worker process is killed (SIGKILL), so that other workers take over its runs; 0: never.",
  ),
});

/** Throws SettingsError for contradictory settings, UpstreamsError and OauthFileError for invalid files. */
export function workerConfig(environment: z.output<typeof WORKER_SETTINGS>) {
  const problems = [
    ...coreProblems(environment),
    ...oauthProblems(environment),
    ...questionProblems(environment),
    ...webhookProblems(environment),
  ];
  if (problems.length > 0) throw new SettingsError(problems);
  const oauth = openOauthFile(environment, process.env);
  return {
    redis: toRedisSettings(environment),
    core: { ...coreSettings(environment), oauthScopes: oauthScopes(oauth) },
    oauth,
    logLevel: environment.PARLEY_LOG_LEVEL,
    allowedHosts: environment.PARLEY_ALLOWED_HOSTS,
    telemetry: telemetrySettings(environment),
    tools: toolModules(environment.PARLEY_TOOLS, environment),
    secrets: environment.PARLEY_SECRET,
    publicUrl: environment.PARLEY_PUBLIC_URL,
    files: filesSettings(environment),
    concurrency: environment.PARLEY_CONCURRENCY,
    partitionShare: environment.PARLEY_WORKER_PARTITIONS,
    moduleTimeoutMs: environment.PARLEY_MODULE_TIMEOUT,
    drainTimeoutMs: environment.PARLEY_DRAIN_TIMEOUT,
    runReportMs: environment.PARLEY_RUN_REPORT,
    blockedReportMs: environment.PARLEY_BLOCKED_REPORT,
    blockedKillMs: environment.PARLEY_BLOCKED_KILL,
    subscriptionsPrivate: environment.PARLEY_SUBSCRIPTIONS_PRIVATE,
    webhooks: environment.PARLEY_WEBHOOKS === undefined ? undefined : { file: environment.PARLEY_WEBHOOKS, variables: process.env },
    rules: {
      file: environment.PARLEY_RULES,
      askTimeoutMaxMs: environment.PARLEY_ASK_TIMEOUT_MAX,
      secretNames: environment.PARLEY_SECRET_NAMES,
      usesProposedNames: environment.PARLEY_TOOL_APPROVAL,
    },
    upstreamsFile: environment.PARLEY_UPSTREAMS,
    upstreams:
      environment.PARLEY_UPSTREAMS === undefined
        ? undefined
        : openUpstreamsFile(environment.PARLEY_UPSTREAMS, {
            environment: process.env,
            providers: oauthScopes(oauth),
            askTimeoutMaxMs: environment.PARLEY_ASK_TIMEOUT_MAX,
          }),
    gateway: gatewaySettings(environment),
  } as const;
}

/** Each question that may wait longer than the deployment allows would be refused when it is asked. */
function questionProblems(environment: z.output<typeof WORKER_SETTINGS>): string[] {
  return (["PARLEY_ELICITATION_TIMEOUT", "PARLEY_ELICITATION_BLOCKING_TIMEOUT"] as const)
    .filter((name) => environment[name] > environment.PARLEY_ASK_TIMEOUT_MAX)
    .map((name) => `${name} must not be longer than PARLEY_ASK_TIMEOUT_MAX, the longest time that a question may wait`);
}

export type WorkerConfig = ReturnType<typeof workerConfig>;

function webhookProblems({ PARLEY_WEBHOOKS: file, PARLEY_OUTBOX: outbox }: z.output<typeof WORKER_SETTINGS>): string[] {
  return file !== undefined && !outbox
    ? ["PARLEY_WEBHOOKS: there is nothing to post unless PARLEY_OUTBOX is true, on front ends and workers"]
    : [];
}
