/** A test's own corner of the shared Redis: a prefix that nobody else uses, taken away at the end. */
import { randomBytes } from "node:crypto";
import type { Redis } from "ioredis";
import { keysOf, openLook } from "./look.ts";

export interface TestRedis {
  readonly url: string;
  /** For PARLEY_PREFIX. */
  readonly prefix: string;
  /** A connection of the test's own, to look and to meddle. */
  readonly redis: Redis;
  keys(): Promise<string[]>;
  /** Removes every key of the prefix. */
  flush(): Promise<void>;
  /** Flushes and disconnects. */
  close(): Promise<void>;
}

export function openTestRedis(url = process.env["REDIS_URL"]): TestRedis {
  if (!url) throw new Error("REDIS_URL is not set: run the tests by vitest, whose set-up starts a Redis");
  const prefix = `test-${randomBytes(6).toString("hex")}`;
  const redis = openLook(url);

  const keys = () => keysOf(redis, prefix);
  async function flush(): Promise<void> {
    const found = await keys();
    await Promise.all(found.map((key) => redis.unlink(key)));
  }
  return {
    url,
    prefix,
    redis,
    keys,
    flush,
    async close() {
      await flush();
      redis.disconnect();
    },
  };
}
