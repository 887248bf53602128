/**
 * Loaded in front of front ends and workers (`--import`): Redis' clock, by which a deployment dates everything (packages/redis/connection/clock.ts), is ahead by what
 * the file at MOVED_TIME says, in milliseconds. A process notices within ten seconds, when it looks at that clock again. Timers are not touched.
 */
import { readFileSync } from "node:fs";
import { Redis } from "ioredis";

const file = process.env.MOVED_TIME;
const { time } = Redis.prototype;

function aheadMs() {
  try {
    return Number(readFileSync(file, "utf8"));
  } catch {
    return 0; // not moved yet
  }
}

Redis.prototype.time = async function moved() {
  const [seconds, microseconds] = await time.call(this);
  const ms = Number(seconds) * 1_000 + aheadMs();
  return [Math.floor(ms / 1_000), (ms % 1_000) * 1_000 + Number(microseconds)];
};
