import { expect, test } from "vitest";
import { aContentKey } from "./content-keys.ts";
import { describeLastApproved } from "./last-approved-contract.ts";
import { keysOf, openRedis } from "./open-redis.ts";

const opened = async (settings = {}) => {
  const { lastApproved, newTaskId, close } = await openRedis(settings);
  return { last: lastApproved, newTaskId, close };
};
describeLastApproved("on Redis", () => opened());
describeLastApproved("on Redis that holds content sealed", () => opened({ contentKeys: aContentKey() }));

test("sealed, no key of Redis has the arguments, and they open as those of their task alone", async () => {
  const { lastApproved, newTaskId, redis, prefix, close } = await openRedis({ contentKeys: aContentKey() });
  const call = { taskId: newTaskId(), principal: "ann", approvedAtMs: Date.now(), arguments: '{"to":"somebody"}' };
  const of = { tenant: "acme", id: "a", nowMs: Date.now() };
  await lastApproved.note({ ...of, ...call });
  const [key = ""] = (await keysOf(redis, prefix)).filter((each) => each.endsWith(":last:a"));
  const stored = (await redis.get(key)) ?? "";
  expect(stored).toContain(call.taskId);
  expect(stored).not.toContain("somebody");
  expect(await redis.pttl(key)).toBeGreaterThan(0);
  await redis.set(key, stored.replace(call.taskId, newTaskId()), "KEEPTTL");
  expect(await lastApproved.read(of)).toBeUndefined();
  await close();
});
