/**
 * The front end, built from what it is given and bound to nothing: tests inject requests into it, start-server.ts lets it listen.
 *
 *   request ─▶ security headers ─▶ /healthz /readyz
 *                              └─▶ trusted callers ─▶ /mcp ─▶ decode ─▶ dispatch ─▶ encode
 *
 * It holds no state that another front end could need (I8): open connections, and nothing else.
 */
import Fastify, { type FastifyInstance } from "fastify";
import type { Catalogue, Services, SessionStore } from "@parley/core";
import { rev20260728, SESSION_DIALECTS, type ServerFacts } from "@parley/protocol";
import type { Telemetry } from "@parley/telemetry";
import { announcements } from "./announcements.ts";
import type { Limits, Times } from "./config.ts";
import { gate, gates } from "./gate.ts";
import { heartbeat } from "./heartbeat.ts";
import { lifecycle } from "./lifecycle.ts";
import { showOperator } from "./operator-view.ts";
import { health } from "./plugins/health.ts";
import { inFlight } from "./plugins/in-flight.ts";
import { requestLog } from "./plugins/request-log.ts";
import { securityHeaders } from "./plugins/security-headers.ts";
import { trustedCallers, type TrustedCallers } from "./plugins/trusted-callers.ts";
import { requestId, watchedRequests } from "./plugins/watched-requests.ts";
import type { Authenticate } from "./principal.ts";
import { requestStates } from "./request-state.ts";
import type { FrontEnd } from "./routes/mcp/mcp.ts";
import { mcpRoute } from "./routes/mcp/route.ts";
import { askIds } from "./routes/sessions/ask-ids.ts";
import { eventIds } from "./routes/sessions/event-ids.ts";
import { followOnce } from "./routes/sessions/follow-once.ts";
import { forgetEnded } from "./routes/sessions/forget-ended.ts";
import { signatures } from "./signatures.ts";
import type { StateKeys } from "./state-keys.ts";

export interface AppDeps {
  readonly services: Services;
  readonly sessions: SessionStore;
  readonly catalogue: Catalogue;
  readonly facts: ServerFacts;
  readonly keys: StateKeys;
  readonly trusted: TrustedCallers;
  readonly limits: Limits;
  readonly times: Times;
  readonly authenticate: Authenticate;
  /** Resolves if the store takes writes. */
  readonly reachable: () => Promise<void>;
  readonly telemetry?: Telemetry;
}

export interface App {
  readonly server: FastifyInstance;
  /**
   * Ends without losing anything: tells the load balancer, ends listen streams, lets calls in flight end, hands over those that still wait,
   * closes what is left. Calling it twice is calling it once.
   */
  close(): Promise<void>;
}

export async function buildApp(deps: AppDeps): Promise<App> {
  const { services, sessions, catalogue, facts, keys, trusted, limits, times, authenticate, reachable, telemetry } = deps;
  const { log, clock } = services;
  const life = lifecycle();
  const beat = heartbeat(times.keepAliveMs);
  const told = await announcements(services.events);
  const frontEnd: FrontEnd = {
    services,
    catalogue,
    announcements: told,
    lifecycle: life,
    heartbeat: beat,
    waits: gate("calls that wait for their task (PARLEY_WAITS_MAX)", limits.waitsMax),
    listens: gate("listen streams (PARLEY_LISTENS_MAX)", limits.listensMax),
    limits,
    times,
    pageSize: facts.pageSize,
    log,
  };
  const mcp = { ...frontEnd, encode: rev20260728.encoder(facts), states: requestStates(keys) };
  const signed = signatures(keys);
  const door = {
    ...frontEnd,
    sessions: followOnce(forgetEnded(sessions, services)),
    sessionWaits: gates("calls of this session (PARLEY_SESSION_WAITS_MAX)", limits.sessionWaitsMax, "TOO_MANY_CALLS"),
    askIds: askIds(signed),
    eventIds: eventIds(signed),
    encoders: new Map(SESSION_DIALECTS.map((dialect) => [dialect.version, dialect.encoder(facts)])),
  };

  const server = Fastify({ logger: false, genReqId: requestId, forceCloseConnections: "idle", return503OnClosing: false });
  securityHeaders(server);
  const requests = inFlight(server);
  requestLog(server, log);
  watchedRequests(server, { telemetry, isTool: (name) => catalogue.tools.has(name) || catalogue.prompts.has(name) });
  if (telemetry) showOperator(telemetry, { waits: frontEnd.waits, listens: frontEnd.listens, lifecycle: life, reachable });
  health(server, { lifecycle: life, reachable });
  await server.register(async (scope) => {
    trustedCallers(scope, trusted);
    mcpRoute(scope, { mcp, door, authenticate });
  });

  async function close(): Promise<void> {
    log.info({ waits: frontEnd.waits.open, listens: frontEnd.listens.open }, "front end draining");
    life.drain();
    await clock.sleep(times.shutdownDelayMs);
    life.close();
    const closed = server.close();
    await within(requests.none(), times.shutdownTimeoutMs);
    life.end();
    // Handing over takes a moment; whoever does not take it in that time is cut off.
    await within(requests.none(), HAND_OVER_MS);
    server.server.closeAllConnections();
    await closed;
    beat.stop();
    told.stop();
    log.info({}, "front end stopped");
  }

  async function within(work: Promise<unknown>, ms: number): Promise<void> {
    const done = new AbortController();
    await Promise.race([work, clock.sleep(ms, done.signal)]);
    done.abort();
  }

  let closing: Promise<void> | undefined;
  return { server, close: () => (closing ??= close()) };
}

const HAND_OVER_MS = 1_000;
