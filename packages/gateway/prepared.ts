/**
 * Sessions that are opened ahead of the calls that will use them. Each call has a session of its own, and opening one takes two or three round
 * trips, or the start of a process. So while calls are made to an upstream, the next one's session is opened beside the work.
 *
 *   open ─▶ one that is ready, which no call has used; else one that is opened now ─▶ the next one is prepared
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
}

/** Those that wait to be taken, of all upstreams. */
export const PREPARED_MAX = 100;
const KEPT_MS = 10_000;

interface Prepared {
  readonly session: UpstreamSession;
  readonly owner: { onCallCut?: (() => void) | undefined };
  readonly timer: NodeJS.Timeout;
}

export function prepareSessions(
  connector: UpstreamConnector,
  { keptMs = KEPT_MS, preparedMax = PREPARED_MAX }: PreparedOptions = {},
): PreparedSessions {
  const ready = new Map<string, Prepared>();
  const opening = new Map<string, Promise<void>>();
  const over = new AbortController();
  const leaving = new Set<Promise<void>>();

  function leave(key: string, one: Prepared): void {
    if (ready.get(key) !== one) return;
    remove(key, one);
    const closing = one.session.close().finally(() => leaving.delete(closing));
    leaving.add(closing);
  }

  function remove(key: string, { session: { client }, timer }: Prepared): void {
    ready.delete(key);
    clearTimeout(timer);
    delete client.onclose;
    delete client.onerror;
  }

  function prepare(key: string, upstream: Upstream, { capabilities }: OpenSession): void {
    if (over.signal.aborted || ready.has(key) || opening.has(key) || ready.size + opening.size >= preparedMax) return;
    const work = openOne(key, upstream, { capabilities })
      // The call that comes next finds out what is wrong, and says it.
      .catch(() => undefined)
      .finally(() => opening.delete(key));
    opening.set(key, work);
  }

  async function openOne(key: string, upstream: Upstream, { capabilities }: OpenSession): Promise<void> {
    const owner: Prepared["owner"] = {};
    const session = await connector.open(upstream, { capabilities, signal: over.signal, onCallCut: () => owner.onCallCut?.() });
    // Nothing is to be gained where a connection costs nothing.
    if (session.isStateless || over.signal.aborted) return await session.close();
    const one: Prepared = { session, owner, timer: setTimeout(() => leave(key, one), keptMs) };
    session.client.onclose = () => leave(key, one);
    session.client.onerror = () => leave(key, one);
    ready.set(key, one);
  }

  return {
    async open(upstream, request) {
      const key = keyOf(upstream, request);
      const one = request.isFresh === true ? undefined : ready.get(key);
      if (!one) {
        const session = await connector.open(upstream, request);
        if (!session.isStateless) prepare(key, upstream, request);
        return session;
      }
      remove(key, one);
      request.prepare?.(one.session.client);
      one.owner.onCallCut = request.onCallCut;
      prepare(key, upstream, request);
      return { ...one.session, isPrepared: true };
    },
    forget: connector.forget,
    async close() {
      over.abort();
      for (const [key, one] of ready) leave(key, one);
      await Promise.all([...opening.values(), ...leaving]);
    },
  };
}

/** Of what a session is made for: upstreams of one name can differ once their file has changed. */
function keyOf({ name, reached }: Upstream, { capabilities }: OpenSession): string {
  return JSON.stringify([name, reached, capabilities]);
}
