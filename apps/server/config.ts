/**
 * The settings of the front end, read from the environment once. .env.example repeats their descriptions.
 *
 * Durations carry a unit (`30s`, `2d`); the parsed config holds milliseconds.
 */
import { type OpenGate, rulesEnvironment } from "@parley/approvals/every-process";
import {
  coreEnvironment,
  coreProblems,
  coreSettings,
  duration,
  hostsEnvironment,
  list,
  LOCAL_HOSTS,
  originProblem,
  logEnvironment,
  secretEnvironment,
  SettingsError,
  whole,
  toolModules,
  toolsEnvironment,
} from "@parley/node";
import { openUpstreamsFile, type UpstreamsFile, upstreamsEnvironment } from "@parley/gateway/every-process";
import { subscriptionsEnvironment } from "@parley/webhooks/every-process";
import { filesEnvironment, type FilesSettings, filesSettings, uploadEnvironment } from "@parley/files";
import {
  identityEnvironment,
  identityProblems,
  identitySettings,
  type IdentitySettings,
  isLoopback,
  oauthEnvironment,
  oauthProblems,
  type OauthProviderSettings,
  oauthScopes,
  openOauthFile,
  resourceUrl,
} from "@parley/identity";
import { type RateLimits, type RedisSettings, redisSettings, toRedisSettings } from "@parley/redis";
import type { Settings } from "@parley/core";
import { telemetryEnvironment, type TelemetrySettings, telemetrySettings } from "@parley/telemetry";
import { z } from "zod";
import { type Rung, RUNGS } from "@parley/protocol";
import type { LadderSettings } from "./front-end/ladder.ts";
import type { Limits, Times } from "./front-end/limits.ts";

const LOCAL_ORIGINS = LOCAL_HOSTS.flatMap((host) => [`http://${host}`, `https://${host}`]);

export const SERVER_SETTINGS = z.object({
  ...redisSettings.shape,
  ...coreEnvironment,
  ...logEnvironment,
  ...hostsEnvironment,
  ...telemetryEnvironment,
  ...identityEnvironment,
  ...secretEnvironment,
  ...filesEnvironment,
  ...uploadEnvironment,
  ...oauthEnvironment,
  ...upstreamsEnvironment,
  ...rulesEnvironment,
  ...subscriptionsEnvironment,

  PARLEY_HOST: z
    .string()
    .min(1)
    .default("127.0.0.1")
    .describe("Address to listen on. In a container, use 0.0.0.0 and set PARLEY_ALLOWED_HOSTS."),
  PARLEY_PORT: z.coerce
    .number()
    .int()
    .min(0)
    .max(65_535)
    .optional()
    .describe("Port to listen on; 0 picks a free one. Unset: PORT, or else 3000."),
  PORT: z.coerce
    .number()
    .int()
    .min(1)
    .max(65_535)
    .optional()
    .describe("The same, under the name that Cloud Run, Heroku, Render and other platforms use."),
  ...toolsEnvironment,
  PARLEY_ALLOWED_ORIGINS: list(LOCAL_ORIGINS, originProblem).describe(
    "Origins of web pages that may call: scheme://host for any port, or scheme://host:port; * for all.",
  ),
  PARLEY_PLAYGROUND: z
    .enum(["auto", "on", "off"])
    .default("auto")
    .describe("Whether to serve the playground at /play, where people call tools: auto serves it if PARLEY_HOST is a loopback address."),

  PARLEY_CALL_TIMEOUT: duration("10m").describe("How long a call from a client without tasks may run between two answers."),
  PARLEY_ASK_FIRST_TIMEOUT: duration("5s").describe(
    "How long a tool with askFirst may take to ask its first question before its client gets a task instead.",
  ),
  PARLEY_STREAM_AFTER: duration("10s").describe(
    "How long a call may run before its response becomes a stream, which keeps proxies from closing it.",
  ),
  PARLEY_KEEP_ALIVE: duration("15s", { min: "1s" }).describe(
    "How often a comment is sent on an idle stream, so that proxies keep it open.",
  ),
  PARLEY_STALL_TIMEOUT: duration("1m").describe("How long a client may read nothing before its stream or response is dropped."),
  PARLEY_HEADERS_TIMEOUT: duration("30s").describe("How long a new connection, or a new request, may take to send its headers."),
  PARLEY_REQUEST_TIMEOUT: duration("1m").describe("How long a client may take to send a whole request. The response may take any time."),
  PARLEY_IDLE_TIMEOUT: duration("75s").describe(
    "How long an idle connection is kept between requests. Set it longer than the load balancer's idle timeout.",
  ),
  PARLEY_POLL_INTERVAL: duration("1s").describe(
    "pollIntervalMs: how long clients are told to wait before they poll a task again. It grows to a tenth of the time since the task last changed.",
  ),
  PARLEY_POLL_INTERVAL_MAX: duration("5m").describe("Longest poll interval; PARLEY_POLL_INTERVAL or less keeps the interval constant."),
  PARLEY_LIST_TTL: duration("1m").describe("ttlMs of lists and server/discover: how long clients may cache them."),
  PARLEY_PAGE_SIZE: whole(1_000).describe("Entries per page of a list."),

  PARLEY_SESSION_TTL: duration("1h").describe("How long a session of a 2025 client lives after its last use."),
  PARLEY_RESUMABLE_AFTER: duration("100ms").describe(
    "How long a call in a session of 2025-11-25 may run before its response becomes a stream, which the client can resume on any front end.",
  ),
  PARLEY_RETRY: duration("1s").describe("How long clients are told to wait before they resume a stream that ended."),
  PARLEY_TASK_GRACE: duration("100ms").describe(
    "How long the response to a task-augmented call in a session, or to an answer, waits for the task to finish or to ask.",
  ),

  PARLEY_RUNGS: list(RUNGS, rungProblem).describe(
    "How the questions of a call may reach a client, the best first: task, input_required, held, apps, text. A client that could use only what is left out gets an error where a tool asks.",
  ),
  PARLEY_TASK_TOOL: toolName("parley_task").describe(
    "Name of the tool with which a model waits for a call that it got as text; off serves none. Only clients that know nothing but tools see it.",
  ),
  PARLEY_ASKS_TOOL: toolName("parley_asks").describe(
    "Name of the tool with which such a model lists what is open for its user, and passes on what the user said; off serves none.",
  ),

  PARLEY_BODY_BYTES_MAX: whole(1_048_576).describe("Largest request body, in bytes."),
  PARLEY_BODY_DEPTH_MAX: whole(64, { max: 1_000 }).describe("How deeply arrays and objects of a request body may nest."),
  PARLEY_BODY_VALUES_MAX: whole(25_000).describe(
    "Total number of items and members that the arrays and objects of a request body may have.",
  ),
  PARLEY_CONNECTIONS_MAX: whole(20_000).describe("Maximum number of connections that one front end keeps open at once, streams included."),
  PARLEY_UNREAD_BYTES_MAX: whole(67_108_864).describe(
    "Maximum size of what clients have not read yet, over all connections of one front end, in bytes.",
  ),
  PARLEY_WAITS_MAX: whole(5_000).describe("Maximum number of calls from clients without tasks that one front end holds open at once."),
  PARLEY_LISTENS_MAX: whole(10_000).describe("Maximum number of listen streams that one front end holds open at once."),
  PARLEY_SESSION_TASKS_MAX: whole(1_000).describe(
    "Maximum number of unfinished tasks that one session is notified of on its standalone stream.",
  ),
  PARLEY_SESSION_SUBSCRIPTIONS_MAX: whole(1_000).describe("Maximum number of resources that one session may subscribe to."),
  PARLEY_SESSION_WAITS_MAX: whole(100).describe("Maximum number of calls that one session may have waiting at once."),
  PARLEY_BATCH_MAX: whole(100).describe("Maximum number of messages in one batch (2025-03-26)."),
  PARLEY_BATCH_WAITS_MAX: whole(50).describe("Maximum number of calls in one batch that may wait at once (2025-03-26)."),
  PARLEY_LISTEN_TASKS_MAX: whole(1_000).describe("Maximum number of tasks that one listen stream may follow."),
  PARLEY_LISTEN_RESOURCES_MAX: whole(1_000).describe("Maximum number of resources that one listen stream may follow."),

  PARLEY_QUOTA_CALLS: whole(50).describe("Calls, resource reads and completions that one identified caller may make per second."),
  PARLEY_QUOTA_READS: whole(500).describe("Reads of tasks and lists that one identified caller may make per second."),
  PARLEY_QUOTA_ANSWERS: whole(50).describe("Answers, right or wrong, that one identified caller may give per second."),
  PARLEY_QUOTA_SESSIONS: whole(5).describe("Sessions that one identified caller may open per second."),
  PARLEY_QUOTA_WAITS: whole(1_000).describe("Calls that one identified caller may hold open at once on one front end."),
  PARLEY_QUOTA_SUBSCRIPTIONS: whole(100).describe("Subscriptions to events by webhook that one identified caller may have."),
  PARLEY_SUBSCRIPTIONS_MAX: whole(1_000, { min: 0, max: 10_000 }).describe(
    "Subscriptions to events by webhook that the deployment takes from identified clients; 0: none.",
  ),
  PARLEY_QUOTA_STREAMS: whole(1_000).describe("Streams that one identified caller may have open at once on one front end."),
  PARLEY_TENANT_WEIGHTS: weights().describe(
    "How many new tasks of a tenant start for each one of another tenant, such as acme=4,trial=1. Tenants that are not listed have 1.",
  ),

  PARLEY_SHUTDOWN_DELAY: duration("0s").describe(
    "After SIGTERM: how long to keep serving with /readyz at 503, so that the load balancer notices.",
  ),
  PARLEY_SHUTDOWN_TIMEOUT: duration("10s").describe("After that delay: how long calls in flight may take to finish."),
});

function rungProblem(item: string): string | undefined {
  return (RUNGS as readonly string[]).includes(item) ? undefined : `must be one of ${RUNGS.join(", ")}, not ${item.slice(0, 80)}`;
}

/** A name that every client takes, or `off`. */
function toolName(fallback: string) {
  return z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, "must be a tool name of at most 64 letters, digits, - and _, or off")
    .default(fallback);
}

/** `acme=4,trial=1` → share → weight. */
function weights() {
  return list().transform((items, context) => {
    const byShare = new Map<string, number>();
    for (const item of items) {
      const [, tenant, weight] = /^([A-Za-z0-9][\w.-]{0,63})=(\d{1,4})$/.exec(item) ?? [];
      if (tenant === undefined || Number(weight) < 1)
        context.addIssue({ code: "custom", message: `must be tenant=weight with a weight from 1 to 9999, not ${item.slice(0, 80)}` });
      else byShare.set(`tenant:${tenant}`, Number(weight));
    }
    return byShare;
  });
}

export type ServerEnvironment = z.output<typeof SERVER_SETTINGS>;

export interface ServerConfig {
  readonly redis: RedisSettings;
  readonly core: Settings;
  readonly host: string;
  readonly port: number;
  readonly tools: readonly string[];
  readonly rules: Omit<OpenGate, "log">;
  readonly subscriptionsPrivate: boolean;
  readonly upstreams: UpstreamsFile | undefined;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  readonly secrets: readonly string[];
  readonly logLevel: string;
  /** Undefined if callers need no credentials. */
  readonly identity: IdentitySettings | undefined;
  /** The providers at which tools may act in a person's name. */
  readonly oauth: readonly OauthProviderSettings[];
  /** Options of `fileStore`. */
  readonly files: FilesSettings;
  /** The address at which people and clients reach the server. Undefined if it is the address on which the server listens. */
  readonly publicUrl: string | undefined;
  /** URL of the MCP endpoint. If undefined, it is derived from the request's Host header. */
  readonly resourceUrl: string | undefined;
  /** Whether the page at /play is served. */
  readonly playground: boolean;
  readonly telemetry: TelemetrySettings;
  readonly limits: Limits;
  readonly times: Times;
  readonly ladder: LadderSettings;
  readonly pageSize: number;
  readonly rates: RateLimits;
}

/** Throws SettingsError for contradictory settings, UpstreamsError and OauthFileError for invalid files. */
export function serverConfig(environment: ServerEnvironment): ServerConfig {
  const problems = [
    ...coreProblems(environment),
    ...portProblems(environment),
    ...identityProblems(environment, environment.PARLEY_HOST),
    ...oauthProblems(environment),
    ...(environment.PARLEY_TASK_TOOL === environment.PARLEY_ASKS_TOOL && environment.PARLEY_TASK_TOOL !== "off"
      ? ["PARLEY_ASKS_TOOL: must differ from PARLEY_TASK_TOOL"]
      : []),
  ];
  if (problems.length > 0) throw new SettingsError(problems);
  const oauth = openOauthFile(environment, process.env);
  return deepFrozen({
    redis: { ...toRedisSettings(environment), weights: environment.PARLEY_TENANT_WEIGHTS },
    core: { ...coreSettings(environment), oauthScopes: oauthScopes(oauth) },
    oauth,
    host: environment.PARLEY_HOST,
    port: portOf(environment),
    tools: toolModules(environment.PARLEY_TOOLS, environment),
    subscriptionsPrivate: environment.PARLEY_SUBSCRIPTIONS_PRIVATE,
    rules: {
      file: environment.PARLEY_RULES,
      askTimeoutMaxMs: environment.PARLEY_ASK_TIMEOUT_MAX,
      usesProposedNames: environment.PARLEY_TOOL_APPROVAL,
    },
    upstreams:
      environment.PARLEY_UPSTREAMS === undefined
        ? undefined
        : openUpstreamsFile(environment.PARLEY_UPSTREAMS, { providers: oauthScopes(oauth) }),
    allowedHosts: environment.PARLEY_ALLOWED_HOSTS,
    allowedOrigins: environment.PARLEY_ALLOWED_ORIGINS,
    secrets: environment.PARLEY_SECRET,
    logLevel: environment.PARLEY_LOG_LEVEL,
    identity: identitySettings(environment),
    files: filesSettings(environment),
    publicUrl: environment.PARLEY_PUBLIC_URL,
    resourceUrl: resourceUrl(environment),
    playground: environment.PARLEY_PLAYGROUND === "on" || (environment.PARLEY_PLAYGROUND === "auto" && isLoopback(environment.PARLEY_HOST)),
    telemetry: telemetrySettings(environment),
    pageSize: environment.PARLEY_PAGE_SIZE,
    ladder: {
      rungs: new Set(environment.PARLEY_RUNGS as Rung[]),
      taskTool: nameOrOff(environment.PARLEY_TASK_TOOL),
      asksTool: nameOrOff(environment.PARLEY_ASKS_TOOL),
    },
    rates: {
      perSecond: {
        calls: environment.PARLEY_QUOTA_CALLS,
        reads: environment.PARLEY_QUOTA_READS,
        answers: environment.PARLEY_QUOTA_ANSWERS,
        sessions: environment.PARLEY_QUOTA_SESSIONS,
      },
      tenantFactor: environment.PARLEY_QUOTA_TENANT,
    },
    limits: {
      bodyBytesMax: environment.PARLEY_BODY_BYTES_MAX,
      bodyDepthMax: environment.PARLEY_BODY_DEPTH_MAX,
      bodyValuesMax: environment.PARLEY_BODY_VALUES_MAX,
      connectionsMax: environment.PARLEY_CONNECTIONS_MAX,
      unreadBytesMax: environment.PARLEY_UNREAD_BYTES_MAX,
      waitsMax: environment.PARLEY_WAITS_MAX,
      listensMax: environment.PARLEY_LISTENS_MAX,
      listenTasksMax: environment.PARLEY_LISTEN_TASKS_MAX,
      listenResourcesMax: environment.PARLEY_LISTEN_RESOURCES_MAX,
      sessionTasksMax: environment.PARLEY_SESSION_TASKS_MAX,
      sessionSubscriptionsMax: environment.PARLEY_SESSION_SUBSCRIPTIONS_MAX,
      sessionWaitsMax: environment.PARLEY_SESSION_WAITS_MAX,
      ownWaitsMax: environment.PARLEY_QUOTA_WAITS,
      ownSubscriptionsMax: environment.PARLEY_QUOTA_SUBSCRIPTIONS,
      allSubscriptionsMax: environment.PARLEY_SUBSCRIPTIONS_MAX,
      streamsMax: environment.PARLEY_QUOTA_STREAMS,
      fileBytesMax: environment.PARLEY_FILE_BYTES_MAX,
      batchMax: environment.PARLEY_BATCH_MAX,
      batchWaitsMax: environment.PARLEY_BATCH_WAITS_MAX,
    },
    times: {
      callTimeoutMs: environment.PARLEY_CALL_TIMEOUT,
      askFirstTimeoutMs: environment.PARLEY_ASK_FIRST_TIMEOUT,
      streamAfterMs: environment.PARLEY_STREAM_AFTER,
      keepAliveMs: environment.PARLEY_KEEP_ALIVE,
      stallTimeoutMs: environment.PARLEY_STALL_TIMEOUT,
      headersTimeoutMs: environment.PARLEY_HEADERS_TIMEOUT,
      requestTimeoutMs: environment.PARLEY_REQUEST_TIMEOUT,
      idleTimeoutMs: environment.PARLEY_IDLE_TIMEOUT,
      pollIntervalMs: environment.PARLEY_POLL_INTERVAL,
      pollIntervalMaxMs: environment.PARLEY_POLL_INTERVAL_MAX,
      listTtlMs: environment.PARLEY_LIST_TTL,
      sessionTtlMs: environment.PARLEY_SESSION_TTL,
      resumableAfterMs: environment.PARLEY_RESUMABLE_AFTER,
      retryMs: environment.PARLEY_RETRY,
      taskGraceMs: environment.PARLEY_TASK_GRACE,
      shutdownDelayMs: environment.PARLEY_SHUTDOWN_DELAY,
      shutdownTimeoutMs: environment.PARLEY_SHUTDOWN_TIMEOUT,
    },
  });
}

function nameOrOff(name: string): string | undefined {
  return name === "off" ? undefined : name;
}

function portOf({ PARLEY_PORT, PORT }: Pick<ServerEnvironment, "PARLEY_PORT" | "PORT">): number {
  return PARLEY_PORT ?? PORT ?? 3000;
}

const EVERY_ADDRESS = ["0.0.0.0", "::"];

/** Otherwise the second of them would find its port taken, by this very process. */
function portProblems(environment: ServerEnvironment): readonly string[] {
  const { PARLEY_METRICS_PORT: metricsPort, PARLEY_HOST: host, PARLEY_METRICS_HOST: metricsHost } = environment;
  const isOneAddress = host === metricsHost || EVERY_ADDRESS.includes(host) || EVERY_ADDRESS.includes(metricsHost);
  if (!metricsPort || metricsPort !== portOf(environment) || !isOneAddress) return [];
  return [
    `PARLEY_METRICS_PORT: ${metricsPort} is the port of clients (PARLEY_PORT, or PORT), who must not reach the operator's port: choose another one`,
  ];
}

function deepFrozen<T extends object>(object: T): T {
  for (const value of Object.values(object)) if (typeof value === "object" && value !== null) deepFrozen(value);
  return Object.freeze(object);
}
