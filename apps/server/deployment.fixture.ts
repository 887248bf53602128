/** A deployment for tests: front ends on real sockets, a worker, and core's memory adapters between them. */
import {
  type ApprovalRecord,
  type Audit,
  type Caller,
  type Catalogue,
  type Catalogues,
  type Claims,
  DEFAULT_SETTINGS,
  type FileStore,
  fixedCatalogue,
  type Rates,
  runTask,
  type Services,
  type SessionStore,
  type Settings,
  type StandingApprovals,
} from "@parley/core";
import { foreseeEdits } from "@parley/approvals/every-process";
import type { Login, OauthDirectory } from "@parley/identity";
import {
  createMemoryClaims,
  createMemoryGrants,
  createMemoryQueue,
  createMemoryRepeats,
  createMemorySessions,
  createMemorySnoozes,
  createMemoryStore,
  createMemoryWakeUps,
} from "@parley/core/memory";
import { createScope, createValidator, type DepositSeal, depositSeal, eventTokens, sha256Digest, systemClock } from "@parley/node";
import { growingPollInterval } from "@parley/protocol";
import type { Telemetry } from "@parley/telemetry";
import { expect, onTestFinished } from "vitest";
import { type App, buildApp } from "./app.ts";
import { SERVER_SETTINGS, serverConfig } from "./config.ts";
import type { LadderSettings } from "./front-end/ladder.ts";
import type { Limits, Times } from "./front-end/limits.ts";
import type { Authenticate } from "./front-end/caller.ts";
import type { ProtectedResource } from "./front-end/protected-resource.ts";
import type { SubscriptionDesk } from "./front-end/subscription-desk.ts";
import { localVisitors, type Visitors } from "./front-end/visitors.ts";
import { signatures } from "./seals/signatures.ts";
import { stateKeys } from "./seals/state-keys.ts";

export interface Deployment {
  readonly fronts: readonly Front[];
  readonly services: Services;
  readonly sessions: SessionStore;
  readonly logged: readonly { readonly message: string; readonly fields: Record<string, unknown> }[];
  /** Resolves the next time a front end renews a session. */
  sessionTouched(): Promise<void>;
  /** Moves the clock forward. */
  skip(ms: number): void;
}

export interface Front {
  readonly app: App;
  readonly url: string;
  /** Number of connected requests without an answer. */
  readonly waiting: number;
}

export interface Deploy {
  readonly catalogue: Catalogue | Catalogues;
  readonly fronts?: number;
  readonly limits?: Partial<Limits>;
  readonly times?: Partial<Times>;
  readonly ladder?: Partial<LadderSettings>;
  readonly settings?: Partial<Settings>;
  readonly trusted?: { readonly allowedHosts: readonly string[]; readonly allowedOrigins: readonly string[] };
  readonly reachable?: () => Promise<void>;
  /** In memory by default. */
  readonly sessions?: SessionStore;
  /** In memory by default. */
  readonly stored?: Pick<Services, "store" | "wakeUps" | "ids" | "outbox"> & Partial<Pick<Services, "snoozes">>;
  /** Takes subscriptions to events. Absent by default. */
  readonly desk?: SubscriptionDesk;
  /** By default, the caller is the principal in the `x-principal` header. */
  readonly authenticate?: Authenticate;
  /** If set, callers need scopes. Undefined by default. */
  readonly resource?: ProtectedResource;
  /** Who opens pages. By default, anyone with the local address. */
  readonly visitors?: Visitors | ((seal: DepositSeal, claims: Claims) => Visitors);
  readonly login?: Login;
  /** Files are not stored by default. */
  readonly files?: FileStore;
  /** The base of page addresses. By default, the address on which the front end listens. */
  readonly publicUrl?: string;
  /** The providers at which tools act in a person's name. None by default. */
  readonly oauth?: OauthDirectory;
  /** Off by default. */
  readonly approvals?: ApprovalRecord;
  /** Off by default. */
  readonly standing?: StandingApprovals;
  /** Off by default. */
  readonly audit?: Audit;
  /** Off by default. */
  readonly playground?: boolean;
  readonly resourceUrl?: string;
  /** Unlimited by default. */
  readonly rates?: Rates;
  /** Off by default. */
  readonly telemetry?: Telemetry;
  /** If false, no worker takes runs. */
  readonly worker?: boolean;
  /** Takes what closes it. By default, it is closed when the test ends. */
  readonly atEnd?: (close: () => Promise<void> | void) => void;
}

const SECRET = "a secret that every front end of this test knows";
const KEYS = stateKeys([SECRET]);
const DEFAULTS = serverConfig(SERVER_SETTINGS.parse({ REDIS_URL: "redis://localhost" }));

export function callerNamed(principal: string, more: Partial<Caller> = {}): Caller {
  return { principal, tenant: "default", scopes: [], authenticatedBy: "test", names: [principal], groups: [], roles: [], ...more };
}

/** One for all: it remembers what it has compiled, and tests ask for the same few forms. */
const VALIDATE = createValidator();

/** Starts a deployment, which is closed when the test ends. */
export async function deploy(request: Deploy): Promise<Deployment> {
  const { atEnd = onTestFinished } = request;
  let skippedMs = 0;
  const clock = { ...systemClock, now: () => Date.now() + skippedMs };
  const memory = createMemoryWakeUps();
  const queue = createMemoryQueue();
  const logged: { message: string; fields: Record<string, unknown> }[] = [];
  const write = (fields: object, message: string) => void logged.push({ message, fields: { ...fields } });
  const seal = depositSeal([SECRET]);
  const { store, wakeUps, ids, outbox }: NonNullable<Deploy["stored"]> = request.stored ?? {
    store: createMemoryStore({ clock, wakeUps: memory }),
    wakeUps: memory,
    ids: {
      taskId: () => `0-${crypto.randomUUID()}`,
      token: () => crypto.randomUUID(),
      uuid: () => crypto.randomUUID(),
      random: Math.random,
    },
  };
  const claims = createMemoryClaims({ clock });
  const services: Services = {
    store,
    ...(request.files && { files: request.files }),
    deposits: {
      open: async (taskId, key) => seal.open(taskId, key, (await store.deposit(taskId, key)) ?? ""),
      async replace(taskId, key, before, text) {
        const sealed = (await store.deposit(taskId, key)) ?? "";
        if (seal.open(taskId, key, sealed) !== before) return false;
        return await store.redeposit({ taskId, key, before: sealed, deposit: seal.seal(taskId, key, text) });
      },
    },
    claims,
    snoozes: request.stored?.snoozes ?? createMemorySnoozes(),
    ...(request.oauth && {
      oauth: request.oauth,
      grants: createMemoryGrants({ clock, ids, ...(request.audit && { audit: request.audit }) }),
    }),
    ...(request.audit && { audit: request.audit }),
    ...(request.approvals && { approvals: request.approvals }),
    ...(request.standing && { standing: request.standing }),
    eventTokens: eventTokens({ secrets: [SECRET], publicUrl: "https://parley.example.com" }),
    queue,
    ...(outbox && { outbox }),
    wakeUps,
    clock,
    scope: createScope(),
    ids,
    digest: sha256Digest,
    validate: VALIDATE,
    log: { debug: write, info: write, warn: write, error: write },
    settings: { ...DEFAULT_SETTINGS, renewEveryMs: 10, ...request.settings },
  };
  const catalogues = "current" in request.catalogue ? request.catalogue : fixedCatalogue(request.catalogue);
  const watching: Services = { ...services, foresee: foreseeEdits({ store, catalogues, clock: services.clock }) };
  if (request.worker !== false) {
    const worker = queue.consume({ concurrency: 20, run: async (ref) => void (await runTask(services, catalogues.runnable(), ref)) });
    atEnd(() => worker.close());
  }

  const stored = request.sessions ?? createMemorySessions({ clock, wakeUps: memory });
  let touched = Promise.withResolvers<void>();
  const sessions: SessionStore = {
    ...stored,
    async touch(...touch) {
      const awaited = touched;
      const session = await stored.touch(...touch);
      if (awaited === touched) touched = Promise.withResolvers();
      awaited.resolve();
      return session;
    },
  };
  const repeats = createMemoryRepeats();
  const silent: (string | undefined)[] = [];
  atEnd(() => expect(silent, "requests whose 429 does not say when to come back").toEqual([]));
  const fronts: Front[] = [];
  for (let index = 0; index < (request.fronts ?? 2); index += 1) {
    const app = await buildApp({
      services: watching,
      sessions,
      catalogues,
      facts: {
        name: "parley",
        version: "0",
        pollInterval: growingPollInterval({ shortestMs: 1_000, longestMs: 300_000, now: clock.now }),
        listTtlMs: 60_000,
        pageSize: DEFAULTS.pageSize,
      },
      keys: KEYS,
      ...(request.desk && { desk: request.desk }),
      trusted: request.trusted ?? DEFAULTS,
      limits: { ...DEFAULTS.limits, ...request.limits },
      ladder: { ...DEFAULTS.ladder, ...request.ladder },
      times: { ...DEFAULTS.times, shutdownTimeoutMs: 20, ...request.times },
      authenticate: request.authenticate ?? ((incoming) => callerNamed(String(incoming.headers["x-principal"] ?? "anonymous"))),
      resource: request.resource,
      pages: {
        visitors:
          typeof request.visitors === "function" ? request.visitors(seal, claims) : (request.visitors ?? localVisitors(signatures(KEYS))),
        login: request.login,
        seal,
        publicUrl: request.publicUrl,
        oauth: request.oauth,
      },
      playground: request.playground ?? false,
      resourceUrl: request.resourceUrl,
      rates: request.rates ?? { take: async () => undefined },
      repeats,
      reachable: request.reachable ?? (async () => undefined),
      ...(request.telemetry && { telemetry: request.telemetry }),
    });
    const waiting = new Set<object>();
    app.server.server.on("request", (incoming, response) => {
      waiting.add(response);
      response.on("close", () => waiting.delete(response));
      response.on("finish", () => {
        // What was sent: headers that are given with the status are not kept with those that were set before.
        const { _header: sent } = response as unknown as { readonly _header: string };
        if (response.statusCode === 429 && !/^retry-after: \d+\r$/im.test(sent)) silent.push(incoming.url);
      });
    });
    await app.server.listen({ host: "127.0.0.1", port: 0 });
    atEnd(() => app.close());
    fronts.push({
      app,
      url: `${app.server.listeningOrigin}/mcp`,
      get waiting() {
        return waiting.size;
      },
    });
  }
  return { fronts, services, sessions, logged, sessionTouched: () => touched.promise, skip: (ms) => void (skippedMs += ms) };
}

/** For a deployment that the tests of a file or a `describe` share: `atEnd` for it, and what closes it, for `afterAll`. */
export function closedLater(): { readonly atEnd: NonNullable<Deploy["atEnd"]>; readonly close: () => Promise<void> } {
  const closers: (() => Promise<void> | void)[] = [];
  return {
    atEnd: (close) => void closers.push(close),
    async close() {
      for (const each of closers.toReversed()) await each();
    },
  };
}

/** Makes the next call of a method wait until `resolve` is called, as it would while Redis is unavailable. */
export function holdNext<Port extends object>(port: Port, method: keyof Port & string) {
  const original = port[method] as (...parameters: unknown[]) => unknown;
  const back = Promise.withResolvers<void>();
  const held = { awaited: false, resolve: back.resolve };
  Object.assign(port, {
    async [method](...parameters: unknown[]) {
      Object.assign(port, { [method]: original });
      held.awaited = true;
      await back.promise;
      return await original(...parameters);
    },
  });
  return held;
}
