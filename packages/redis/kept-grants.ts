/**
 * Grants that outlive their tasks, shared by all front ends and workers:
 *
 *   parley:grants:{<owner>}        sorted set: the ids of the owner's grants, by the time at which they end
 *   parley:grants:{<owner>}:<id>   hash: a grant; expires a while after its last use
 *   parley:{p0}:granted            sorted set: owners that have grants, by the time at which the last one may end; for operators
 *
 * The owner is a digest of tenant and principal. Tokens are sealed twice: by PARLEY_SECRET, bound to owner, grant and
 * consent, and as content by the tenant's data key, so that erasing the tenant's keys erases them too. The id of a
 * consent has the form of a task id, because that names the data key.
 */
import { hash } from "node:crypto";
import {
  type Audit,
  type AuditFact,
  DEFAULT_TENANT,
  GRANT_KEPT_MAX_MS,
  type GrantAbout,
  type GrantEnd,
  type GrantOwner,
  type GrantRef,
  type Ids,
  type KeptGrant,
  type KeptGrants,
  type Log,
  ParleyError,
} from "@parley/core";
import type { Redis } from "ioredis";
import { type ContentCodec, DamagedContent } from "./content/codec.ts";
import type { Keys } from "./keys.ts";
import { loadScripts } from "./load-scripts.ts";
import type { Acknowledge } from "./replicas.ts";
import { reached } from "./unavailable.ts";

/** Maximum number of grants of one principal. One more replaces the one that would end first. */
export const GRANTS_MAX = 100;

/** Seals tokens, in addition to the content key. */
export interface GrantSeal {
  seal(owner: string, grant: string, text: string): string;
  /** Throws a ParleyError DEPOSIT_UNREADABLE. */
  open(owner: string, grant: string, sealed: string): string;
}

/** A grant as an operator sees it. */
export interface ListedGrant {
  readonly owner: string;
  readonly id: string;
  readonly principal: string;
  readonly tenant: string;
  readonly about: GrantAbout;
  readonly keptAtMs: number;
  readonly usedAtMs: number;
  readonly endsAtMs: number;
}

export interface GrantFilter {
  readonly principal?: string | undefined;
  readonly tenant?: string | undefined;
  readonly id?: string | undefined;
}

/** For operators. Reads no tokens. */
export interface GrantRegister {
  list(filter?: GrantFilter): AsyncGenerator<ListedGrant>;
  /** Removes the grants that match. Running calls ask again when they next need a token. Resolves to the number of removed grants. */
  revoke(filter: GrantFilter): Promise<number>;
}

export interface KeptGrantsOptions {
  readonly redis: Redis;
  readonly keys: Pick<Keys, "grants" | "grant" | "granted">;
  readonly partitions: number;
  readonly codec: Pick<ContentCodec, "access" | "of">;
  readonly ids: Pick<Ids, "taskId">;
  readonly acknowledge: Acknowledge;
  /** Without it there is no audit. */
  readonly audit?: Audit | undefined;
  readonly log: Log;
  readonly now: () => number;
}

interface Stored extends GrantAbout {
  readonly principal: string;
  readonly tenant?: string | undefined;
}

export function createGrantRegister(options: KeptGrantsOptions): GrantRegister & { sealedBy(seal: GrantSeal): KeptGrants } {
  const { redis, keys, partitions, codec, ids, acknowledge, audit, log, now } = options;
  const scripts = loadScripts(redis, { names: ["keep", "use", "renew", "remove"], folder: "grant/", keyCount: () => 2 });
  const partitionOf = (owner: string) => Number.parseInt(hash("sha256", owner).slice(0, 8), 16) % partitions;
  const keysOf = (owner: string, id: string) => [keys.grants(owner), keys.grant(owner, id)] as const;

  function note({ principal, tenant, ...about }: Stored, fact: Pick<AuditFact, "verdict" | "taskId">): void {
    const grant = { upstream: about.upstream, provider: about.provider, scopes: about.scopes };
    void audit?.note({ action: "grant", principal, ...(tenant !== undefined && { tenant }), grant, ...fact });
  }

  /** Called before a grant is written: an owner without grants in the list is harmless, but an owner missing from it could not be found. */
  async function listOwner(owner: string, ttlMs: number): Promise<void> {
    const granted = keys.granted(partitionOf(owner));
    await reached(
      Promise.all([
        redis.zadd(granted, "GT", now() + ttlMs, owner),
        redis.pexpire(granted, GRANT_KEPT_MAX_MS),
        redis.zremrangebyscore(granted, "-inf", now()),
      ]),
    );
  }

  async function access(consent: string): Promise<boolean> {
    const found = await codec.access(consent);
    if (found === "key_missing") throw new ParleyError("CONTENT_KEY_MISSING", "the key that a grant is sealed with is missing");
    return found === "open";
  }

  async function take(owner: string, id: string, consent: string): Promise<Stored | undefined> {
    const about = (await acknowledge(scripts.remove([...keysOf(owner, id), id, consent]))) as string;
    return about === "" ? undefined : (JSON.parse(about) as Stored);
  }

  async function* owners(): AsyncGenerator<string> {
    for (let partition = 0; partition < partitions; partition += 1) {
      let cursor = "0";
      do {
        const [next, flat] = await reached(redis.zscan(keys.granted(partition), cursor, "COUNT", 1_000));
        for (let i = 0; i < flat.length; i += 2) yield flat[i] ?? "";
        cursor = next;
      } while (cursor !== "0");
    }
  }

  async function* list({ principal, tenant, id }: GrantFilter = {}): AsyncGenerator<ListedGrant> {
    const seen = new Set<string>();
    const found = principal !== undefined && tenant !== undefined ? [ownerOf({ principal, tenant })] : owners();
    for await (const owner of found) {
      if (seen.has(owner)) continue;
      seen.add(owner);
      const members = await reached(redis.zrange(keys.grants(owner), "0", "-1", "WITHSCORES"));
      for (let i = 0; i < members.length; i += 2) {
        const [member = "", endsAt] = [members[i], members[i + 1]];
        const [text, keptAt, usedAt] = await reached(redis.hmget(keys.grant(owner, member), "about", "kept_at_ms", "used_at_ms"));
        if (text === null || text === undefined) continue;
        const { upstream, provider, scopes, ...of } = JSON.parse(text) as Stored;
        const whose = { principal: of.principal, tenant: of.tenant ?? DEFAULT_TENANT };
        if ((principal ?? whose.principal) !== whose.principal || (tenant ?? whose.tenant) !== whose.tenant || (id ?? member) !== member)
          continue;
        const times = { keptAtMs: Number(keptAt), usedAtMs: Number(usedAt), endsAtMs: Number(endsAt) };
        yield { owner, id: member, ...whose, about: { upstream, provider, scopes }, ...times };
      }
    }
  }

  return {
    list,

    async revoke(filter) {
      let revoked = 0;
      for await (const { owner, id } of list(filter)) {
        const stored = await take(owner, id, "");
        if (!stored) continue;
        revoked += 1;
        note(stored, { verdict: "revoked" });
      }
      return revoked;
    },

    sealedBy(seal) {
      const bound = (owner: string) => `grant ${owner}`;
      const sealed = (owner: string, id: string, { consent, text }: KeptGrant) =>
        codec.of(consent).sealWord("grant", seal.seal(bound(owner), `${id} ${consent}`, text));
      const opened = (owner: string, id: string, { consent, tokens }: { readonly consent: string; readonly tokens: string }) =>
        seal.open(bound(owner), `${id} ${consent}`, codec.of(consent).openWord("grant", tokens));

      async function read(
        owner: string,
        id: string,
        found: { readonly consent: string; readonly tokens: string },
      ): Promise<string | undefined> {
        if (!(await access(found.consent))) return undefined;
        try {
          return opened(owner, id, found);
        } catch (error) {
          if (error instanceof DamagedContent || (error instanceof ParleyError && error.code === "DEPOSIT_UNREADABLE")) return undefined;
          throw error;
        }
      }

      async function remove(ref: GrantRef, consent: string, why: GrantEnd): Promise<void> {
        const stored = await take(ownerOf(ref), ref.id, consent);
        if (!stored) return;
        log.info({ grant: ref.id, upstream: stored.upstream, provider: stored.provider, why }, "grant no longer kept");
        note(stored, { verdict: why });
      }

      return {
        remove,

        async keep(ref, { text, about, ttlMs, taskId }) {
          const { principal, tenant, id } = ref;
          const owner = ownerOf(ref);
          const consent = await ids.taskId(tenant);
          if (!(await access(consent))) throw new ParleyError("CONTENT_KEY_MISSING", "new grants cannot be sealed");
          const stored: Stored = { principal, ...(tenant !== undefined && { tenant }), ...about };
          await listOwner(owner, ttlMs);
          const given = [
            id,
            consent,
            sealed(owner, id, { consent, text }),
            JSON.stringify(stored),
            Math.floor(now()),
            Math.ceil(ttlMs),
            GRANTS_MAX,
          ];
          await acknowledge(scripts.keep([...keysOf(owner, id), ...given]));
          note(stored, { verdict: "kept", taskId });
          return consent;
        },

        async use(ref, { ttlMs, taskId }) {
          const owner = ownerOf(ref);
          const reply = (await reached(scripts.use([...keysOf(owner, ref.id), ref.id, Math.floor(now()), Math.ceil(ttlMs)]))) as string[];
          const [consent, tokens, about] = reply;
          if (consent === undefined || tokens === undefined || about === undefined) return undefined;
          const text = await read(owner, ref.id, { consent, tokens });
          if (text === undefined) {
            // The tenant's keys were erased, or PARLEY_SECRET has changed. The grant will not open again.
            await remove(ref, consent, "unreadable");
            return undefined;
          }
          if (taskId !== undefined) {
            await listOwner(owner, ttlMs);
            note(JSON.parse(about) as Stored, { verdict: "used", taskId });
          }
          return { consent, text };
        },

        async replace(ref, before, text) {
          const owner = ownerOf(ref);
          const [consent, tokens] = await reached(redis.hmget(keys.grant(owner, ref.id), "consent", "tokens"));
          if (consent !== before.consent || !tokens || !(await access(consent))) return false;
          const found = await read(owner, ref.id, { consent, tokens });
          // An earlier call wrote it, and its reply was lost.
          if (found === text) return true;
          if (found !== before.text) return false;
          const renewed = sealed(owner, ref.id, { consent, text });
          return (await acknowledge(scripts.renew([...keysOf(owner, ref.id), tokens, renewed]))) === 1;
        },
      };
    },
  };
}

/** A digest, because names must not appear in keys. */
function ownerOf({ principal, tenant = DEFAULT_TENANT }: GrantOwner): string {
  return hash("sha256", JSON.stringify([tenant, principal]), "base64url").slice(0, 22);
}
