/**
 * Sessions that are ready for the calls that will use them. Each call has a session of its own, and opening one takes two or three round
 * trips, or the start of a process. So while calls are made to an upstream, the sessions of the next ones are opened beside the work.
 *
 *   open ─▶ one that is ready ─▶ its call ─▶ closed
 *       └▶ else one that is opened now     └▶ with `reuseSessions`: ready again, for the same caller
 *
 *   - A session is used by one call at a time, and only by calls of the same capabilities: the upstream was told them.
 *   - Where sessions are not used again, as many are opened as calls came of late, when it is quiet.
 *   - One that nobody takes is closed after a while, so that an upstream that nobody calls is left alone.
 *   - One in which the upstream asks something while it has no call is closed: the question is of a call that has ended.
 *   - An upstream may have forgotten it meanwhile. One that refuses the call for that has not begun it: upstream-call.ts opens another.
 */
import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/client";
import type { Closing, OpenSession, SessionOwner, UpstreamConnector, UpstreamSession } from "./upstream-session.ts";
import type { Upstream } from "./upstreams.ts";

export interface PreparedSessions extends UpstreamConnector {
  close(): Promise<void>;
}

export interface PreparedOptions {
  readonly keptMs?: number;
  readonly reusedMs?: number;
  readonly preparedMax?: number;
  /** When the next ones are opened: at once, unless said otherwise. */
  readonly whenQuiet?: (work: () => void) => void;
}

/**
 * Those that wait to be taken: of all upstreams, and of one pool. Where each is a process, one is started ahead, and as many as of a pool are kept of
 * all callers together.
 */
export const PREPARED_MAX = 100;
export const PREPARED_EACH_MAX = 8;
const PROCESSES_AHEAD_MAX = 1;
const KEPT_MS = 10_000;
/** Starting a process takes seconds, at some servers. */
const REUSED_MS = 60_000;

interface Opened {
  readonly session: UpstreamSession;
  readonly owner: SessionOwner;
}

interface Ready extends Opened {
  readonly sinceMs: number;
  readonly timer: NodeJS.Timeout;
}

/** Of one upstream and set of capabilities, and of one caller where sessions are used again. */
interface Pool {
  readonly upstream: string;
  /** The one that came last is the last. */
  readonly ready: Set<Ready>;
  opening: number;
  /** When calls came, the newest last. */
  cameAtMs: readonly number[];
}

/** What an upstream may ask for in a session. */
const QUESTIONS = ["elicitation/create", "sampling/createMessage", "roots/list"] as const;

export function prepareSessions(
  connector: UpstreamConnector,
  { keptMs = KEPT_MS, reusedMs = REUSED_MS, preparedMax = PREPARED_MAX, whenQuiet = (work) => work() }: PreparedOptions = {},
): PreparedSessions {
  const pools = new Map<string, Pool>();
  const over = new AbortController();
  const atWork = new Set<Promise<void>>();

  function inBackground(work: Promise<void>): void {
    const done = work.catch(() => undefined).finally(() => void atWork.delete(done));
    atWork.add(done);
  }

  function remove(pool: Pool, one: Ready): boolean {
    const { client } = one.session;
    clearTimeout(one.timer);
    delete client.onclose;
    delete client.onerror;
    delete client.fallbackRequestHandler;
    return pool.ready.delete(one);
  }

  function leave(pool: Pool, one: Ready): void {
    if (!remove(pool, one)) return;
    inBackground(one.session.close());
  }

  /** Those that nobody has called of late and that hold nothing. */
  function forgetIdle(): void {
    const sinceMs = Date.now() - keptMs;
    for (const [key, { ready, opening, cameAtMs }] of pools) {
      if (ready.size === 0 && opening === 0 && (cameAtMs.at(-1) ?? 0) < sinceMs) pools.delete(key);
    }
  }

  function count(among: Iterable<Pool> = pools.values()): number {
    return [...among].reduce((sum, { ready, opening }) => sum + ready.size + opening, 0);
  }

  /** As many as calls have come of late: they are likely to come again. */
  function prepare(pool: Pool, upstream: Upstream, { capabilities }: OpenSession): void {
    const most = upstream.reached.by === "url" ? PREPARED_EACH_MAX : PROCESSES_AHEAD_MAX;
    const wanted = Math.min(pool.cameAtMs.length, most);
    while (!over.signal.aborted && pool.ready.size + pool.opening < wanted && count() < preparedMax) {
      pool.opening += 1;
      inBackground(
        // The call that comes next finds out what is wrong, and says it.
        openAhead(pool, upstream, { capabilities }).finally(() => {
          pool.opening -= 1;
        }),
      );
    }
  }

  async function openAhead(pool: Pool, upstream: Upstream, { capabilities }: OpenSession): Promise<void> {
    const owner: SessionOwner = {};
    const session = await connector.open(upstream, { capabilities, signal: over.signal, owner });
    // Nothing is to be gained where a connection costs nothing.
    if (session.isStateless || over.signal.aborted) return await session.close();
    wait(pool, { session, owner }, keptMs);
  }

  /** It is ready, until somebody takes it, or something happens in it. */
  function wait(pool: Pool, { session, owner }: Opened, ms: number): Ready {
    const one: Ready = { session, owner, sinceMs: performance.now(), timer: setTimeout(() => leave(pool, one), ms) };
    const { client } = session;
    client.onclose = () => leave(pool, one);
    client.onerror = () => leave(pool, one);
    owner.onCut = undefined;
    owner.onNotification = undefined;
    owner.onFlood = () => leave(pool, one);
    pool.ready.add(one);
    return one;
  }

  /** The next call of the same caller may have it. */
  function giveBack(pool: Pool, upstream: Upstream, opened: Opened): void {
    const one = wait(pool, opened, reusedMs);
    const { client } = opened.session;
    for (const method of QUESTIONS) client.removeRequestHandler(method);
    client.fallbackRequestHandler = async ({ method }) => {
      leave(pool, one);
      throw new ProtocolError(ProtocolErrorCode.MethodNotFound, `${method} came while no call was open`);
    };
    const beside = upstream.reached.by === "url" ? [pool] : [...pools.values()].filter((other) => other.upstream === upstream.name);
    if (count(beside) > PREPARED_EACH_MAX) leaveOldest(beside);
    if (count() > preparedMax) leaveOldest(pools.values());
  }

  function leaveOldest(among: Iterable<Pool>): void {
    const all = [...among].flatMap((pool) => [...pool.ready].map((one) => ({ pool, one })));
    const [oldest] = all.toSorted((left, right) => left.one.sinceMs - right.one.sinceMs);
    if (oldest) leave(oldest.pool, oldest.one);
  }

  /** Closing it gives it back, once, if it can be used again. */
  function reusable(key: string, upstream: Upstream, opened: Opened): UpstreamSession {
    let isOpen = true;
    return {
      ...opened.session,
      async close(closing: Closing = {}) {
        const isReady = isOpen && closing.isDone === true && !over.signal.aborted && opened.session.client.transport !== undefined;
        isOpen = false;
        if (isReady) giveBack(poolOf(key, upstream), upstream, opened);
        else await opened.session.close(closing);
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
      const key = keyOf(upstream, request);
      const pool = poolOf(key, upstream);
      const nowMs = Date.now();
      pool.cameAtMs = [...pool.cameAtMs.filter((atMs) => atMs > nowMs - keptMs).slice(1 - PREPARED_EACH_MAX), nowMs];
      const prepareNext = () => {
        pools.set(key, pool);
        // Nobody knows whose token the next call has.
        if (!upstream.reusesSessions && !upstream.oauth) whenQuiet(() => prepare(pool, upstream, request));
      };
      // The one that was used last is the likeliest to be remembered.
      const one = request.isFresh === true ? undefined : [...pool.ready].at(-1);
      if (!one) {
        const owner = { ...request.owner };
        const session = await connector.open(upstream, { ...request, owner });
        if (upstream.reusesSessions) return reusable(key, upstream, { session, owner });
        if (!session.isStateless) prepareNext();
        return session;
      }
      const { session, owner } = one;
      remove(pool, one);
      session.begin();
      request.prepare?.(session.client);
      owner.onCut = request.owner?.onCut;
      owner.onNotification = request.owner?.onNotification;
      owner.onFlood = request.owner?.onFlood;
      prepareNext();
      return { ...(upstream.reusesSessions ? reusable(key, upstream, { session, owner }) : session), isPrepared: true };
    },
    sessionTasks: connector.sessionTasks,
    forget: connector.forget,
    async close() {
      over.abort();
      for (const pool of pools.values()) for (const one of pool.ready) leave(pool, one);
      while (atWork.size > 0) await Promise.all(atWork);
    },
  };
}

/** Of what a session is made for: upstreams of one name can differ once their file has changed. */
function keyOf({ name, reached, reusesSessions }: Upstream, { capabilities, principal }: OpenSession): string {
  return JSON.stringify([name, reached, capabilities, reusesSessions && principal]);
}
