/**
 * Open asks by the names in their audiences: sorted sets for each name and partition, merged while a page is read. All asks are in two of them,
 * by age and by deadline. One that says when it is wanted, or how urgent it is, is in a set for that as well; others take the place of their deadline.
 * So an order passes over what has another place in it, and does so in the script, which reads nothing of these asks.
 * scripts/task/asks.lua writes them in the change that opens or closes an ask; they only narrow, core's policy decides.
 *
 * Partitions are read in parallel, in turns with all other lists of this process. A script never reads more than
 * SETS_TOGETHER sets, so a token with thousands of groups blocks no one.
 */
import { type AskedRequest, type AskOrder, type AskPlace, inAskOrder, PRIORITIES, PRIORITY_STEP } from "@parley/core";
import type { Redis } from "ioredis";
import type { ContentCodec } from "../content/codec.ts";
import type { Keys } from "../keys.ts";
import { loadScripts } from "../scripts/load-scripts.ts";
import type { Summaries } from "./summaries.ts";

type Set = "age" | "deadline" | "due" | "priority";

const NORMAL_MS = PRIORITIES.indexOf("normal") * PRIORITY_STEP;

/** The sets of a name that are merged to an order, and what is added to their scores. Each ask has its place in the first that has it. */
const SETS: Readonly<Record<AskOrder, readonly (readonly [set: Set, offsetMs: number])[]>> = {
  oldest: [["age", 0]],
  newest: [["age", 0]],
  deadline: [["deadline", 0]],
  due: [
    ["due", 0],
    ["deadline", 0],
  ],
  priority: [
    ["priority", 0],
    ["due", NORMAL_MS],
    ["deadline", NORMAL_MS],
  ],
};

/** Sets that one script reads: 1 to 2 ms of Redis. */
const SETS_TOGETHER = 256;

export interface AskedList {
  page(request: AskedRequest): Promise<readonly AskPlace[]>;
}

export interface AskedListOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly partitions: number;
  readonly codec: Pick<ContentCodec, "lookUps">;
  readonly turn: Summaries["turn"];
}

export function createAskedList({ redis, keys, partitions, codec, turn }: AskedListOptions): AskedList {
  const scripts = loadScripts(redis, { names: ["page"], folder: "asked/", keyCount: () => undefined });

  async function read(partition: number, digests: readonly string[], { order, limit, after }: AskedRequest): Promise<AskPlace[]> {
    const sets = digests.flatMap((digest) => SETS[order].map(([set]) => keys.asked(partition, digest, set)));
    const from = after ? [after.atMs, `${after.taskId} ${after.key}`] : ["", ""];
    const rest = [order === "newest" ? -1 : 1, limit, ...from, keys.taskPrefix(partition), ...SETS[order].map(([, offsetMs]) => offsetMs)];
    for (;;) {
      const [gone, ...flat] = (await turn(() => scripts.page([sets.length, ...sets, ...rest]))) as [number, ...string[]];
      // What it removed made room for others behind.
      if (gone > 0) continue;
      return Array.from({ length: flat.length / 2 }, (_, index) => placeOf(flat[2 * index] ?? "", flat[2 * index + 1] ?? ""));
    }
  }

  return {
    async page(request) {
      const { tenant, names, order, limit } = request;
      const lookUps = await codec.lookUps(tenant);
      const digests = lookUps.flatMap((digest) => names.map(digest));
      const together = Math.floor(SETS_TOGETHER / SETS[order].length);
      const parts = Array.from({ length: Math.ceil(digests.length / together) }, (_, part) =>
        digests.slice(part * together, (part + 1) * together),
      );
      const found = await Promise.all(
        Array.from({ length: partitions }, (_, partition) => parts.map((part) => read(partition, part, request))).flat(),
      );
      // Where a look ended may be the place of an ask that was found: both are kept, and the ask comes first.
      const sorted = found
        .flat()
        .toSorted((a, b) => inAskOrder(order, a, b) || Number(a.isElsewhere ?? false) - Number(b.isElsewhere ?? false));
      const distinct = sorted.filter((place, index) => !isSame(place, sorted[index - 1])).slice(0, limit);
      // One look has passed over all that it may: what the others found behind that is not all that is there.
      const horizon = distinct.findIndex(({ isElsewhere }) => isElsewhere);
      return horizon === -1 ? distinct : distinct.slice(0, horizon + 1);
    },
  };
}

export function placeOf(member: string, place: string): AskPlace {
  const space = member.indexOf(" ");
  const isElsewhere = place.endsWith("~");
  const atMs = Number(isElsewhere ? place.slice(0, -1) : place);
  return { atMs, taskId: member.slice(0, space), key: member.slice(space + 1), ...(isElsewhere && { isElsewhere }) };
}

function isSame(a: AskPlace, b: AskPlace | undefined): boolean {
  return a.taskId === b?.taskId && a.key === b.key && a.atMs === b.atMs && a.isElsewhere === b.isElsewhere;
}
