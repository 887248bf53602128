/**
 * Sessions that are opened before the calls that will use them. Each call has a session of its own, and opening one takes two or three round trips,
 * or the start of a process. So while calls are made to an upstream, the sessions for the next calls are opened in the background.
 *
 *   open ─▶ a ready session, if any ─▶ its call ─▶ closed
 *       └▶ else a new one                      └▶ with `reuseSessions: "stateless"`: ready again, for the same caller
 *
 *   - A session is used by one call at a time, and only by calls with the same capabilities, because it declared them to the upstream.
 *   - Where sessions are not reused, as many are opened as calls came recently, once it is quiet.
 *   - A session that was opened with its caller's access token serves one call, and a call with such a token has a new one.
 *   - Nothing is opened ahead for callers with roots: an upstream asks for them as soon as it is connected, and restricts the session to them.
 *   - A session that is not taken is closed after a while, so that an unused upstream is left alone.
 *   - A session in which the upstream asks something while no call is open is closed: the question belongs to a call that has ended.
 *   - The upstream may have forgotten a session. If it refuses the call for that reason, the call has not begun: upstream-call.ts opens another.
 */
import { ANONYMOUS } from "@parley/core";
import { refuseQuestions, serveCall, stopWatching, watchIdle } from "./idle-session.ts";
import type { Closing, OpenSession, SessionOwner, UpstreamConnector, UpstreamSession } from "./upstream-session.ts";
import type { Upstream } from "../config/upstreams.ts";

export interface PreparedSessions extends UpstreamConnector {
  /** Opens a session for one call, and none ahead. */
  openNew: UpstreamConnector["open"];
  close(): Promise<void>;
}

export interface PreparedOptions {
  readonly keptMs?: number;
  readonly reusedMs?: number;
  readonly preparedMax?: number;
  readonly usesMax?: number;
  /** Delays the opening of the next sessions. Default: no delay. */
  readonly whenQuiet?: (work: () => void) => void;
}

/**
 * Maximum number of ready sessions: of all upstreams, and of one pool. Where each session is a process, one is started ahead, and all callers
 * together keep at most as many as one pool.
 */
const PREPARED_MAX = 100;
export const PREPARED_EACH_MAX = 8;
const PROCESSES_AHEAD_MAX = 1;
const KEPT_MS = 10_000;
/** Reused sessions are kept longer, because some servers take seconds to start. */
const REUSED_MS = 60_000;
/** How many calls a session serves: its upstream may leave something behind with each, such as a response that never ends. */
export const USES_MAX = 1_000;

interface Opened {
  readonly session: UpstreamSession;
  readonly owner: SessionOwner;
  /** How many calls it has served. */
  readonly uses: number;
}

interface Ready extends Opened {
  readonly sinceMs: number;
  readonly timer: NodeJS.Timeout;
}

/** The sessions of one upstream and set of capabilities, and of one caller where sessions are reused. */
interface Pool {
  readonly upstream: string;
  /** Newest last. */
  readonly ready: Set<Ready>;
  opening: number;
  /** When calls came, newest last. */
  cameAtMs: readonly number[];
}

export function prepareSessions(
  connector: UpstreamConnector,
  {
    keptMs = KEPT_MS,
    reusedMs = REUSED_MS,
    preparedMax = PREPARED_MAX,
    usesMax = USES_MAX,
    whenQuiet = (work) => work(),
  }: PreparedOptions = {},
): PreparedSessions {
  const pools = new Map<string, Pool>();
  const over = new AbortController();
  const atWork = new Set<Promise<void>>();

  function inBackground(work: Promise<void>): void {
    const done = work.catch(() => undefined).finally(() => void atWork.delete(done));
    atWork.add(done);
  }

  function remove(pool: Pool, one: Ready): boolean {
    clearTimeout(one.timer);
    stopWatching(one);
    return pool.ready.delete(one);
  }

  function leave(pool: Pool, one: Ready): void {
    if (!remove(pool, one)) return;
    inBackground(one.session.close());
  }

  /** Removes pools without recent calls and without sessions. */
  function forgetIdle(): void {
    const sinceMs = Date.now() - keptMs;
    for (const [key, { ready, opening, cameAtMs }] of pools) {
      if (ready.size === 0 && opening === 0 && (cameAtMs.at(-1) ?? 0) < sinceMs) pools.delete(key);
    }
  }

  function count(among: Iterable<Pool> = pools.values()): number {
    return [...among].reduce((sum, { ready, opening }) => sum + ready.size + opening, 0);
  }

  /** Opens as many sessions as calls came recently, because as many are likely to come again. */
  function prepare(pool: Pool, upstream: Upstream, { capabilities }: OpenSession): void {
    const most = upstream.reached.by === "url" ? PREPARED_EACH_MAX : PROCESSES_AHEAD_MAX;
    const wanted = Math.min(pool.cameAtMs.length, most);
    while (!over.signal.aborted && pool.ready.size + pool.opening < wanted && count() < preparedMax) {
      pool.opening += 1;
      inBackground(
        // The next call finds out what is wrong and reports it.
        openAhead(pool, upstream, { capabilities }).finally(() => {
          pool.opening -= 1;
        }),
      );
    }
  }

  async function openAhead(pool: Pool, upstream: Upstream, { capabilities }: OpenSession): Promise<void> {
    const owner: SessionOwner = {};
    const session = await connector.open(upstream, { capabilities, signal: over.signal, owner });
    // Where a connection costs nothing, opening it early gains nothing.
    if (session.isStateless || over.signal.aborted) return await session.close();
    wait(pool, { session, owner, uses: 0 }, keptMs);
  }

  /** Keeps the session until a call takes it, or until the upstream does something in it. */
  function wait(pool: Pool, { session, owner, uses }: Opened, ms: number): Ready {
    const one: Ready = { session, owner, uses, sinceMs: performance.now(), timer: setTimeout(() => leave(pool, one), ms) };
    watchIdle(one, () => leave(pool, one));
    session.client.onerror = () => leave(pool, one);
    pool.ready.add(one);
    return one;
  }

  /** Makes the session available to the next call of the same caller. */
  function giveBack(pool: Pool, upstream: Upstream, opened: Opened): void {
    const one = wait(pool, opened, reusedMs);
    refuseQuestions(one, () => leave(pool, one));
    const beside = upstream.reached.by === "url" ? [pool] : [...pools.values()].filter((other) => other.upstream === upstream.name);
    if (count(beside) > PREPARED_EACH_MAX) leaveOldest(beside);
    if (count() > preparedMax) leaveOldest(pools.values());
  }

  function leaveOldest(among: Iterable<Pool>): void {
    const all = [...among].flatMap((pool) => [...pool.ready].map((one) => ({ pool, one })));
    const [oldest] = all.toSorted((left, right) => left.one.sinceMs - right.one.sinceMs);
    if (oldest) leave(oldest.pool, oldest.one);
  }

  /** A session whose `close` gives it back, once, if it can be reused. */
  function reusable(key: string, upstream: Upstream, opened: Opened): UpstreamSession {
    let isOpen = true;
    return {
      ...opened.session,
      async close(closing: Closing = {}) {
        const { session, owner } = opened;
        const uses = opened.uses + 1;
        const isUsable = session.client.transport !== undefined && owner.isSpent !== true && uses < usesMax;
        const isReady = isOpen && closing.isDone === true && !over.signal.aborted && isUsable;
        isOpen = false;
        if (isReady) giveBack(poolOf(key, upstream), upstream, { ...opened, uses });
        else await session.close(closing);
      },
    };
  }

  function poolOf(key: string, { name }: Upstream): Pool {
    const found = pools.get(key);
    if (found) return found;
    forgetIdle();
    const pool: Pool = { upstream: name, ready: new Set(), opening: 0, cameAtMs: [] };
    pools.set(key, pool);
    return pool;
  }

  return {
    async open(upstream, request) {
      if (request.accessToken) return await connector.open(upstream, request);
      const key = keyOf(upstream, request);
      const pool = poolOf(key, upstream);
      const nowMs = Date.now();
      pool.cameAtMs = [...pool.cameAtMs.filter((atMs) => atMs > nowMs - keptMs).slice(1 - PREPARED_EACH_MAX), nowMs];
      const prepareNext = () => {
        pools.set(key, pool);
        if (!upstream.reusesSessions && !request.capabilities.roots) whenQuiet(() => prepare(pool, upstream, request));
      };
      // The upstream is most likely to remember the session that was used last.
      const one = request.isFresh === true ? undefined : [...pool.ready].at(-1);
      if (!one) {
        const owner = { ...request.owner };
        const session = await connector.open(upstream, { ...request, owner });
        if (upstream.reusesSessions) return reusable(key, upstream, { session, owner, uses: 0 });
        if (!session.isStateless) prepareNext();
        return session;
      }
      const { session, owner, uses } = one;
      remove(pool, one);
      serveCall(one, request);
      prepareNext();
      return { ...(upstream.reusesSessions ? reusable(key, upstream, { session, owner, uses }) : session), isPrepared: true };
    },
    openNew: connector.open,
    sessionTasks: connector.sessionTasks,
    forget: connector.forget,
    async close() {
      over.abort();
      for (const pool of pools.values()) for (const one of pool.ready) leave(pool, one);
      while (atWork.size > 0) await Promise.all(atWork);
    },
  };
}

/** The upstream's settings are part of the key: upstreams of one name can differ once their file has changed. */
function keyOf({ name, reached, reusesSessions }: Upstream, request: OpenSession): string {
  return JSON.stringify([name, reached, request.capabilities, reusesSessions && callerOf(request)]);
}

/**
 * Whose calls one session may serve. Without identity, that is a session of the caller, because it may be anyone's. So it is for a caller with roots:
 * two clients of one person may be restricted to different ones. Calls that belong to no session (2026-07-28) count as one.
 */
function callerOf({ principal, session = "", capabilities }: OpenSession): readonly unknown[] {
  return principal === ANONYMOUS || capabilities.roots ? [principal, session] : [principal];
}
