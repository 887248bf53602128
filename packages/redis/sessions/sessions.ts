/**
 * The session store on Redis: one hash per session, one expiry. Races are settled in scripts/session/*.lua. Methods
 * that only read or remove use plain commands, which can neither create a hash nor lose a race.
 */
import {
  CANCELLED_CALL,
  type ClaimedAsk,
  DEFAULT_TENANT,
  type LogLevel,
  type Session,
  type SessionOwner,
  type SessionStore,
} from "@parley/core";
import type { Redis } from "ioredis";
import type { RedisWakeUps } from "../wake-ups/wake-ups.ts";
import type { Keys } from "../keys.ts";
import { defineSessionScripts } from "../scripts/session-scripts.ts";
import { packCapabilities, unpackCapabilities } from "../tasks/task-hash.ts";
import { reached } from "../connection/unavailable.ts";

export interface RedisSessionsOptions {
  readonly redis: Redis;
  readonly wakeUps: Pick<RedisWakeUps, "listen">;
  readonly keys: Keys;
  /** Whether wake-ups stay on the session's node of a cluster. */
  readonly sharded?: boolean;
}

export function createRedisSessions({ redis, wakeUps, keys, sharded = false }: RedisSessionsOptions): SessionStore {
  const scripts = defineSessionScripts(redis, sharded);
  const wake = (key: string, message = "") => (sharded ? redis.spublish(key, message) : redis.publish(key, message));

  return {
    async open(session, ttlMs) {
      const key = keys.session(session.id);
      if (key === undefined) throw new TypeError("a new session needs a session id");
      await reached(scripts.open(key, { session: packSession(session), level: session.logLevel, ttlMs }));
    },

    async touch(sessionId, ttlMs, caller) {
      const key = keys.session(sessionId);
      if (key === undefined) return undefined;
      const [facts, level] = await reached(scripts.touch(key, { ttlMs, beginsWith: caller ? beginningOf(caller) : "" }));
      return facts === null ? undefined : unpackSession(sessionId, facts, level);
    },

    async close(sessionId) {
      const key = keys.session(sessionId);
      if (key === undefined) return false;
      const [removed] = await reached(Promise.all([redis.del(key), wake(key, ENDED)]));
      return removed > 0;
    },

    async setLogLevel(sessionId, level) {
      const key = keys.session(sessionId);
      if (key !== undefined) await reached(scripts.note(key, { field: "level", value: level }));
    },

    async subscribe(sessionId, uri, most) {
      const key = keys.session(sessionId);
      const added = key !== undefined && (await reached(scripts.add(key, { kind: "uri:", name: uri, most })));
      return added === "added" ? "subscribed" : "full";
    },

    async unsubscribe(sessionId, uri) {
      const key = keys.session(sessionId);
      if (key === undefined) return;
      await reached(redis.hdel(key, `uri:${uri}`));
      // Even if it removed nothing: it may have been sent again, because the reply of the one that did was lost.
      await reached(wake(key));
    },

    async noteCall(sessionId, call, taskId, most) {
      const key = keys.session(sessionId);
      if (key === undefined) return "gone";
      return await reached(scripts.call(key, { call, taskId, most }));
    },

    async cancelCall(sessionId, call, most) {
      const key = keys.session(sessionId);
      if (key === undefined) return undefined;
      return (await reached(scripts.cancel(key, { call, most }))) || undefined;
    },

    async stateOfCall(sessionId, call) {
      const key = keys.session(sessionId);
      if (key === undefined) return "gone";
      const [isOpen, noted] = await reached(redis.hmget(key, "session", `call:${call}`));
      if (isOpen === null) return "gone";
      return noted === CANCELLED_CALL ? "cancelled" : "open";
    },

    async forgetCalls(sessionId, calls) {
      const key = keys.session(sessionId);
      if (key !== undefined && calls.length > 0) await reached(redis.hdel(key, ...calls.map((call) => `call:${call}`)));
    },

    async calls(sessionId) {
      const key = keys.session(sessionId);
      const fields = key === undefined ? {} : await reached(redis.hgetall(key));
      const noted = Object.entries(fields).filter(([field]) => field.startsWith("call:"));
      return new Map(noted.map(([field, taskId]) => [field.slice("call:".length), taskId]));
    },

    async follow(sessionId, taskId, most) {
      const key = keys.session(sessionId);
      const added = key !== undefined && (await reached(scripts.add(key, { kind: "task:", name: taskId, most })));
      return added === "added" ? "following" : "full";
    },

    async unfollow(sessionId, taskIds) {
      const key = keys.session(sessionId);
      if (key === undefined || taskIds.length === 0) return;
      const fields = await reached(redis.hkeys(key));
      const over = fields.filter((field) => taskIds.some((taskId) => field === `task:${taskId}` || field.startsWith(`asked:${taskId}:`)));
      if (over.length > 0) await reached(redis.hdel(key, ...over));
    },

    async interests(sessionId) {
      const key = keys.session(sessionId);
      const fields = key === undefined ? [] : await reached(redis.hkeys(key));
      return { taskIds: named("task:", fields), resources: named("uri:", fields) };
    },

    async holdStream({ sessionId, leaseMs, ...hold }) {
      const key = keys.session(sessionId);
      if (key === undefined) return { type: "gone" };
      const [type, ...asks] = await reached(scripts.hold(key, { ...hold, leaseUntilMs: hold.nowMs + leaseMs }));
      if (type !== "held") return { type };
      return { type, put: asks.flatMap((ask, i) => (i % 2 === 0 ? { ...claimed(ask), refusals: Number(asks[i + 1]) } : [])) };
    },

    async keepStream({ sessionId, stream, token, nowMs, leaseMs }) {
      const key = keys.session(sessionId);
      return key === undefined ? "lost" : await reached(scripts.keep(key, { stream, token, leaseUntilMs: nowMs + leaseMs }));
    },

    async dropStream({ sessionId, stream, token }) {
      const key = keys.session(sessionId);
      if (key !== undefined) await reached(scripts.drop(key, { stream, token }));
    },

    async endStream({ sessionId, ...end }) {
      const key = keys.session(sessionId);
      if (key !== undefined) await reached(scripts.end(key, end));
    },

    async claimAsk({ sessionId, taskId, key: ask, ...claim }) {
      const key = keys.session(sessionId);
      return key === undefined ? "elsewhere" : await reached(scripts.claim(key, { ...claim, ask: `${taskId}:${ask}` }));
    },

    async claims(sessionId) {
      const key = keys.session(sessionId);
      const fields = key === undefined ? [] : await reached(redis.hkeys(key));
      return named("asked:", fields).map(claimed);
    },

    async forgetClaims(sessionId, claims) {
      const key = keys.session(sessionId);
      const fields = claims.map(({ taskId, key: ask }) => `asked:${taskId}:${ask}`);
      if (key !== undefined && fields.length > 0) await reached(redis.hdel(key, ...fields));
    },

    async watch(sessionId, onChange) {
      const key = keys.session(sessionId);
      if (key === undefined) return () => undefined; // an invalid session id never changes
      return await wakeUps.listen(key, (message) => onChange(message === ENDED));
    },
  };
}

/** The message to the watchers of a session that was closed. Other changes are told without one. */
const ENDED = "ended";

function named(kind: string, fields: readonly string[]): string[] {
  return fields.filter((field) => field.startsWith(kind)).map((field) => field.slice(kind.length));
}

/** `<task id>:<key>`. Task ids contain no colon. */
function claimed(ask: string): ClaimedAsk {
  const colon = ask.indexOf(":");
  return { taskId: ask.slice(0, colon), key: ask.slice(colon + 1) };
}

/** Packed like tasks: under 64 bytes Redis keeps a session's hash in its compact form. */
type PackedSession = [
  owner: string | [principal: string, tenant: string],
  version: string,
  capabilities: string,
  clientName?: string,
  clientVersion?: string,
];

function ownerOf({ principal, tenant = DEFAULT_TENANT }: { principal: string; tenant?: string | undefined }): PackedSession[0] {
  return tenant === DEFAULT_TENANT ? principal : [principal, tenant];
}

/** How the facts of every session of that owner begin. */
function beginningOf(owner: SessionOwner): string {
  return `[${JSON.stringify(ownerOf(owner))},`;
}

function packSession({ principal, tenant, version, capabilities, clientInfo }: Session): string {
  const packed: PackedSession = [ownerOf({ principal, tenant }), version, packCapabilities(capabilities)];
  if (clientInfo) packed.push(clientInfo.name, clientInfo.version);
  return JSON.stringify(packed);
}

function unpackSession(id: string, facts: string, level: string | null): Session {
  const [owner, version, capabilities, name, clientVersion] = JSON.parse(facts) as PackedSession;
  const [principal, tenant] = Array.isArray(owner) ? owner : [owner];
  return {
    id,
    principal,
    ...(tenant !== undefined && { tenant }),
    version,
    capabilities: unpackCapabilities(capabilities),
    ...(name !== undefined && clientVersion !== undefined && { clientInfo: { name, version: clientVersion } }),
    ...(level !== null && { logLevel: level as LogLevel }),
  };
}
