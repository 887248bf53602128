import { foreseeEdits, openGate } from "@parley/approvals/every-process";
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { fixedCatalogue, type Services, type Subscription, subscriptionState, sweepFiles } from "@parley/core";
import { fileStore } from "@parley/files";
import { createIdentity, createLogin, createOauthProviders } from "@parley/identity";
import {
  agreedSecrets,
  authored,
  createLogger,
  createValidator,
  depositSeal,
  eventTokens,
  sha256Digest,
  createScope,
  systemClock,
  withLogFields,
  subscriptionSeal,
} from "@parley/node";
import { growingPollInterval } from "@parley/protocol";
import { connectRedis } from "@parley/redis";
import { loadCatalogue } from "@parley/sdk";
import { createTelemetry, showDeployment, type Telemetry, toolLabel } from "@parley/telemetry";
import { buildApp } from "./app.ts";
import type { ServerConfig } from "./config.ts";
import { anonymous, byCredentials } from "./front-end/caller.ts";
import { protectedResource } from "./front-end/protected-resource.ts";
import { localVisitors } from "./front-end/visitors.ts";
import { type OfferedUpstreams, offerUpstreams } from "./offer-upstreams.ts";
import { oncePer } from "./once-per.ts";
import { loggedIn } from "./routes/login/route.ts";
import { signatures } from "./seals/signatures.ts";
import { stateKeys } from "./seals/state-keys.ts";
import { catchStrayErrors, type StrayErrors } from "./stray-errors.ts";

export interface RunningServer {
  /** URL of the MCP endpoint. */
  readonly url: string;
  /** URL of the playground. Undefined if it is off. */
  readonly playground: string | undefined;
  /** URL of the inbox. Without identity, it carries the ticket that opens it: show it to the person at this machine, and do not log it. */
  readonly inbox: string;
  /** Resolves when the process cannot continue. Absent if a worker in the same process says so. */
  readonly broken?: Promise<void>;
  /** Drains the front end (see App.close) and disconnects. */
  close(): Promise<void>;
}

/**
 * Connects to Redis, loads the tools and listens. Throws DefinitionError if a tool module does not load, RulesError for an invalid file of rules, UNAVAILABLE if Redis does not
 * serve, and an Error that says what to do if the port is taken. The owner of a shared telemetry opens and closes it.
 */
export async function startServer(config: ServerConfig, shared?: Telemetry): Promise<RunningServer> {
  const log = createLogger("server", config.logLevel);
  const catalogue = authored(await loadCatalogue(config.tools));
  const { allowedHosts } = config;
  const telemetry =
    shared ?? (await createTelemetry(config.telemetry, { process: "server", version: VERSION, allowedHosts, withLogFields }));
  const gate = await openGate({ ...config.rules, showVersion: telemetry.showRules, log });
  const redis = await connectRedis(config.redis, { log, telemetry: telemetry.tracing?.bullmq });
  let upstreams: OfferedUpstreams | undefined;
  let stopSweeping: (() => void) | undefined;
  let strays: StrayErrors | undefined;
  const close = async () => {
    strays?.stop();
    stopSweeping?.();
    gate.close();
    upstreams?.close();
    await redis.close();
    if (!shared) await telemetry.close();
  };
  try {
    const { store, queue, wakeUps, ids, sessions } = redis;
    const files = await fileStore(config.files, config.redis.prefix);
    const secrets = await agreedSecrets(config.secrets, redis.secret);
    const services: Services = {
      store: telemetry.watchStore(store),
      queue,
      wakeUps,
      ids,
      clock: { ...systemClock, now: redis.now },
      scope: createScope(),
      digest: redis.content.digest(sha256Digest),
      validate: createValidator(),
      log,
      settings: config.core,
      claims: redis.claims,
      room: redis.memory,
      approvals: redis.approvals,
      // Nothing gives or uses them without rules.
      ...(config.rules.file !== undefined && { standing: redis.standing }),
      snoozes: redis.snoozes,
      ...(config.oauth.length > 0 && { grants: redis.keptGrants.sealedBy(depositSeal(secrets)) }),
      ...(files && { files }),
      ...(config.redis.audit && { audit: redis.audit }),
      ...(redis.outbox && { outbox: redis.outbox }),
      ...(telemetry.observer && { observer: telemetry.observer }),
    };
    const { pageSize, limits, times, ladder, identity } = config;
    const keys = stateKeys(secrets);
    const verified =
      identity && createIdentity(identity, { log, now: redis.now, elapsedMs: () => performance.now(), apiKeys: redis.apiKeys });
    const login =
      identity?.login && verified && createLogin(identity.login, identity, { identify: verified.identify, log, now: redis.now });
    const seal = depositSeal(secrets);
    const authenticate = verified ? byCredentials(verified) : anonymous;
    const { upstreams: file } = config;
    upstreams = file && (await offerUpstreams({ file, own: catalogue, redis, hasAudit: config.redis.audit, log }));
    const catalogues = gate.wrap(upstreams?.catalogues ?? fixedCatalogue(catalogue));
    const app = await buildApp({
      services: {
        ...services,
        foresee: foreseeEdits({ store: services.store, catalogues, clock: services.clock }),
        eventTokens: eventTokens({ secrets, publicUrl: config.publicUrl }),
      },
      sessions,
      catalogues,
      ...(upstreams && { deployment: upstreams.deployment }),
      facts: {
        name: "parley",
        version: VERSION,
        pollInterval: growingPollInterval({ shortestMs: times.pollIntervalMs, longestMs: times.pollIntervalMaxMs, now: redis.now }),
        listTtlMs: times.listTtlMs,
        pageSize,
        knowsCallers: identity !== undefined,
        ...(config.rules.usesProposedNames && { toolApproval: true }),
      },
      keys,
      pages: {
        visitors: verified
          ? loggedIn({ authenticate, login, seal, claims: redis.claims, now: redis.now })
          : localVisitors(signatures(keys)),
        login,
        seal,
        publicUrl: config.publicUrl,
        oauth: createOauthProviders(config.oauth, redis.now),
      },
      trusted: config,
      // Only who is known can have events posted: a subscription is somebody's.
      ...(redis.outbox &&
        identity &&
        limits.allSubscriptionsMax > 0 && {
          desk: {
            subscriptions: redis.subscriptions.sealedBy(subscriptionSeal(seal)),
            load: (subscription: Subscription) => redis.webhooks.load(subscriptionState(subscription)),
            seal: (id: string, text: string) => seal.seal(id, "subscription", text),
            isPrivate: config.subscriptionsPrivate,
            limits: { own: limits.ownSubscriptionsMax, all: limits.allSubscriptionsMax },
          },
        }),
      rates: redis.rates(config.rates),
      repeats: redis.repeats,
      limits,
      times,
      ladder,
      authenticate,
      resource:
        identity &&
        protectedResource({
          url: config.resourceUrl,
          authorizationServers: identity.issuers.map(({ name }) => name),
          scopePrefix: identity.scopePrefix,
        }),
      resourceUrl: config.resourceUrl,
      playground: config.playground,
      reachable: oncePer(1_000, () => redis.writable()),
      telemetry,
    });
    stopSweeping = files && startSweeping(services);
    // From 0: if a counter appeared with the first answer, the alert that compares answers with deadlines would not see it.
    for (const tool of catalogue.tools.values()) telemetry.metrics?.answers.inc({ tool: toolLabel(tool), receipt: "accepted" }, 0);
    // A worker in the same process already shows it.
    if (!shared)
      showDeployment(telemetry, {
        read: (options) => redis.censuses.read(options),
        readMemory: () => redis.memory.read(),
        readMishaps: () => redis.mishaps.read(),
        leaseMs: config.core.leaseMs,
      });
    await app.server.listen({ host: config.host, port: config.port }).catch(explained);
    const url = urlOf(app.server.server.address() as AddressInfo);
    const playground = config.playground ? new URL("/play/", url).href : undefined;
    const operator = shared ? undefined : await telemetry.open();
    strays = shared ? undefined : catchStrayErrors(log);
    log.info(
      { url, playground, operator, tools: catalogue.tools.size, prompts: catalogue.prompts.size, resources: catalogue.resources.size },
      "front end ready",
    );
    return {
      url,
      playground,
      inbox: app.inbox(),
      ...(strays && { broken: strays.broken }),
      async close() {
        await app.close();
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Sweeps about once an hour. Each front end has its own interval, so that they rarely sweep at the same time. */
function startSweeping(services: Services): () => void {
  const { log } = services;
  const sweep = () => void sweepFiles(services).catch((error: unknown) => log.warn({ err: error }, "files could not be swept"));
  const timer = setInterval(sweep, SWEEP_FILES_MS * (0.75 + Math.random() / 2)).unref();
  return () => clearInterval(timer);
}

const SWEEP_FILES_MS = 60 * 60_000;

/** Replaces an address that means all interfaces with localhost. */
function urlOf({ address, port, family }: AddressInfo): string {
  const host = address === "0.0.0.0" || address === "::" ? "localhost" : family === "IPv6" ? `[${address}]` : address;
  return `http://${host}:${port}/mcp`;
}

/** Node.js names the address, but not the way out. It is the first error that many people see. */
function explained(error: NodeJS.ErrnoException): never {
  if (error.code !== "EADDRINUSE") throw error;
  throw new Error(`${error.message}; stop the process that uses the port, or set PARLEY_PORT to another one`, { cause: error });
}

const { version: VERSION } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8")) as { version: string };
