import { systemClock } from "@parley/node";
import { describe, expect, test } from "vitest";
import { createMemoryWakeUps } from "./wake-ups.ts";

describe("wake-ups in memory", () => {
  test("reach everyone who watches the task, once per watch, after the change", async () => {
    const wakeUps = createMemoryWakeUps();
    const woken: string[] = [];
    const wake = () => void woken.push("a");
    const stop = await wakeUps.watch("a", wake);
    await wakeUps.watch("a", wake);
    await wakeUps.watch("b", () => void woken.push("b"));
    wakeUps.changed("a");
    wakeUps.changed("never watched");
    expect(woken).toStrictEqual([]);
    await systemClock.idle();
    expect(woken).toStrictEqual(["a", "a"]);
    stop();
    stop();
    wakeUps.changed("a");
    await systemClock.idle();
    expect(woken).toStrictEqual(["a", "a", "a"]);
  });

  test("know a task as long as it is watched", async () => {
    const wakeUps = createMemoryWakeUps();
    const [first, second] = [await wakeUps.watch("a", () => undefined), await wakeUps.watch("a", () => undefined)];
    expect([wakeUps.isWatched("a"), wakeUps.isWatched("b")]).toStrictEqual([true, false]);
    first();
    expect(wakeUps.isWatched("a")).toBe(true);
    second();
    expect(wakeUps.isWatched("a")).toBe(false);
    // Watchers that stopped earlier do not stop later ones.
    await wakeUps.watch("a", () => undefined);
    second();
    expect(wakeUps.isWatched("a")).toBe(true);
  });

  test("reach those who listen for announcements, until they stop, after the announcer has continued", async () => {
    const wakeUps = createMemoryWakeUps();
    const heard: unknown[] = [];
    const hear = (announcement: unknown) => void heard.push(announcement);
    const stop = await wakeUps.onAnnouncement(hear);
    await wakeUps.onAnnouncement(hear);
    const announced = wakeUps.announce({ type: "tools" });
    expect(heard).toStrictEqual([]);
    await announced;
    await systemClock.idle();
    expect(heard).toStrictEqual([{ type: "tools" }, { type: "tools" }]);
    stop();
    await wakeUps.announce({ type: "prompts" });
    await systemClock.idle();
    expect(heard.slice(2)).toStrictEqual([{ type: "prompts" }]);
  });
});
