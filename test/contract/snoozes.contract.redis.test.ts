import { expect, onTestFinished, test } from "vitest";
import { aContentKey } from "./content-keys.ts";
import { keysOf, openRedis } from "./open-redis.ts";
import { describeSnoozes } from "./snoozes-contract.ts";

describeSnoozes("on Redis", async () => {
  const { snoozes, close } = await openRedis();
  return { snoozes, close };
});

describeSnoozes("on Redis, with sealed content", async () => {
  const { snoozes, close } = await openRedis({ contentKeys: aContentKey() });
  return { snoozes, close };
});

test("what a person has put aside is one key, which goes with the last of it, and none before or without", async () => {
  const { snoozes, redis, prefix, close } = await openRedis();
  onTestFinished(close);
  const ada = { person: "ada" };
  const nowMs = Date.now();
  const keys = async () => (await keysOf(redis, prefix)).filter((key) => key.includes(":snoozes:"));
  const put = (key: string, untilMs: number) => snoozes.put(ada, { taskId: "0-a", key, sinceMs: nowMs, untilMs, seen: "-" }, nowMs);
  await snoozes.list(ada, nowMs);
  expect(await keys()).toEqual([]);
  await put("later", nowMs + 2_000_000);
  await put("sooner", nowMs + 1_000_000);
  const [key = "", ...others] = await keys();
  expect(others).toEqual([]);
  expect(await redis.pexpiretime(key)).toBe(nowMs + 2_000_000);
  for (const each of ["later", "sooner"]) await snoozes.remove(ada, { taskId: "0-a", key: each });
  expect(await keys()).toEqual([]);
});
