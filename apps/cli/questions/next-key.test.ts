/** What a terminal asks after an answer. */
import { expect, test } from "vitest";
import { ApiError, type ApiClient } from "../client/api-client.ts";
import { nextKey } from "./next-key.ts";

type Ask = { readonly state: string; readonly snoozedUntil?: string };
type Read = { readonly status?: string; readonly asks: Readonly<Record<string, Ask>> } | number;

const OPEN: Ask = { state: "open" };
const ASIDE: Ask = { ...OPEN, snoozedUntil: "2026-12-01T08:00:00Z" };
const none: Read = { asks: {} };

/** Reads one after another; the last one again and again. A number is the status of an error. */
function apiOf(reads: readonly Read[]): ApiClient {
  let [at, last]: [number, Read] = [0, none];
  return {
    async get(path: string, { path: { key } }: { readonly path: { readonly key?: string } }) {
      if (key === undefined) last = reads[Math.min(at++, reads.length - 1)] ?? none;
      if (typeof last === "number") throw new ApiError({ status: last, detail: path } as ConstructorParameters<typeof ApiError>[0]);
      if (key !== undefined) return last.asks[key];
      return { status: last.status ?? "input_required", asks: Object.keys(last.asks).map((each) => ({ key: each })) };
    },
  } as unknown as ApiClient;
}

test.each<[what: string, reads: readonly Read[], expected: string | undefined]>([
  ["the next question", [{ asks: { one: OPEN, two: OPEN } }], "two"],
  ["one that comes a moment later", [none, none, { asks: { two: OPEN } }], "two"],
  ["one that comes in a task that did not exist for them meanwhile", [404, { asks: { two: OPEN } }], "two"],
  ["none that they have put aside", [{ asks: { two: ASIDE, three: OPEN } }], "three"],
  ["none that was settled meanwhile", [{ asks: { two: { state: "settled" } } }], undefined],
  ["nothing of a task that has ended", [{ status: "completed", asks: {} }, { asks: { two: OPEN } }], undefined],
  ["nothing if nothing comes", [none], undefined],
  ["nothing with a token that may not read tasks: the answer counts", [403, { asks: { two: OPEN } }], undefined],
])("is %s", async (_what, reads, expected) => {
  expect(await nextKey(apiOf(reads), "0-a", new Set(["one"]))).toBe(expected);
});
