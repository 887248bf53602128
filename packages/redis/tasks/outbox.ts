/**
 * The outbox: a stream for each partition, which scripts/outbox/post.lua writes in the change itself, and which anybody may read
 * at any place (docs/adr/0026-events-are-read-from-an-outbox.md).
 */
import {
  DEFAULT_TENANT,
  type Outbox,
  type OutboxBounds,
  type OutboxChange,
  type OutboxEntry,
  ParleyError,
  type PartitionPlace,
} from "@parley/core";
import type { Redis } from "ioredis";
import { reached } from "../connection/unavailable.ts";
import type { ContentCodec } from "../content/codec.ts";
import type { Keys } from "../keys.ts";
import { loadScripts } from "../scripts/load-scripts.ts";

export interface OutboxOptions {
  readonly redis: Redis;
  readonly keys: Pick<Keys, "outbox">;
  readonly partitions: readonly number[];
  readonly codec: Pick<ContentCodec, "access" | "lookUps" | "lookUpsVersion">;
  readonly bounds: OutboxBounds;
}

/** An id after all that were given before a millisecond. */
const LAST = "18446744073709551615";

/** Throws UNAVAILABLE. */
export function createOutbox({ redis, keys, partitions, codec, bounds }: OutboxOptions): Outbox {
  const scripts = loadScripts(redis, { names: ["read"], folder: "outbox/", keyCount: () => 1 });

  /**
   * What tells that a key is missing is remembered for a while (data-keys.ts), as are keys. While the service that has it cannot be asked,
   * everybody waits: they would miss for good what can be told later.
   */
  async function withKey(entry: OutboxEntry): Promise<OutboxEntry> {
    try {
      return (await codec.access(entry.taskId)) === "key_missing" ? { ...entry, isKeyMissing: true } : entry;
    } catch (error) {
      if (error instanceof ParleyError && error.code === "UNAVAILABLE") throw error;
      return { ...entry, isKeyMissing: true };
    }
  }

  async function readPartition(partition: number, from: PartitionPlace | undefined, limit: number) {
    // An entry whose first changes were read is read again.
    const after = from?.after ?? "";
    const reply = (await reached(scripts.read([keys.outbox(partition), after, limit]))) as [string, number, string, string[]];
    const [now, length, oldest, flat] = reply;
    const nowMs = Number(now);
    const posted = Array.from({ length: flat.length / 2 }, (_, at) => entryOf(partition, flat[2 * at] ?? "", flat[2 * at + 1] ?? ""));
    const entries = await Promise.all(posted.map(withKey));
    const isMore = entries.length === limit;
    const read = entries.at(-1)?.id ?? after;
    // Nothing is posted with an earlier id any more.
    const quiet = `${nowMs - 1}-${LAST}`;
    const end: PartitionPlace = { after: isMore || isAfter(read, quiet) ? read : quiet, changes: 0 };
    // The oldest entry is trimmed only where there are more than the bound, and the whole stream after its age.
    const isTrimmed = length >= bounds.lengthMax && isAfter(oldest, after);
    const isTruncated = from !== undefined && after !== "0-0" && (isTrimmed || msOf(after) < nowMs - bounds.ageMs);
    return { entries, end, isMore, isTruncated, nowMs };
  }

  return {
    async now() {
      const read = await Promise.all(partitions.map((partition) => readPartition(partition, undefined, 1)));
      return read.map(({ end }) => end);
    },
    async read(from, limit) {
      // A partition that was added later is read from its beginning.
      const place = (partition: number) => from[partition] ?? { after: "0-0", changes: 0 };
      const read = await Promise.all(partitions.map((partition) => readPartition(partition, place(partition), limit)));
      return {
        entries: read.flatMap(({ entries }) => entries).toSorted((a, b) => msOf(a.id) - msOf(b.id)),
        end: read.map(({ end }) => end),
        isMore: read.some(({ isMore }) => isMore),
        isTruncated: read.some(({ isTruncated }) => isTruncated),
        nowMs: Math.max(0, ...read.map(({ nowMs }) => nowMs)),
      };
    },
    async names({ tenant, names }) {
      const lookUps = await codec.lookUps(tenant);
      return new Set(lookUps.flatMap((digest) => names.map(digest)));
    },
    namesVersion: (tenant) => codec.lookUpsVersion(tenant),
  };
}

type Posted = [
  taskId: string,
  revision: number,
  atMs: string | number,
  kind: string,
  name: string,
  owner: string | [string, string],
  flags: number,
  changes: string[],
];

const HIDDEN = 1;

function entryOf(partition: number, id: string, text: string): OutboxEntry {
  const [taskId, revision, atMs, kind, name, owner, flags, changes] = JSON.parse(text) as Posted;
  const [principal, tenant] = typeof owner === "string" ? [owner, DEFAULT_TENANT] : owner;
  return {
    id,
    partition,
    taskId,
    revision,
    atMs: Number(atMs),
    call: {
      kind: kind === "prompt" ? "prompt" : "tool",
      name,
      principal,
      ...(tenant !== DEFAULT_TENANT && { tenant }),
      hidden: flags % 2 === HIDDEN,
    },
    changes: changes.map(changeOf),
  };
}

function changeOf(text: string): OutboxChange {
  const [change = "", digests = ""] = text.split("\n");
  const colon = change.indexOf(":");
  const what = (colon < 0 ? change : change.slice(0, colon)) as OutboxChange["what"];
  const words = digests === "" ? [] : digests.split(" ");
  return {
    what,
    ...(colon >= 0 && { key: change.slice(colon + 1) }),
    audience: words.filter((word) => !word.startsWith("!")),
    ...(words.includes("!approval") && { isApproval: true as const }),
    ...(words.includes("!given") && { answeredAs: "given" as const }),
    ...(words.includes("!refused") && { answeredAs: "refused" as const }),
    ...(words.includes("!closed") && { answeredAs: "closed" as const }),
  };
}

/** Whether one id of a stream comes after another. `""` comes before all. */
export function isAfter(one: string, other: string): boolean {
  const [oneMs, otherMs] = [msOf(one), msOf(other)];
  return oneMs === otherMs ? numberOf(one) > numberOf(other) : oneMs > otherMs;
}

function msOf(id: string): number {
  return Number(id.split("-")[0] ?? 0);
}

function numberOf(id: string): bigint {
  return BigInt(id.split("-")[1] ?? 0);
}
