/** Which wake-ups carry what has changed, and how much. */
import { afterEach, expect, test } from "vitest";
import { aContentKey } from "../../../test/contract/content-keys.ts";
import { aCall, aLife, anAsk, GRACE_MS, LEASE_MS } from "../../../test/contract/builders.ts";
import { type OpenRedis, openRedis } from "../../../test/contract/open-redis.ts";
import { until } from "../../../test/support/until.ts";
import { NEWS_MAX } from "./wake-up-news.ts";

const close: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const each of close.splice(0)) await each();
});

/** The messages about tasks. */
async function listened(settings: Parameters<typeof openRedis>[0] = {}) {
  const opened: OpenRedis = await openRedis(settings);
  const messages: string[] = [];
  const listener = opened.redis.duplicate();
  await listener.psubscribe(`${opened.prefix}:{p*}:task:*`);
  listener.on("pmessage", (_pattern, _channel, message: string) => messages.push(message));
  close.push(async () => {
    listener.disconnect();
    await opened.close();
  });
  return { store: opened.store, newTaskId: opened.newTaskId, life: aLife(opened.store, opened.newTaskId), messages };
}

test("a wake-up carries what has changed up to its limit, and no more", async () => {
  const { life, messages } = await listened();
  const ofSize = async (characters: number) => {
    const request = { type: "form", message: "n".repeat(characters), schema: {} } as const;
    await life.parked([anAsk("size", { request })]);
    const asked = () => messages.find((message) => message.startsWith("2 asked:size"));
    await until(asked);
    const [, , fields = "[]"] = (asked() ?? "").split("\n");
    messages.length = 0;
    return (JSON.parse(fields) as string[]).join("").length;
  };
  const rest = (await ofSize(100)) - 100;
  expect(await ofSize(NEWS_MAX - rest - 1)).toBe(NEWS_MAX - 1);
  expect(await ofSize(NEWS_MAX - rest)).toBe(0);
});

test("while content is encrypted, wake-ups carry none", async () => {
  const { life, messages } = await listened({ contentKeys: aContentKey() });
  await life.parked([anAsk("size")]);
  await until(() => messages.find((message) => message.startsWith("2 ")));
  expect(messages).toEqual(["1 created", "2 asked:size"]);
});

test("while replies wait for replicas, wake-ups say only that something changed, because no replica may have it yet", async () => {
  const { store, life, newTaskId, messages } = await listened({ replicas: 1, commandTimeoutMs: 1_000 });
  const taskId = newTaskId();
  const unacknowledged = { code: "UNAVAILABLE" };
  await expect(store.create({ taskId, call: aCall(), graceMs: GRACE_MS })).rejects.toMatchObject(unacknowledged);
  const run = { taskId, run: 1, token: "token", nowMs: Date.now(), leaseMs: LEASE_MS };
  await expect(store.begin(run)).rejects.toMatchObject(unacknowledged);
  await life.park(taskId, "token", [anAsk("size")]);
  await until(() => messages.length === 2);
  expect(messages).toEqual(["1 created", "2 asked:size"]);
});
