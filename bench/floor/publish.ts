/** The floor of everything that is pushed: PUBLISH → message. */
import { once } from "node:events";
import { Redis } from "ioredis";

/** Milliseconds of each of `count` messages until all of `listeners` connections have it. */
export async function publishLatencies(redisUrl: string, { count, listeners }: { count: number; listeners: number }): Promise<number[]> {
  const publisher = new Redis(redisUrl);
  const subscribers = Array.from({ length: listeners }, () => new Redis(redisUrl));
  const latencies: number[] = [];
  try {
    await Promise.all(subscribers.map((subscriber) => subscriber.subscribe("bench-floor")));
    for (let message = 0; message < count; message += 1) {
      const received = Promise.all(subscribers.map((subscriber) => once(subscriber, "message")));
      const sentAt = performance.now();
      await Promise.all([publisher.publish("bench-floor", "1"), received]);
      latencies.push(performance.now() - sentAt);
    }
  } finally {
    for (const each of [publisher, ...subscribers]) each.disconnect();
  }
  return latencies;
}
