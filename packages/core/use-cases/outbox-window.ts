/**
 * The newest part of the outbox, as it was read once for many. Whoever reads from a place within it reads no other store; whoever is further behind
 * reads the outbox. Both return the same.
 *
 *   start ─────────── entries ─────────── end
 *     └ everything after it, up to `end`, is here
 */
import type { Outbox, OutboxEntry, OutboxPage, OutboxPlace } from "../ports/outbox.ts";

/** Entries, of about a kilobyte each: of one partition, and of all together, as far as each may have a few. */
const OF_PARTITION_MAX = 1_000;
const WINDOW_MAX = 16_000;
const OF_PARTITION_MIN = 50;

export interface OutboxWindow extends Outbox {
  /** Undefined while nothing is kept. */
  readonly end: OutboxPlace | undefined;
  /** From here on, pages are added. */
  begin(place: OutboxPlace): void;
  /** What follows `end`. */
  add(page: OutboxPage): void;
  clear(): void;
}

interface Part {
  start: string;
  entries: OutboxEntry[];
}

export function outboxWindow(outbox: Outbox): OutboxWindow {
  let parts: Part[] = [];
  let end: OutboxPlace | undefined;
  let nowMs = 0;

  function begin(place: OutboxPlace): void {
    parts = place.map(({ after }) => ({ start: after, entries: [] }));
    end = place;
  }

  function isWithin(from: OutboxPlace): boolean {
    return parts.length > 0 && parts.every(({ start }, partition) => compare(from[partition]?.after ?? "", start) >= 0);
  }

  return {
    get end() {
      return end;
    },
    begin,
    add(page) {
      // What is missing is missed by who reads from before it, in the outbox.
      if (page.isTruncated) begin(page.end.map((place, partition) => firstBefore(page.entries, partition) ?? place));
      for (const entry of page.entries) parts[entry.partition]?.entries.push(entry);
      const share = Math.max(OF_PARTITION_MIN, Math.min(OF_PARTITION_MAX, Math.floor(WINDOW_MAX / parts.length)));
      for (const part of parts) {
        const over = part.entries.length - share;
        if (over <= 0) continue;
        part.start = part.entries[over - 1]?.id ?? part.start;
        part.entries.splice(0, over);
      }
      ({ end, nowMs } = page);
    },
    clear() {
      parts = [];
      end = undefined;
    },
    async read(from, limit) {
      if (!end || !isWithin(from)) return await outbox.read(from, limit);
      let isMore = false;
      const entries: OutboxEntry[] = [];
      const read = end.map((last, partition) => {
        const after = from[partition]?.after ?? "";
        const found = following(parts[partition]?.entries ?? [], after);
        entries.push(...found.slice(0, limit));
        if (found.length > limit) {
          isMore = true;
          return { after: found[limit - 1]?.id ?? after, changes: 0 };
        }
        // A part of an entry that is not here yet was read before.
        return compare(after, last.after) >= 0 ? (from[partition] ?? last) : last;
      });
      return { entries: entries.toSorted((a, b) => msOf(a.id) - msOf(b.id)), end: read, isMore, isTruncated: false, nowMs };
    },
    now: () => outbox.now(),
    names: (asked) => outbox.names(asked),
    namesVersion: (tenant) => outbox.namesVersion(tenant),
  };
}

/** By halves: most readers want only the newest. */
function following(entries: readonly OutboxEntry[], after: string): readonly OutboxEntry[] {
  let [low, high] = [0, entries.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compare(entries[middle]?.id ?? "", after) > 0) high = middle;
    else low = middle + 1;
  }
  return entries.slice(low);
}

function firstBefore(entries: readonly OutboxEntry[], partition: number): OutboxPlace[number] | undefined {
  // Strictly after the place: the first entry itself is here.
  const first = entries.find((each) => each.partition === partition);
  if (!first) return undefined;
  const [ms = "0", number = "0"] = first.id.split("-");
  return { after: number === "0" ? `${Number(ms) - 1}-18446744073709551615` : `${ms}-${BigInt(number) - 1n}`, changes: 0 };
}

/** Of two ids of a stream, `<ms>-<number>`; `""` comes before all. */
function compare(one: string, other: string): number {
  if (one === other) return 0;
  const [oneMs = "0", oneNumber = "0"] = one.split("-");
  const [otherMs = "0", otherNumber = "0"] = other.split("-");
  return Number(oneMs) - Number(otherMs) || Number(BigInt(oneNumber) - BigInt(otherNumber));
}

function msOf(id: string): number {
  return Number(id.split("-")[0] ?? 0);
}

export function isAtLeast(one: OutboxPlace, other: OutboxPlace): boolean {
  return other.every(({ after }, partition) => compare(one[partition]?.after ?? "0-0", after) >= 0);
}

export function later(one: OutboxPlace, other: OutboxPlace): OutboxPlace {
  return other.map((place, partition) => {
    const own = one[partition];
    return own && compare(own.after, place.after) >= 0 ? own : place;
  });
}
