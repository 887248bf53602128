/** Under several keys of a tenant, of which new entries get the newest. test/contract has what holds under one. */
import { SNOOZES_MAX } from "@parley/core";
import { expect, onTestFinished, test } from "vitest";
import { openRedis } from "../../../test/contract/open-redis.ts";
import { createKeys } from "../keys.ts";
import { createSnoozes } from "./snoozes.ts";

const ADA = { person: "ada" };
const NOW_MS = Date.now();
const UNTIL_MS = NOW_MS + 3_600_000;

async function underKeys() {
  const { redis, prefix, close } = await openRedis();
  onTestFinished(close);
  const epochs = ["1"];
  const digests = () => epochs.map((epoch) => (name: string) => Buffer.from(`${epoch} ${name}`).toString("base64url"));
  const snoozes = createSnoozes({ redis, keys: createKeys(prefix), codec: { lookUps: async () => digests() } });
  const put = (key: string, seen = "-", nowMs = NOW_MS) =>
    snoozes.put(ADA, { taskId: "0-a", key, sinceMs: NOW_MS, untilMs: UNTIL_MS, seen }, nowMs);
  return { snoozes, put, rotate: () => void epochs.unshift(String(epochs.length + 1)) };
}

test("a person has as many places under all keys together as under one, and an entry moves to the newest", async () => {
  const { snoozes, put, rotate } = await underKeys();
  for (let at = 1; at < SNOOZES_MAX; at += 1) await put(`ask-${at}`);
  rotate();
  expect([await put("last"), await put("one-more")]).toEqual(["snoozed", "full"]);
  expect(await put("ask-1", "changed")).toBe("snoozed");
  const listed = await snoozes.list(ADA, NOW_MS);
  expect([listed.length, listed.find(({ key }) => key === "ask-1")?.seen]).toEqual([SNOOZES_MAX, "changed"]);
  rotate();
  expect(await put("one-more")).toBe("full");
  await snoozes.remove(ADA, { taskId: "0-a", key: "ask-2" });
  expect([await put("one-more"), await put("two-more")]).toEqual(["snoozed", "full"]);
});

test("what was not put aside for want of a place is as it was", async () => {
  const { snoozes, put, rotate } = await underKeys();
  for (let at = 1; at <= SNOOZES_MAX; at += 1) await put(`ask-${at}`);
  rotate();
  expect(await put("one-more")).toBe("full");
  expect((await snoozes.list(ADA, NOW_MS)).some(({ key }) => key === "one-more")).toBe(false);
  expect(await snoozes.list(ADA, NOW_MS)).toHaveLength(SNOOZES_MAX);
});
