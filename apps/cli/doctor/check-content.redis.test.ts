import { describe, expect, test } from "vitest";
import { aContentKey } from "../../../test/contract/content-keys.ts";
import { openRedis } from "../../../test/contract/open-redis.ts";
import { contentFindings } from "./check-content.ts";

describe("the doctor of content keys", () => {
  test("reports whether the ring opens the data keys and how many it cannot open, without showing a key", async () => {
    const [key, other] = [aContentKey(), aContentKey()];
    const opened = await openRedis({ contentKeys: key });
    const asked = (more: object) =>
      contentFindings({ REDIS_URL: opened.url, PARLEY_PREFIX: opened.prefix, ...more }, { isRedisServing: true });
    try {
      const says = "1 data key tried, and all of them open";
      expect(await asked({ PARLEY_CONTENT_KEYS: key })).toEqual([{ level: "fine", about: "content keys", says }]);
      const lacking = await asked({ PARLEY_CONTENT_KEYS: other });
      expect(lacking).toMatchObject([
        { level: "problem", says: "the key that wrapped 1 of 1 data key is not here: tasks that were sealed with them wait" },
      ]);
      expect(JSON.stringify(lacking)).not.toContain(other);
      expect(await asked({})).toEqual([]);
    } finally {
      await opened.close();
    }
  });

  test("reports a ring that cannot be read", async () => {
    const opened = await openRedis({ contentKeys: aContentKey() });
    const asked = (more: object) =>
      contentFindings({ REDIS_URL: opened.url, PARLEY_PREFIX: opened.prefix, ...more }, { isRedisServing: true });
    try {
      expect(await asked({ PARLEY_CONTENT_RING: "/nowhere/ring" })).toMatchObject([
        { level: "problem", says: expect.stringContaining("/nowhere/ring cannot be read (ENOENT)") },
      ]);
    } finally {
      await opened.close();
    }
  });
});
