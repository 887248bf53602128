/**
 * The sessions of a pipe: the current one, and earlier ones that still have open requests. Opens another session if the server has lost the current one, and
 * reads its standalone stream.
 */
import { isStream, parsed, readEvents } from "./events.ts";
import type { Exchange } from "./exchange.ts";
import type { Link } from "./link.ts";
import { describe } from "./failures.ts";
import { backoff, pause } from "./patience.ts";
import type { Receive } from "./receive.ts";
import { ask, get, post } from "./remote.ts";
import { bodyOf } from "./responses.ts";
import { agreedVersion, type Session } from "./session.ts";

const GOODBYE_MS = 250;

export interface Sessions {
  /** An earlier session by its id, if it is still open; otherwise the current one. */
  find(id: string | undefined): Session | undefined;
  /** Enters the session that the response to `initialize` opened. */
  enter(exchange: Exchange, response: Response): void;
  /** Replaces a session that the server has lost, once for all concurrent callers. Returns false if it cannot. */
  reopen(gone: Session): Promise<boolean>;
  /** Reads the session's standalone stream for as long as the session lives. */
  readStandalone(session: Session): Promise<void>;
  /** Ends earlier sessions that have no open request. */
  endEarlier(): void;
  endAll(): Promise<void>;
}

export function createSessions({ remote, log, exchanges, memory, closing }: Link, receive: Receive): Sessions {
  /** Previous sessions that still have open requests after the client opened another one, by id. */
  const earlier = new Map<string, Session>();
  let reopening: Promise<boolean> | undefined;

  function sessionOf(response: Response): Session {
    memory.current?.over.abort();
    return { id: response.headers.get("mcp-session-id") ?? undefined, version: undefined, over: new AbortController() };
  }

  /**
   * Enters the session that `initialize` opened. A pipe may see several handshakes, because a program may run several clients on it one after another.
   * Earlier requests finish on their own streams; later messages belong to the new session.
   */
  function enter(exchange: Exchange, response: Response): void {
    const [request] = exchange.requests;
    const before = memory.current;
    // The server refused the handshake: keep the current session.
    if (before?.id !== undefined && !response.headers.has("mcp-session-id")) return;
    if (request) memory.open(request);
    memory.current = sessionOf(response);
    if (before?.id === undefined) return;
    earlier.set(before.id, before);
    endEarlier();
  }

  function endEarlier(): void {
    for (const [id, session] of earlier) {
      if ([...exchanges.values()].some((each) => each.session === id)) continue;
      earlier.delete(id);
      void endSession(session);
    }
  }

  /** Ends a session. If this fails, the session expires at the server. */
  async function endSession(session: Session): Promise<void> {
    if (session.id === undefined) return;
    const signal = AbortSignal.timeout(GOODBYE_MS);
    await ask(remote, { method: "DELETE", headers: memory.headers(session), signal }).then(
      (response) => response.body?.cancel(),
      () => undefined,
    );
  }

  async function reopen(gone: Session): Promise<boolean> {
    if (memory.current?.id !== gone.id) return true;
    reopening ??= openAgain().finally(() => (reopening = undefined));
    return await reopening;
  }

  async function openAgain(): Promise<boolean> {
    const { initialize } = memory;
    if (!initialize) return false;
    log("the session has ended at the server: opening another");
    try {
      const request = (message: object, headers: Record<string, string>) => post(remote, JSON.stringify(message), headers, closing);
      const response = await request({ jsonrpc: "2.0", id: "parley-stdio", method: "initialize", params: initialize.params }, {});
      const text = await bodyOf(response);
      const version = agreedVersion(parsed(text));
      if (!response.ok || version === undefined) return false;
      const session = { ...sessionOf(response), version };
      memory.current = session;
      const headers = memory.headers(session);
      if (memory.initialized) {
        await (await request({ jsonrpc: "2.0", method: "notifications/initialized" }, headers)).body?.cancel();
        void readStandalone(session);
      }
      for (const { method, params } of memory.settings)
        await (await request({ jsonrpc: "2.0", id: "parley-stdio", method, params }, headers)).body?.cancel();
      return true;
    } catch (error) {
      log(`no session could be opened: ${describe(error)}`);
      return false;
    }
  }

  async function readStandalone(session: Session): Promise<void> {
    const signal = AbortSignal.any([closing, session.over.signal]);
    let lastEventId: string | undefined;
    let retryMs = 0;
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      try {
        const response = await get(
          remote,
          { ...memory.headers(session), ...(lastEventId !== undefined && { "last-event-id": lastEventId }) },
          signal,
        );
        if (response?.status === 405) return await response.body?.cancel();
        if (response?.status === 404) return void (await reopen(session));
        if (response?.ok && isStream(response)) {
          attempt = 0;
          await readEvents(response, {
            onMessage: (message) => receive(message),
            onId: (id) => (lastEventId = id),
            onRetry: (ms) => (retryMs = ms),
          });
        } else await response?.body?.cancel();
      } catch {
        // The stream broke. The loop opens it again, unless it was aborted.
      }
      if (!signal.aborted) await pause(Math.max(retryMs, backoff(attempt)), signal).catch(() => undefined);
    }
  }

  return {
    find: (id) => earlier.get(id ?? "") ?? memory.current,
    enter,
    reopen,
    readStandalone,
    endEarlier,
    async endAll() {
      const { current } = memory;
      current?.over.abort();
      await Promise.all([...earlier.values(), ...(current ? [current] : [])].map(endSession));
    },
  };
}
