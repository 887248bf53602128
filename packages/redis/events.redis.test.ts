import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { aLife } from "../../test/contract/builders.ts";
import { type OpenRedis, openRedis } from "../../test/contract/open-redis.ts";
import { startProxy } from "../../test/contract/proxy.ts";

describe("wake-ups over Redis", () => {
  let direct: OpenRedis;
  let watching: OpenRedis;
  let proxy: Awaited<ReturnType<typeof startProxy>>;

  beforeEach(async () => {
    direct = await openRedis();
    const url = new URL(direct.url);
    proxy = await startProxy(Number(url.port));
    url.port = String(proxy.port);
    watching = await openRedis({ url: url.href, prefix: direct.prefix });
  });
  afterEach(async () => {
    await watching.close();
    proxy.close();
    await direct.close();
  });

  test("after a lost connection every listener is called, and later changes arrive again", async () => {
    const life = aLife(direct.store);
    const [one, two] = [await life.create(), await life.create()];
    const calls: string[] = [];
    await watching.events.watch(one, () => calls.push("one"));
    await watching.events.watch(two, () => calls.push("two"));
    await watching.events.onAnnouncement(({ type }) => calls.push(type));

    proxy.cut();
    await vi.waitFor(() => expect(calls.toSorted()).toEqual(["one", "prompts", "resources", "tools", "two"]), { timeout: 5_000 });

    calls.length = 0;
    await life.cancel(two);
    await vi.waitFor(() => expect(calls).toEqual(["two"]));
  });

  test("a channel is subscribed once for all its listeners, and left a moment after the last of them", async () => {
    const taskId = await aLife(direct.store).create();
    const subscribers = async () =>
      Number(((await direct.redis.call("PUBSUB", "NUMSUB", `${direct.prefix}:{p0}:task:${taskId}`)) as unknown[])[1]);

    const stops = await Promise.all([1, 2, 3].map(() => watching.events.watch(taskId, () => undefined)));
    expect(await subscribers()).toBe(1);
    stops[0]?.();
    stops[0]?.();
    stops[1]?.();
    await watching.ping();
    expect(await subscribers()).toBe(1);
    stops[2]?.();
    expect(watching.events.isWatched(taskId)).toBe(true);

    await vi.waitFor(async () => expect(await subscribers()).toBe(0), { timeout: 5_000 });
    expect(watching.events.isWatched(taskId)).toBe(false);
  });

  test("who watches right after the last listener left still hears of the next change", async () => {
    const life = aLife(direct.store);
    const taskId = await life.create();
    const stop = await watching.events.watch(taskId, () => undefined);
    stop();
    const heard = vi.fn();
    await watching.events.watch(taskId, heard);

    await life.cancel(taskId);

    await vi.waitFor(() => expect(heard).toHaveBeenCalledTimes(1));
  });
});
