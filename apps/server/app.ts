/**
 * Builds the front end from its dependencies, without listening: tests inject requests, and start-server.ts makes it listen.
 *
 *   connection ─▶ request ─▶ security headers ─▶ one host ─▶ /healthz /readyz /.well-known/oauth-protected-resource
 *                                                       ├─▶ served host ─▶ /, /play, /api/v1/reference: pages without anyone's data; /pages: the script of the others
 *                                                       ├─▶ served host ─▶ authenticated ─▶ /asks: pages for people
 *                                                       ├─▶ served host ─▶ authenticated ─▶ /inbox: what is asked of a person
 *                                                       ├─▶ served host ─▶ authenticated ─▶ /accounts: the access that people granted for later calls
 *                                                       ├─▶ served host ─▶ authenticated ─▶ /approvals: approvals that hold for later calls
 *                                                       ├─▶ served host ─▶ authenticated ─▶ /oauth/callback, /returns: people who return
 *                                                       ├─▶ /events: other systems, by the token in the address
 *                                                       └─▶ trusted callers ─▶ authenticated ─▶ /play/api, /api/v1
 *                                                                                    └─▶ offered ─▶ /mcp ─▶ decode ─▶ scopes ─▶ dispatch ─▶ encode
 *
 * A front end holds open connections and no other state: nothing that another front end could need (I8).
 */
import Fastify, { type FastifyInstance, type FastifyPluginAsync, type FastifyRegisterOptions } from "fastify";
import { type Catalogues, followOccurrences, noteQuota, type Rates, type Repeats, type Services, type SessionStore } from "@parley/core";
import type { ServerFacts } from "@parley/protocol";
import type { Login, OauthDirectory } from "@parley/identity";
import { ASK_VIEW } from "@parley/web";
import type { DepositSeal } from "@parley/node";
import type { Telemetry } from "@parley/telemetry";
import type { FrontEnd } from "./front-end/front-end.ts";
import type { SubscriptionDesk } from "./front-end/subscription-desk.ts";
import { sharedGate } from "./front-end/gate.ts";
import type { LadderSettings } from "./front-end/ladder.ts";
import { lifecycle } from "./front-end/lifecycle.ts";
import type { Limits, Times } from "./front-end/limits.ts";
import type { Authenticate } from "./front-end/caller.ts";
import { pageAddresses, withPageAddresses } from "./front-end/page-addresses.ts";
import { METADATA_PATH, type ProtectedResource } from "./front-end/protected-resource.ts";
import { toolTitles } from "./front-end/tool-titles.ts";
import type { Visitors } from "./front-end/visitors.ts";
import { showOperator } from "./operator-view.ts";
import { authenticated, declareCaller, visited } from "./plugins/authenticated.ts";
import { limitConnections, connectionOptions, closeConnectionsWhileDraining } from "./plugins/connections.ts";
import { health } from "./plugins/health.ts";
import { notBehindItself } from "./plugins/not-behind-itself.ts";
import { inFlight } from "./plugins/in-flight.ts";
import { declareOffered, offered } from "./plugins/offered.ts";
import { resourceMetadata } from "./plugins/resource-metadata.ts";
import { retryAfter } from "./plugins/retry-after.ts";
import { requestLog } from "./plugins/request-log.ts";
import { PLAIN_PAGE_HEADERS, SCRIPTED_PAGE_HEADERS, securityHeaders } from "./plugins/security-headers.ts";
import { oneHost, servedHost, trustedCallers, type TrustedCallers } from "./plugins/trusted-callers.ts";
import { limitUnread } from "./plugins/unread-limit.ts";
import { unroutable } from "./plugins/unroutable.ts";
import { requestId, watchedRequests } from "./plugins/watched-requests.ts";
import { sendProblem } from "./routes/api/problems.ts";
import { apiReference } from "./routes/api/reference.ts";
import { apiRoute } from "./routes/api/route.ts";
import { accountsRoute } from "./routes/accounts/route.ts";
import { approvalsRoute } from "./routes/approvals/route.ts";
import { home } from "./routes/home/route.ts";
import { inboxRoute } from "./routes/inbox/route.ts";
import { playAccount } from "./routes/login/play-account.ts";
import { loginRoute } from "./routes/login/route.ts";
import { PAGE_HEADERS } from "./routes/asks/html.ts";
import { callbackRoute } from "./routes/asks/callback-route.ts";
import { createGrants } from "./routes/asks/grants.ts";
import { createOnward } from "./routes/asks/lead-on.ts";
import { createQuestions } from "./routes/asks/questions.ts";
import { noPage } from "./routes/asks/no-page.ts";
import { asksRoute } from "./routes/asks/route.ts";
import { noticePage, NOTICES } from "./routes/asks/views.ts";
import { createVisits } from "./routes/asks/visits.ts";
import { eventsRoute } from "./routes/events/route.ts";
import { mcpRoute } from "./routes/mcp/route.ts";
import { pagesScript } from "./routes/pages/route.ts";
import { playApi, playPages } from "./routes/play/route.ts";
import { signatures } from "./seals/signatures.ts";
import type { StateKeys } from "./seals/state-keys.ts";
import { announcements } from "./streams/announcements.ts";
import { heartbeat } from "./streams/heartbeat.ts";

export interface AppDeps {
  readonly services: Services;
  readonly sessions: SessionStore;
  readonly catalogues: Catalogues;
  readonly facts: ServerFacts;
  readonly keys: StateKeys;
  readonly trusted: TrustedCallers;
  readonly limits: Limits;
  readonly times: Times;
  readonly ladder: LadderSettings;
  readonly authenticate: Authenticate;
  /** If set, callers need credentials with the scopes for their actions. */
  readonly resource?: ProtectedResource | undefined;
  /** URL of the MCP endpoint on the start page. If undefined, it is derived from the request's Host header. */
  readonly resourceUrl?: string | undefined;
  /** Whether to serve the page at /play. The timeline of a task is always served. */
  readonly playground?: boolean;
  readonly rates: Rates;
  readonly repeats: Repeats;
  readonly pages: PagesDeps;
  /** If set, clients may have events posted to them. */
  readonly desk?: SubscriptionDesk;
  /** Resolves if the store accepts writes. */
  readonly reachable: () => Promise<void>;
  readonly telemetry?: Telemetry;
  /** Id of this deployment if it is a gateway: requests from itself are refused. */
  readonly deployment?: string;
}

export interface PagesDeps {
  /** The login in the browser. Undefined if there is none. */
  readonly login?: Login | undefined;
  readonly visitors: Visitors;
  readonly seal: DepositSeal;
  /** The address at which people reach the server. Undefined if it is the address on which the server listens. */
  readonly publicUrl: string | undefined;
  /** The providers at which tools may act in a person's name. */
  readonly oauth?: OauthDirectory | undefined;
}

export interface App {
  readonly server: FastifyInstance;
  /** Address of the inbox, once the server listens. */
  inbox(): string;
  /**
   * Shuts down without losing work: reports draining to the load balancer, ends listen streams, lets calls in flight finish, hands over the
   * calls that still wait, and closes the remaining connections. Further calls return the same promise.
   */
  close(): Promise<void>;
}

export async function buildApp(deps: AppDeps): Promise<App> {
  const { pages } = deps;
  const addresses = pageAddresses({
    publicUrl: pages.publicUrl,
    ticket: pages.visitors.ticket,
    listening: () => server.listeningOrigin,
  });
  const services: Services = withPageAddresses(deps.services, addresses);
  // Without identity, the address of a page is a credential, and models read the status of a task.
  const facts: ServerFacts = {
    ...deps.facts,
    givesTasks: deps.ladder.rungs.has("task"),
    ...(pages.visitors.ticket === undefined && { pageOf: addresses.urlOf }),
    ...(services.outbox && { events: ["poll", "push", ...(deps.desk ? (["webhook"] as const) : [])] }),
  };
  const { sessions, catalogues, keys, trusted, limits, times, authenticate, resource, rates, reachable, telemetry, deployment } = deps;
  const { playground = false, resourceUrl } = deps;
  const { log, clock } = services;
  const life = lifecycle();
  const beat = heartbeat(times.keepAliveMs);
  const announced = await announcements(services.wakeUps);
  const frontEnd: FrontEnd = {
    services,
    resource,
    announcements: announced,
    lifecycle: life,
    heartbeat: beat,
    waits: sharedGate({
      what: "calls that wait for their task (PARLEY_WAITS_MAX)",
      most: limits.waitsMax,
      own: { what: "calls of this caller that wait for their task (PARLEY_QUOTA_WAITS)", most: limits.ownWaitsMax },
    }),
    listens: sharedGate({
      what: "listen streams (PARLEY_LISTENS_MAX)",
      most: limits.listensMax,
      own: { what: "streams of this caller (PARLEY_QUOTA_STREAMS)", most: limits.streamsMax },
    }),
    rates: auditedRates(rates, services),
    ladder: {
      ...deps.ladder,
      rungs: new Set([...deps.ladder.rungs].filter((rung) => rung !== "apps" || ASK_VIEW !== undefined)),
      pageOf: addresses.urlOf,
      hasLogin: pages.visitors.ticket === undefined,
      askView: ASK_VIEW,
    },
    limits,
    times,
    pageSize: facts.pageSize,
    log,
    ...(services.outbox && { occurrences: followOccurrences({ ...services, outbox: services.outbox }) }),
    passedOn: async (caller, name) => (await catalogues.current(caller)).passedOn?.get(name),
    ...(deps.desk && { desk: deps.desk }),
    // Without identity, the address of a page is a credential, and models read events.
    ...(pages.visitors.ticket === undefined && { urlOf: addresses.urlOf }),
  };

  const server = Fastify({
    logger: false,
    genReqId: requestId,
    forceCloseConnections: "idle",
    return503OnClosing: false,
    frameworkErrors: unroutable,
    // As long as a key of a question may be where it does not end an address.
    routerOptions: { maxParamLength: 1_000 },
    ...connectionOptions(times, { text: noticePage(NOTICES.late), headers: PAGE_HEADERS }),
  });
  declareCaller(server);
  declareOffered(server);
  limitConnections(server, { limits, times, log });
  limitUnread(server, { limits, log });
  closeConnectionsWhileDraining(server, life);
  securityHeaders(server);
  retryAfter(server);
  oneHost(server, trusted);
  noPage(server);
  const requests = inFlight(server);
  requestLog(server, log);
  watchedRequests(server, telemetry);
  if (telemetry) showOperator(telemetry, { waits: frontEnd.waits, listens: frontEnd.listens, lifecycle: life, reachable });
  health(server, { lifecycle: life, reachable, log, version: facts.version });
  /** A scope with a name. Fastify would look for one among all modules that are loaded, which takes a fifth of the time to build an app. */
  const register = (name: string, scope: FastifyPluginAsync, options: FastifyRegisterOptions<object> = {}) =>
    server.register(Object.assign(scope, { [Symbol.for("fastify.display-name")]: name }), options);
  if (resource) await register("metadata", (scope) => resourceMetadata(scope, resource, trusted), { prefix: METADATA_PATH });
  const playLogin = playground ? pages.visitors.playground : undefined;
  const calling: Authenticate = playLogin
    ? async (request) => (await playLogin.callerOf(request)) ?? (await authenticate(request))
    : authenticate;
  await register(
    "mcp",
    async (scope) => {
      await trustedCallers(scope, trusted);
      if (deployment !== undefined) notBehindItself(scope, deployment);
      authenticated(scope, { authenticate: calling, resource, log });
      offered(scope, catalogues);
      mcpRoute(scope, { frontEnd, sessions, facts, keys });
    },
    { prefix: "/mcp" },
  );
  const titleOf = toolTitles(catalogues);
  const onward = createOnward({ services, addresses, signatures: signatures(keys) });
  const asked = { services, addresses, signatures: signatures(keys), titleOf, onward };
  const visits = createVisits({ ...asked, seal: pages.seal });
  const questions = createQuestions(asked);
  const grants = createGrants({ ...asked, seal: pages.seal, oauth: pages.oauth });
  await register("asks", async (scope) => {
    securityHeaders(scope, PAGE_HEADERS);
    servedHost(scope, trusted);
    visited(scope, pages.visitors, log);
    asksRoute(scope, {
      frontEnd,
      addresses,
      seal: pages.seal,
      signatures: signatures(keys),
      visitors: pages.visitors,
      titleOf,
      onward,
      grants,
      visits,
      questions,
    });
  });
  const { oauth, visitors } = pages;
  // Without a login everyone is the same person, and nothing is kept.
  const hasAccounts = oauth !== undefined && services.grants !== undefined && visitors.ticket === undefined;
  const hasApprovals = services.standing !== undefined && visitors.ticket === undefined;
  await register("inbox", async (scope) => {
    securityHeaders(scope, PAGE_HEADERS);
    servedHost(scope, trusted);
    visited(scope, visitors, log);
    inboxRoute(scope, {
      frontEnd,
      addresses,
      signatures: signatures(keys),
      visitors,
      titleOf,
      onward,
      others: { hasAccounts, hasApprovals },
    });
  });
  if (oauth && hasAccounts) {
    await register("accounts", async (scope) => {
      securityHeaders(scope, PAGE_HEADERS);
      servedHost(scope, trusted);
      visited(scope, visitors, log);
      accountsRoute(scope, { frontEnd, addresses, signatures: signatures(keys), visitors, oauth });
    });
  }
  if (hasApprovals) {
    await register("approvals", async (scope) => {
      securityHeaders(scope, PAGE_HEADERS);
      servedHost(scope, trusted);
      visited(scope, visitors, log);
      approvalsRoute(scope, { frontEnd, addresses, signatures: signatures(keys), visitors });
    });
  }
  await register("callback", async (scope) => {
    securityHeaders(scope, PAGE_HEADERS);
    servedHost(scope, trusted);
    const { authenticate: opening, returning = opening } = pages.visitors;
    authenticated(scope, { authenticate: returning, resource: undefined, log });
    callbackRoute(scope, { frontEnd, visitors: pages.visitors, grants, visits });
  });
  await register("events", async (scope) => {
    servedHost(scope, trusted);
    eventsRoute(scope, frontEnd);
  });
  const { login } = pages;
  const { claims } = services;
  if (login && claims) {
    await register("login", async (scope) => {
      securityHeaders(scope, PAGE_HEADERS);
      servedHost(scope, trusted);
      loginRoute(scope, { frontEnd, login, addresses, seal: pages.seal, claims });
    });
  }
  await register("home", async (scope) => {
    securityHeaders(scope, PLAIN_PAGE_HEADERS);
    servedHost(scope, trusted);
    home(scope, {
      resourceUrl,
      playground,
      needsToken: resource !== undefined,
      hasAccounts,
      hasApprovals,
      hasInbox: visitors.ticket === undefined,
    });
  });
  await register("pages", async (scope) => {
    servedHost(scope, trusted);
    await pagesScript(scope);
  });
  if (playground) {
    await register("play", async (scope) => {
      securityHeaders(scope, SCRIPTED_PAGE_HEADERS);
      servedHost(scope, trusted);
      await playPages(scope);
    });
    await register("play account", async (scope) => {
      securityHeaders(scope, PAGE_HEADERS);
      servedHost(scope, trusted);
      playAccount(scope, frontEnd, playLogin);
    });
  }
  // Served even without the page: earlier versions of `parley task` read it.
  await register("play api", async (scope) => {
    await trustedCallers(scope, trusted);
    authenticated(scope, { authenticate: calling, resource, log });
    playApi(scope, frontEnd, titleOf);
  });
  await register(
    "reference",
    async (scope) => {
      securityHeaders(scope, PLAIN_PAGE_HEADERS);
      servedHost(scope, trusted);
      apiReference(scope);
    },
    { prefix: "/api/v1" },
  );
  await register(
    "api",
    async (scope) => {
      await trustedCallers(scope, trusted, (reply, status, detail) => void sendProblem(reply, { status, detail }));
      authenticated(scope, { authenticate: calling, resource, log });
      apiRoute(scope, { frontEnd, catalogues, repeats: deps.repeats });
    },
    { prefix: "/api/v1" },
  );

  async function close(): Promise<void> {
    log.info({ waits: frontEnd.waits.open, listens: frontEnd.listens.open }, "front end draining");
    life.drain();
    await clock.sleep(times.shutdownDelayMs);
    life.close();
    const closed = server.close();
    await settleWithin(requests.none(), times.shutdownTimeoutMs);
    life.end();
    // Handing over takes a moment, and clients may come back on the same connection before it closes. The remaining connections are cut
    // off.
    await settleWithin(closed, HAND_OVER_MS);
    server.server.closeAllConnections();
    await closed;
    beat.stop();
    announced.stop();
    frontEnd.occurrences?.close();
    log.info({}, "front end stopped");
  }

  async function settleWithin(work: Promise<unknown>, ms: number): Promise<void> {
    const done = new AbortController();
    await Promise.race([work, clock.sleep(ms, done.signal)]);
    done.abort();
  }

  let closing: Promise<void> | undefined;
  return { server, inbox: addresses.inbox, close: () => (closing ??= close()) };
}

const HAND_OVER_MS = 1_000;

function auditedRates(rates: Rates, services: Services): Rates {
  return {
    async take(caller, counts) {
      try {
        await rates.take(caller, counts);
      } catch (error) {
        noteQuota(services, { caller }, error);
        throw error;
      }
    },
  };
}
