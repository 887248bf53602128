/** The simulation's programs on the real store and queue, in worker processes that are killed. More of them: SIMULATION_PROGRAMS=2000. */
import { expect, test } from "vitest";
import { openTestRedis } from "../support/redis.ts";
import { programsFrom, runOnRedis } from "./on-redis/run.ts";

const PROGRAMS = Number(process.env["SIMULATION_PROGRAMS"] ?? 100);
const SEED = Number(process.env["SIMULATION_SEED"] ?? 1);

test(`nothing is broken in ${PROGRAMS} programs whose workers are killed`, { timeout: 600_000 + PROGRAMS * 1_000 }, async () => {
  const redis = openTestRedis();
  try {
    const { found, crashes, takeovers } = await runOnRedis({
      url: redis.url,
      prefix: redis.prefix,
      programs: programsFrom(SEED, PROGRAMS),
      atOnce: 30,
      kills: true,
    });
    expect(found.map(({ seed, taskId, rule, what }) => `seed ${seed}, task ${taskId}, ${rule}: ${what}`)).toEqual([]);
    expect(crashes).toEqual([]);
    expect(takeovers).toBeGreaterThan(0);
  } finally {
    await redis.close();
  }
});
