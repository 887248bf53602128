/**
 * Grants that outlive their tasks, shared by all front ends and workers:
 *
 *   parley:grants:{<owner>}                         sorted set: the ids of the owner's grants, by the time at which they end
 *   parley:grants:{<owner>}:<id>                    hash: a grant; expires a while after its last use
 *   parley:grants:{<owner>}:<id>:removed:<removal>  hash: what a removal has removed, while it may be sent again
 *   parley:{p0}:granted                             sorted set: owners that have grants, by the time at which the last one may end; for operators
 *
 * The owner is a digest of tenant and principal. Tokens are sealed twice: by PARLEY_SECRET, bound to owner, grant and
 * consent, and as content by the tenant's data key, so that erasing the tenant's keys erases them too. The id of a
 * consent has the form of a task id, because that names the data key.
 *
 * A grant names the secret that sealed its tokens, so that a process which has other secrets leaves it to those that can
 * open it. Its first use after a rotation of PARLEY_SECRET seals it with the newest one.
 */
import { hash, randomUUID } from "node:crypto";
import {
  type Audit,
  type AuditFact,
  DEFAULT_TENANT,
  describeError,
  GRANT_KEPT_MAX_MS,
  GRANTS_MAX,
  type GrantAbout,
  type GrantEnd,
  type GrantOwner,
  type GrantRef,
  type Ids,
  type KeptGrant,
  type KeptGrants,
  type ListedGrant,
  type Log,
  ParleyError,
} from "@parley/core";
import type { Redis } from "ioredis";
import { type ContentCodec, DamagedContent } from "../content/codec.ts";
import type { Keys } from "../keys.ts";
import { loadScripts } from "../scripts/load-scripts.ts";
import type { Acknowledge } from "../connection/replicas.ts";
import { reached } from "../connection/unavailable.ts";

/** Seals tokens, in addition to the content key. */
export interface GrantSeal {
  /** Digests that name the secrets: the first one seals, all of them open. */
  readonly secretIds: readonly string[];
  seal(owner: string, grant: string, text: string): string;
  /** Throws a ParleyError DEPOSIT_UNREADABLE. */
  open(owner: string, grant: string, sealed: string): string;
}

/** A grant as an operator sees it. */
export interface RegisteredGrant extends ListedGrant {
  readonly owner: string;
  readonly principal: string;
  readonly tenant: string;
}

export interface GrantFilter {
  readonly principal?: string | undefined;
  readonly tenant?: string | undefined;
  readonly id?: string | undefined;
}

/** For operators. Reads no tokens. */
export interface GrantRegister {
  list(filter?: GrantFilter): AsyncGenerator<RegisteredGrant>;
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

/** What a script returns of a grant: nothing, if there is none. */
type Packed<Fields extends readonly string[]> = Fields | [];

interface Taken {
  readonly consent: string;
  /** Sealed. */
  readonly tokens: string;
  readonly stored: Stored;
}

/** Longer than a command is sent again, unless PARLEY_REDIS_TIMEOUT is much longer than its default. */
const REMOVED_MS = 15_000;

const aboutOf = ({ upstream, provider, scopes }: Stored): GrantAbout => ({ upstream, provider, scopes });

export function createGrantRegister(options: KeptGrantsOptions): GrantRegister & { sealedBy(seal: GrantSeal): KeptGrants } {
  const { redis, keys, partitions, codec, ids, acknowledge, audit, log, now } = options;
  const keyCount = (name: string) => (name === "remove" ? 3 : 2);
  const scripts = loadScripts(redis, { names: ["keep", "use", "renew", "remove"], folder: "grant/", keyCount });
  const partitionOf = (owner: string) => Number.parseInt(hash("sha256", owner).slice(0, 8), 16) % partitions;
  const keysOf = (owner: string, id: string) => [keys.grants(owner), keys.grant(owner, id)] as const;

  function note(stored: Stored, fact: Pick<AuditFact, "verdict" | "taskId" | "door">): void {
    const { principal, tenant } = stored;
    void audit?.note({ action: "grant", principal, ...(tenant !== undefined && { tenant }), grant: aboutOf(stored), ...fact });
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

  /** Undefined if it is not what was written: one damaged grant must not hide the others. */
  function storedOf(id: string, about: string): Stored | undefined {
    try {
      return JSON.parse(about) as Stored;
    } catch {
      log.error({ grant: id }, "grant is damaged");
      return undefined;
    }
  }

  /** Removes a grant, and resolves to what it was. */
  async function take(owner: string, id: string, which: string): Promise<Taken | undefined> {
    const removal = `${keys.grant(owner, id)}:removed:${randomUUID()}`;
    const removed = (await acknowledge(scripts.remove([...keysOf(owner, id), removal, id, which, REMOVED_MS]))) as Packed<
      [string, string, string]
    >;
    if (removed.length === 0) return undefined;
    const [consent, tokens, about] = removed;
    const stored = storedOf(id, about);
    return stored && { consent, tokens, stored };
  }

  /** The owner's grants; those that end first come first. */
  async function grantsOf(owner: string): Promise<readonly (ListedGrant & { readonly stored: Stored })[]> {
    const members = await reached(redis.zrange(keys.grants(owner), "0", "-1", "WITHSCORES"));
    const ids = members.filter((_member, at) => at % 2 === 0);
    const read = (id: string) => redis.hmget(keys.grant(owner, id), "about", "consent", "kept_at_ms", "used_at_ms");
    const found = await reached(Promise.all(ids.map(read)));
    return ids.flatMap((id, at) => {
      const [text, consent, keptAtMs, usedAtMs] = found[at] ?? [];
      // The grant has ended since.
      if (typeof consent !== "string") return [];
      const stored = storedOf(id, text ?? "");
      if (!stored) return [];
      const times = { keptAtMs: Number(keptAtMs), usedAtMs: Number(usedAtMs), endsAtMs: Number(members[2 * at + 1]) };
      return [{ id, consent, about: aboutOf(stored), ...times, stored }];
    });
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

  async function* list({ principal, tenant, id }: GrantFilter = {}): AsyncGenerator<RegisteredGrant> {
    const seen = new Set<string>();
    const found = principal !== undefined && tenant !== undefined ? [ownerOf({ principal, tenant })] : owners();
    for await (const owner of found) {
      if (seen.has(owner)) continue;
      seen.add(owner);
      for (const { stored, ...grant } of await grantsOf(owner)) {
        const whose = { principal: stored.principal, tenant: stored.tenant ?? DEFAULT_TENANT };
        if (
          (principal ?? whose.principal) !== whose.principal ||
          (tenant ?? whose.tenant) !== whose.tenant ||
          (id ?? grant.id) !== grant.id
        )
          continue;
        yield { owner, ...whose, ...grant };
      }
    }
  }

  return {
    list,

    async revoke(filter) {
      let revoked = 0;
      for await (const { owner, id } of list(filter)) {
        const taken = await take(owner, id, "");
        if (!taken) continue;
        revoked += 1;
        note(taken.stored, { verdict: "revoked" });
      }
      return revoked;
    },

    sealedBy(seal) {
      const [newest = ""] = seal.secretIds;
      const bound = (owner: string) => `grant ${owner}`;
      const sealed = (owner: string, id: string, { consent, text }: KeptGrant) =>
        codec.of(consent).sealWord("grant", seal.seal(bound(owner), `${id} ${consent}`, text));
      /** Undefined if no process can open it. Throws CONTENT_KEY_MISSING. */
      async function opened(
        owner: string,
        id: string,
        { consent, tokens }: Pick<Taken, "consent" | "tokens">,
      ): Promise<string | undefined> {
        if (!(await access(consent))) return undefined;
        try {
          return seal.open(bound(owner), `${id} ${consent}`, codec.of(consent).openWord("grant", tokens));
        } catch (error) {
          if (error instanceof DamagedContent || (error instanceof ParleyError && error.code === "DEPOSIT_UNREADABLE")) return undefined;
          throw error;
        }
      }

      async function remove(ref: GrantRef, consent: string, why: GrantEnd): Promise<void> {
        const taken = await take(ownerOf(ref), ref.id, consent);
        if (!taken) return;
        const { stored } = taken;
        log.info({ grant: ref.id, upstream: stored.upstream, provider: stored.provider, why }, "grant no longer kept");
        note(stored, { verdict: why });
      }

      return {
        remove,

        async list(of) {
          const owner = ownerOf(of);
          const isTheirs = ({ principal, tenant = DEFAULT_TENANT }: Stored) =>
            principal === of.principal && tenant === (of.tenant ?? DEFAULT_TENANT);
          // A record that was moved to another owner in Redis is not shown to them.
          return (await grantsOf(owner)).flatMap(({ stored, ...grant }) => (isTheirs(stored) ? [grant] : []));
        },

        async revoke(ref, consent, door) {
          const owner = ownerOf(ref);
          const taken = await take(owner, ref.id, consent);
          if (!taken) return undefined;
          note(taken.stored, { verdict: "revoked", ...(door !== undefined && { door }) });
          const text = await opened(owner, ref.id, taken).catch((error: unknown) => {
            // The grant is gone, whether or not its tokens open.
            log.warn({ grant: ref.id, ...describeError(error) }, "revoked grant does not open");
            return undefined;
          });
          return { about: aboutOf(taken.stored), text };
        },

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
            newest,
          ];
          await acknowledge(scripts.keep([...keysOf(owner, id), ...given]));
          note(stored, { verdict: "kept", taskId });
          return consent;
        },

        async use(ref, { ttlMs, taskId }) {
          const owner = ownerOf(ref);
          const read = () => scripts.use([...keysOf(owner, ref.id), ref.id, Math.floor(now()), Math.ceil(ttlMs), ...seal.secretIds]);
          // Sent together, so that a task that begins waits for one round trip. The owner of no grant is listed for nothing, until the list is
          // trimmed.
          const isListed = taskId === undefined ? undefined : listOwner(owner, ttlMs);
          const [found] = await Promise.all([reached(read()) as Promise<Packed<[string, string, string, string]>>, isListed]);
          if (found.length === 0) return undefined;
          const [consent, tokens, about, secretId] = found;
          const stored = storedOf(ref.id, about);
          if (!stored) {
            await take(owner, ref.id, consent);
            return undefined;
          }
          const facts = { grant: ref.id, upstream: stored.upstream, provider: stored.provider };
          if (tokens === "") {
            log.warn(facts, "grant is sealed by a secret that this process does not have (PARLEY_SECRET)");
            return undefined;
          }
          const text = await opened(owner, ref.id, { consent, tokens });
          if (text === undefined) {
            // The secret is one of ours, so no other process opens it either: it was moved or damaged, or the tenant's keys were erased.
            if (secretId !== "") await remove(ref, consent, "unreadable");
            else log.warn(facts, "grant of an earlier version does not open");
            return undefined;
          }
          if (secretId !== newest) {
            // During a rotation, or kept by an earlier version, whose grants have not started their time again above.
            await acknowledge(scripts.renew([...keysOf(owner, ref.id), tokens, sealed(owner, ref.id, { consent, text }), newest]));
            if (secretId === "") await reached(read());
          }
          if (taskId !== undefined) note(stored, { verdict: "used", taskId });
          return { consent, text };
        },

        async replace(ref, before, text) {
          const owner = ownerOf(ref);
          const [consent, tokens] = await reached(redis.hmget(keys.grant(owner, ref.id), "consent", "tokens"));
          if (consent !== before.consent || !tokens) return false;
          const found = await opened(owner, ref.id, { consent, tokens });
          // An earlier call wrote it, and its reply was lost.
          if (found === text) return true;
          if (found !== before.text) return false;
          const renewed = sealed(owner, ref.id, { consent, text });
          return (await acknowledge(scripts.renew([...keysOf(owner, ref.id), tokens, renewed, newest]))) === 1;
        },
      };
    },
  };
}

/** A digest, because names must not appear in keys. */
function ownerOf({ principal, tenant = DEFAULT_TENANT }: GrantOwner): string {
  return hash("sha256", JSON.stringify([tenant, principal]), "base64url").slice(0, 22);
}
