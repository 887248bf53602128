/** What `parley doctor` says of the keys that content is sealed with. */
import { readEnvironment } from "@parley/node";
import { connectRedis, redisSettings, toRedisSettings } from "@parley/redis";
import type { Finding } from "./checkup.ts";

/** Data keys that are tried. */
const DATA_KEYS_TRIED = 100;
/** That Redis is there the finding before this one says. */
const DOCTOR_PATIENCE_MS = 5_000;
const SILENT = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** Whether the key ring, or the key management service, opens what this deployment's tasks were sealed with. Nothing where nothing is sealed. */
export async function contentFindings(given: NodeJS.ProcessEnv): Promise<Finding[]> {
  const about = "content keys";
  const settings = toRedisSettings(readEnvironment(redisSettings, given));
  const { contentKeys: keys, contentRing, contentKms } = settings;
  if (keys === undefined && contentRing === undefined && contentKms === undefined) return [];
  try {
    const backend = await connectRedis({ ...settings, startTimeoutMs: DOCTOR_PATIENCE_MS }, { log: SILENT });
    try {
      const { open = 0, lacking = 0 } = (await backend.content.keys?.tryKeys(DATA_KEYS_TRIED)) ?? {};
      const tried = open + lacking === 1 ? "1 data key" : `${open + lacking} data keys`;
      if (lacking === 0) return [{ level: "fine", about, says: `${tried} tried, and all of them open` }];
      const says = `the key that wrapped ${lacking} of ${tried} is not here: tasks that were sealed with them wait`;
      const cure =
        "Put the earlier key back behind the first one of the ring, or enable it at the key management service (docs/encryption.md).";
      return [{ level: "problem", about, says, cure }];
    } finally {
      await backend.close();
    }
  } catch (error) {
    const says = error instanceof Error ? error.message : String(error);
    return [
      {
        level: "problem",
        about,
        says,
        cure: "Correct PARLEY_CONTENT_KEYS, PARLEY_CONTENT_RING or PARLEY_CONTENT_KMS, and what they name.",
      },
    ];
  }
}
