import { systemClock } from "@parley/node";
import { describe, expect, test } from "vitest";
import { createMemoryWakeUps } from "./wake-ups.ts";

describe("wake-ups in memory", () => {
  test("reach everybody who watches the task, once for each time that they watch, behind the change", async () => {
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

  test("know a task for as long as somebody watches it", async () => {
    const wakeUps = createMemoryWakeUps();
    const [first, second] = [await wakeUps.watch("a", () => undefined), await wakeUps.watch("a", () => undefined)];
    expect([wakeUps.isWatched("a"), wakeUps.isWatched("b")]).toStrictEqual([true, false]);
    first();
    expect(wakeUps.isWatched("a")).toBe(true);
    second();
    expect(wakeUps.isWatched("a")).toBe(false);
    // Those who stopped before do not stop those who came later.
    await wakeUps.watch("a", () => undefined);
    second();
    expect(wakeUps.isWatched("a")).toBe(true);
  });

  test("announce to those who listen, until they stop, behind the one who announces", async () => {
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
