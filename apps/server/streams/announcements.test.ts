import { createMemoryWakeUps } from "@parley/core/memory";
import { systemClock } from "@parley/node";
import { expect, test } from "vitest";
import { announcements } from "./announcements.ts";

/** Wake-ups that count who is subscribed to them. */
function counted() {
  const wakeUps = createMemoryWakeUps();
  const subscribed = { now: 0, ever: 0 };
  const onAnnouncement: typeof wakeUps.onAnnouncement = async (listener) => {
    subscribed.now += 1;
    subscribed.ever += 1;
    const stop = await wakeUps.onAnnouncement(listener);
    return () => {
      subscribed.now -= 1;
      stop();
    };
  };
  return { wakeUps: { ...wakeUps, onAnnouncement }, subscribed };
}

test("streams hear each announcement once, each until it stops, and the others go on hearing", async () => {
  const { wakeUps } = counted();
  const { onAnnouncement } = await announcements(wakeUps);
  const heard: string[] = [];
  const stops = ["a", "b"].map((stream) => onAnnouncement(({ type }) => void heard.push(`${stream} ${type}`)));
  await wakeUps.announce({ type: "tools" });
  await systemClock.idle();
  expect(heard).toEqual(["a tools", "b tools"]);
  stops[0]?.();
  stops[0]?.();
  await wakeUps.announce({ type: "prompts" });
  await systemClock.idle();
  expect(heard).toEqual(["a tools", "b tools", "b prompts"]);
});

test("a process has one subscription, however many streams come and go, and none after it has stopped", async () => {
  const { wakeUps, subscribed } = counted();
  const { onAnnouncement, stop } = await announcements(wakeUps);
  let heard = 0;
  for (let stream = 0; stream < 1_000; stream += 1) onAnnouncement(() => (heard += 1))();
  onAnnouncement(() => (heard += 1));
  expect(subscribed).toEqual({ now: 1, ever: 1 });
  await wakeUps.announce({ type: "tools" });
  await systemClock.idle();
  expect(heard).toBe(1);
  stop();
  expect(subscribed).toEqual({ now: 0, ever: 1 });
  await wakeUps.announce({ type: "tools" });
  await systemClock.idle();
  expect(heard).toBe(1);
});
