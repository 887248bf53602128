import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { aLife } from "../../../test/contract/builders.ts";
import { type OpenRedis, openRedis } from "../../../test/contract/open-redis.ts";
import { startProxy } from "../../../test/contract/proxy.ts";
import { until } from "../../../test/support/until.ts";

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
    await watching.wakeUps.watch(one, () => calls.push("one"));
    await watching.wakeUps.watch(two, () => calls.push("two"));
    await watching.wakeUps.onAnnouncement(({ type }) => calls.push(type));

    proxy.cut();
    await expect.poll(() => calls.toSorted()).toEqual(["one", "prompts", "resources", "tools", "two"]);

    calls.length = 0;
    await life.cancel(two);
    await expect.poll(() => calls).toEqual(["two"]);
  });

  test("subscriptions that are refused as the connection comes back are tried again until they are granted", async () => {
    const user = `watcher-${direct.prefix}`;
    const grant = (...rights: string[]) => direct.redis.call("ACL", "SETUSER", user, "on", ">secret", "~*", "&*", ...rights);
    await grant("+@all");
    const url = new URL(direct.url);
    [url.username, url.password] = [user, "secret"];
    const refused = await openRedis({ url: url.href, prefix: direct.prefix });
    const life = aLife(direct.store);
    const taskId = await life.create();
    const heard: unknown[] = [];
    await refused.wakeUps.watch(taskId, (change) => heard.push(change?.isEnd));

    await grant("-subscribe");
    await direct.redis.call("CLIENT", "KILL", "USER", user);
    await expect.poll(() => refused.logged.map(({ message }) => message)).toContain("subscriptions not renewed yet");
    await grant("+subscribe");

    await expect.poll(() => heard).toEqual([undefined]);
    await life.cancel(taskId);
    await expect.poll(() => heard).toEqual([undefined, true]);
    await refused.close();
    await direct.redis.call("ACL", "DELUSER", user);
  });

  test("a channel is subscribed once for all its listeners, and left a moment after the last of them", async () => {
    const taskId = await aLife(direct.store).create();
    const subscribers = async () =>
      Number(((await direct.redis.call("PUBSUB", "NUMSUB", `${direct.prefix}:{p0}:task:${taskId}`)) as unknown[])[1]);

    const stops = await Promise.all([1, 2, 3].map(() => watching.wakeUps.watch(taskId, () => undefined)));
    expect(await subscribers()).toBe(1);
    stops[0]?.();
    stops[0]?.();
    stops[1]?.();
    await watching.ping();
    expect(await subscribers()).toBe(1);
    stops[2]?.();
    expect(watching.wakeUps.isWatched(taskId)).toBe(true);

    await expect.poll(() => subscribers()).toBe(0);
    expect(watching.wakeUps.isWatched(taskId)).toBe(false);
  });

  test.each([
    ["does not answer", () => proxy.freeze()],
    [
      "is gone",
      () => {
        proxy.freeze();
        proxy.cut();
      },
    ],
  ])("a watch while Redis %s is UNAVAILABLE in time, and leaves nothing behind once Redis is back", async (_how, goAway) => {
    const url = new URL(direct.url);
    url.port = String(proxy.port);
    const impatient = await openRedis({ url: url.href, prefix: direct.prefix, commandTimeoutMs: 500 });
    const life = aLife(direct.store);
    const [given, kept] = [await life.create(), await life.create()];
    const channel = (taskId: string) => `${direct.prefix}:{p0}:task:${taskId}`;
    const subscribers = async (taskId: string) => Number(((await direct.redis.call("PUBSUB", "NUMSUB", channel(taskId))) as unknown[])[1]);
    const heard = { late: vi.fn(), again: vi.fn() };

    goAway();
    const watches = await Promise.allSettled([given, given, kept].map((taskId) => impatient.wakeUps.watch(taskId, heard.late)));
    expect(watches).toMatchObject(Array.from({ length: 3 }, () => ({ status: "rejected", reason: { code: "UNAVAILABLE" } })));
    expect(impatient.wakeUps.isWatched(given)).toBe(false);

    // A later watch of the same channel keeps the subscription that is in progress.
    const again = impatient.wakeUps.watch(kept, heard.again);
    proxy.thaw();
    await again.catch(async () => void (await until(() => impatient.wakeUps.watch(kept, heard.again))));
    await expect.poll(() => subscribers(given)).toBe(0);
    expect(await subscribers(kept)).toBe(1);
    await life.cancel(given);
    await life.cancel(kept);
    await expect.poll(() => heard.again).toHaveBeenCalled();
    expect(heard.late).not.toHaveBeenCalled();
    await impatient.close();
  });

  test("a watch right after the last listener left receives the next change", async () => {
    const life = aLife(direct.store);
    const taskId = await life.create();
    const stop = await watching.wakeUps.watch(taskId, () => undefined);
    stop();
    const heard = vi.fn();
    await watching.wakeUps.watch(taskId, heard);

    await life.cancel(taskId);

    await expect.poll(() => heard).toHaveBeenCalledTimes(1);
  });
});
