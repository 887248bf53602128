/**
 * Sessions of upstreams that keep state for their client (`reuseSessions: true`), such as a browser: one for each caller, in one process.
 *
 *   open ─▶ the caller's session is here ─▶ its calls take turns ─▶ the call ─▶ waits for the next call
 *       ├▶ there is none, and was none ───▶ a new one, of which this process is named as the owner
 *       ├▶ another living process has it ─▶ refused; processes/gateway.ts sends runs there before they begin
 *       └▶ it has ended, or its process ──▶ StateLost, until the caller was told; then a new one
 *
 *   K1  A caller has at most one session with state at an upstream. Its owner is named before the session is opened.
 *   K2  State never ends silently: the name of its owner stays until a caller was told, or for a day after the session could have waited for a call.
 *   K3  A session in which no call has succeeded has no state: nobody is told of its end.
 */
import { hash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { CallFacts } from "@parley/core";
import type { Upstream } from "../config/upstreams.ts";
import { refuseQuestions, serveCall, stopWatching, watchIdle } from "./idle-session.ts";
import { type PreparedSessions, USES_MAX } from "./prepared-sessions.ts";
import { SessionBusy } from "./session-busy.ts";
import type { Closing, OpenSession, SessionOwner, StateOwner, UpstreamSession } from "./upstream-session.ts";

/** Which process has the state of a caller at an upstream. The deployment shares it. */
export interface StateOwners {
  readonly id: string;
  /** Names this process, if there is no name. Resolves to the process that is named, and whether it lives. */
  takeState(key: string, ttlMs: number): Promise<"new" | { readonly process: string; readonly isAlive: boolean }>;
  /** Prolongs the name, if it is this process's. */
  keepState(key: string, ttlMs: number): Promise<void>;
  /** Removes the name of that process. */
  releaseState(state: StateOwner): Promise<void>;
  /** Where runs that need the state belong. */
  stateAt(key: string): Promise<"here" | { readonly process: string }>;
}

/** The call was not made: what earlier calls left at the upstream is gone. */
export class StateLost extends Error {
  override readonly name = "StateLost";
  readonly state: StateOwner;
  constructor(why: string, state: StateOwner) {
    super(why);
    this.state = state;
  }
}

export interface KeptSessions extends PreparedSessions {
  /** Ends all sessions with state: other processes take this one for dead, and tell its callers so. */
  endAll(why: string): void;
}

export interface KeptOptions {
  readonly owners: StateOwners;
  readonly usesMax?: number;
}

interface Kept {
  /** Undefined while it is opened. */
  opened?: { readonly session: UpstreamSession; readonly owner: SessionOwner };
  /** How the upstream was reached: another one may have this name by now. */
  readonly at: string;
  readonly upstream: string;
  /** How many calls have succeeded in it. */
  uses: number;
  sinceMs: number;
  /** Resolves when its call has ended; undefined while it has none. */
  busy: PromiseWithResolvers<void> | undefined;
  timer?: NodeJS.Timeout;
}

const DAY_MS = 24 * 60 * 60_000;
/** The name of an owner outlives the longest question of a call. */
const BUSY_TTL_MS = 35 * DAY_MS;
/** How long a caller is told after the latest end of a session that waits. */
const TOLD_MS = DAY_MS;
/** How often a call that waits its turn looks whether the call before it asks somebody. */
const LOOK_MS = 500;
/** How many ends a process remembers the reasons of. */
const REASONS_MAX = 10_000;
const GONE = "the worker that kept it has ended";
const SOMEHOW = "its session has ended";

export function keepSessions(prepared: PreparedSessions, { owners, usesMax = USES_MAX }: KeptOptions): KeptSessions {
  const sessions = new Map<string, Kept>();
  /** Why sessions ended of which nobody was told yet, oldest first. */
  const reasons = new Map<string, string>();
  /** Upstreams that keep no sessions (2026-07-28): there is no state to lose. */
  const withoutSessions = new Set<string>();
  const closing = new Set<Promise<void>>();

  function close({ opened }: Kept, how?: Closing): Promise<void> {
    const done = (opened?.session.close(how) ?? Promise.resolve()).finally(() => closing.delete(done));
    closing.add(done);
    return done;
  }

  function remember(key: string, why: string): void {
    reasons.delete(key);
    reasons.set(key, why);
    for (const oldest of reasons.keys()) if (reasons.size > REASONS_MAX) reasons.delete(oldest);
  }

  /** K2, K3 */
  function leave(key: string, one: Kept, why: string): void {
    if (sessions.get(key) !== one) return;
    sessions.delete(key);
    clearTimeout(one.timer);
    if (one.opened) stopWatching(one.opened);
    if (one.uses > 0) remember(key, why);
    else void owners.releaseState({ key, process: owners.id }).catch(() => undefined); // then it expires, and a caller is told too much
    one.busy?.resolve();
  }

  /** An idle session ends. */
  function end(key: string, one: Kept, why: string): void {
    leave(key, one, why);
    void close(one);
  }

  function giveBack(key: string, one: Kept, { sessionTimeoutMs }: Upstream): void {
    const { opened, busy } = one;
    if (!opened) return;
    const ends = (why: string) => end(key, one, why);
    watchIdle(opened, ends);
    refuseQuestions(opened, ends);
    one.sinceMs = performance.now();
    one.timer = setTimeout(ends, sessionTimeoutMs, `no call came for ${sessionTimeoutMs / 1_000} s (sessionTimeout)`);
    one.timer.unref();
    one.busy = undefined;
    busy?.resolve();
    // If this fails, the name stays longer.
    void owners.keepState(key, sessionTimeoutMs + TOLD_MS).catch(() => undefined);
  }

  /** Makes room for one more session at the upstream. */
  function makeRoom({ name, concurrency }: Upstream): void {
    const all = [...sessions].filter(([, { upstream }]) => upstream === name);
    if (all.length < concurrency) return;
    const [oldest] = all.filter(([, { busy }]) => !busy).toSorted(([, left], [, right]) => left.sinceMs - right.sinceMs);
    if (oldest) end(...oldest, "its worker keeps as many sessions as `concurrency` allows, and others were used since");
  }

  /** Resolves when the call before it has ended, unless that asks somebody, or takes longer than a call may. */
  async function turn(one: Kept, { connectTimeoutMs, callTimeoutMs }: Upstream, signal: AbortSignal | undefined): Promise<void> {
    const sinceMs = performance.now();
    let askingSinceMs: number | undefined;
    while (one.busy) {
      signal?.throwIfAborted();
      const nowMs = performance.now();
      askingSinceMs = one.opened?.owner.isAsking?.() === true ? (askingSinceMs ?? nowMs) : undefined;
      if (askingSinceMs !== undefined && nowMs - askingSinceMs > connectTimeoutMs)
        throw new SessionBusy(
          "keeps state for this caller, whose earlier call waits for an answer: answer its question, or cancel it, first",
        );
      if (nowMs - sinceMs > callTimeoutMs)
        throw new SessionBusy("keeps state for this caller, and an earlier call has not ended yet: calls in one session take turns");
      const stop = new AbortController();
      await Promise.race([one.busy.promise, sleep(LOOK_MS, undefined, { signal: stop.signal }).catch(() => undefined)]);
      stop.abort();
    }
  }

  /** The session as its call has it: closing it gives it back. */
  function forCall(key: string, one: Kept & Required<Pick<Kept, "opened">>, upstream: Upstream): UpstreamSession {
    const { session, owner } = one.opened;
    const hadState = one.uses > 0;
    let isOpen = true;
    return {
      ...session,
      ...(hadState && { isPrepared: true, state: { key, process: owners.id } }),
      async close(how: Closing = {}) {
        if (!isOpen) return;
        isOpen = false;
        if (how.isDone === true) one.uses += 1;
        const isUsable = session.client.transport !== undefined && owner.isSpent !== true && sessions.get(key) === one;
        if (how.isDone === true && isUsable && one.uses < usesMax) return giveBack(key, one, upstream);
        leave(key, one, one.uses < usesMax ? "an earlier call in it failed, or was cancelled" : `it has served ${usesMax} calls`);
        await close(one, how);
      },
    };
  }

  async function take(key: string, one: Kept, upstream: Upstream, request: OpenSession): Promise<UpstreamSession> {
    const owner = await owners.takeState(key, BUSY_TTL_MS);
    if (owner !== "new") {
      if (owner.process !== owners.id && owner.isAlive)
        throw new SessionBusy("keeps state for this caller at another worker, where this call was not sent in time");
      const why = owner.process === owners.id ? (reasons.get(key) ?? SOMEHOW) : GONE;
      throw new StateLost(why, { key, process: owner.process });
    }
    makeRoom(upstream);
    const held = { ...request.owner };
    const session = await prepared.openNew(upstream, { ...request, owner: held });
    const opened = { session, owner: held };
    if (!session.isStateless) return forCall(key, Object.assign(one, { opened }), upstream);
    withoutSessions.add(upstream.name);
    leave(key, one, SOMEHOW);
    return session;
  }

  return {
    async open(upstream, request) {
      const { stateKey: key, signal } = request;
      if (!upstream.keepsState || key === undefined || request.accessToken) return await prepared.open(upstream, request);
      if (withoutSessions.has(upstream.name)) {
        const session = await prepared.open(upstream, request);
        // It was replaced by a server that has sessions: the next call begins to keep one.
        if (!session.isStateless) withoutSessions.delete(upstream.name);
        return session;
      }
      for (;;) {
        const found = sessions.get(key);
        if (found?.busy) {
          await turn(found, upstream, signal);
          continue;
        }
        if (found && found.at !== addressOf(upstream)) end(key, found, "the upstream's entry in the file was changed");
        else if (found?.opened) {
          const { opened } = found;
          clearTimeout(found.timer);
          found.busy = Promise.withResolvers();
          serveCall(opened, request);
          void owners.keepState(key, BUSY_TTL_MS).catch(() => undefined);
          return forCall(key, Object.assign(found, { opened }), upstream);
        }
        const one: Kept = { at: addressOf(upstream), upstream: upstream.name, uses: 0, sinceMs: 0, busy: Promise.withResolvers() };
        sessions.set(key, one);
        try {
          return await take(key, one, upstream, request);
        } catch (error) {
          if (error instanceof StateLost || error instanceof SessionBusy) {
            // Not this process's to release.
            sessions.delete(key);
            one.busy?.resolve();
          } else leave(key, one, SOMEHOW);
          throw error;
        }
      }
    },
    openNew: prepared.openNew,
    sessionTasks: prepared.sessionTasks,
    async told(state) {
      reasons.delete(state.key);
      await owners.releaseState(state);
    },
    forget(upstream) {
      withoutSessions.delete(upstream.name);
      prepared.forget(upstream);
    },
    endAll(why) {
      for (const [key, one] of sessions) end(key, one, why);
    },
    async close() {
      for (const [key, one] of sessions) end(key, one, GONE);
      await Promise.all([...closing, prepared.close()]);
    },
  };
}

/** Its credentials may change, but not what they lead to. */
function addressOf({ reached }: Upstream): string {
  return reached.by === "url" ? reached.url : JSON.stringify([reached.command, reached.args, reached.cwd, reached.env]);
}

/**
 * Names a caller's state at an upstream. The caller is a session of an MCP client or, where calls belong to none (2026-07-28), a principal. A session
 * declares once whether models and folders can be asked for, so callers that differ in it have sessions of their own.
 */
export function stateKeyOf(upstream: Pick<Upstream, "name">, call: Pick<CallFacts, "principal" | "session" | "capabilities">): string {
  const { principal, session = "", capabilities } = call;
  const parts = [upstream.name, principal, session, capabilities.sampling !== undefined, capabilities.roots === true];
  return hash("sha256", JSON.stringify(parts), "base64url");
}
