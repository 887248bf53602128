/**
 * Sessions that are opened ahead of the calls that will use them. Each call has a session of its own, and opening one takes two or three round
 * trips, or the start of a process. So while calls are made to an upstream, the sessions of the next ones are opened beside the work.
 *
 *   open ─▶ one that is ready, which no call has used; else one that is opened now ─▶ when it is quiet, as many as calls came of late
 *
 *   - A prepared session is used by one call, and only by a call of the same capabilities: the upstream was told them.
 *   - One that nobody takes is closed after a while, so that an upstream that nobody calls is left alone.
 *   - An upstream may have forgotten it meanwhile. One that refuses the call for that has not begun it: upstream-call.ts opens another.
 */
import type { OpenSession, UpstreamConnector, UpstreamSession } from "./upstream-session.ts";
import type { Upstream } from "./upstreams.ts";

export interface PreparedSessions extends UpstreamConnector {
  close(): Promise<void>;
}

export interface PreparedOptions {
  readonly keptMs?: number;
  readonly preparedMax?: number;
  /** When the next ones are opened: at once, unless said otherwise. */
  readonly whenQuiet?: (work: () => void) => void;
}

/** Those that wait to be taken, of all upstreams; of one upstream and set of capabilities, and where each is a process. */
export const PREPARED_MAX = 100;
export const PREPARED_EACH_MAX = 8;
const PROCESSES_EACH_MAX = 1;
const KEPT_MS = 10_000;

interface Prepared {
  readonly session: UpstreamSession;
  /** Who is told of what happens to it, once somebody has it. */
  readonly owner: { onCut?: OpenSession["onCut"] | undefined; onFlood?: (() => void) | undefined };
  readonly timer: NodeJS.Timeout;
}

/** Of one upstream and set of capabilities. */
interface Pool {
  readonly ready: Set<Prepared>;
  opening: number;
  /** When calls came, the newest last. */
  cameAtMs: readonly number[];
}

export function prepareSessions(
  connector: UpstreamConnector,
  { keptMs = KEPT_MS, preparedMax = PREPARED_MAX, whenQuiet = (work) => work() }: PreparedOptions = {},
): PreparedSessions {
  const pools = new Map<string, Pool>();
  const over = new AbortController();
  const atWork = new Set<Promise<void>>();

  function inBackground(work: Promise<void>): void {
    const done = work.catch(() => undefined).finally(() => void atWork.delete(done));
    atWork.add(done);
  }

  function remove(pool: Pool, one: Prepared): boolean {
    const { client } = one.session;
    clearTimeout(one.timer);
    delete client.onclose;
    delete client.onerror;
    return pool.ready.delete(one);
  }

  function leave(pool: Pool, one: Prepared): void {
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

  function count(): number {
    return [...pools.values()].reduce((sum, { ready, opening }) => sum + ready.size + opening, 0);
  }

  /** As many as calls have come of late: they are likely to come again. */
  function prepare(pool: Pool, upstream: Upstream, { capabilities }: OpenSession): void {
    const most = upstream.reached.by === "url" ? PREPARED_EACH_MAX : PROCESSES_EACH_MAX;
    const wanted = Math.min(pool.cameAtMs.length, most);
    while (!over.signal.aborted && pool.ready.size + pool.opening < wanted && count() < preparedMax) {
      pool.opening += 1;
      inBackground(
        // The call that comes next finds out what is wrong, and says it.
        openOne(pool, upstream, { capabilities }).finally(() => {
          pool.opening -= 1;
        }),
      );
    }
  }

  async function openOne(pool: Pool, upstream: Upstream, { capabilities }: OpenSession): Promise<void> {
    const owner: Prepared["owner"] = {};
    const session = await connector.open(upstream, {
      capabilities,
      signal: over.signal,
      onCut: (why) => owner.onCut?.(why),
      onFlood: () => (owner.onFlood ? owner.onFlood() : void session.close()),
    });
    // Nothing is to be gained where a connection costs nothing.
    if (session.isStateless || over.signal.aborted) return await session.close();
    const one: Prepared = { session, owner, timer: setTimeout(() => leave(pool, one), keptMs) };
    session.client.onclose = () => leave(pool, one);
    session.client.onerror = () => leave(pool, one);
    pool.ready.add(one);
  }

  return {
    async open(upstream, request) {
      const key = keyOf(upstream, request);
      const pool = pools.get(key) ?? { ready: new Set(), opening: 0, cameAtMs: [] };
      if (!pools.has(key)) forgetIdle();
      const nowMs = Date.now();
      pool.cameAtMs = [...pool.cameAtMs.filter((atMs) => atMs > nowMs - keptMs).slice(1 - PREPARED_EACH_MAX), nowMs];
      const prepareNext = () => {
        pools.set(key, pool);
        whenQuiet(() => prepare(pool, upstream, request));
      };
      const [one] = request.isFresh === true ? [] : pool.ready;
      if (!one) {
        const session = await connector.open(upstream, request);
        if (!session.isStateless) prepareNext();
        return session;
      }
      remove(pool, one);
      request.prepare?.(one.session.client);
      one.owner.onCut = request.onCut;
      one.owner.onFlood = request.onFlood;
      prepareNext();
      return { ...one.session, isPrepared: true };
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
function keyOf({ name, reached }: Upstream, { capabilities }: OpenSession): string {
  return JSON.stringify([name, reached, capabilities]);
}
