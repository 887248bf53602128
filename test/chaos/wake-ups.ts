/**
 * Calls that wait are woken by pub/sub; one that missed its wake-up looks again after 5 s, and nobody would notice but for the time.
 *
 * Front ends get a slow wire and workers a fast one, so that a tool is done before its front end has the reply to anything it sent after
 * the call: a wake-up that is not awaited beforehand is missed for certain instead of now and then.
 */
import { createClient } from "./client.ts";
import type { Finding } from "./story.ts";
import type { System } from "./system.ts";

const CALLS = 40;
const WIRE_MS = 15;
/** Well below the 5 s after which a front end looks again. */
const LATE_MS = 2_500;

export async function lateWakeUps({ url, evidence, wires }: System): Promise<Finding[]> {
  const client = createClient(url, { timeoutMs: 15_000, connections: CALLS });
  wires?.frontEnds.slow(WIRE_MS);
  try {
    const calls = Array.from({ length: CALLS }, async (_, index): Promise<Finding[]> => {
      const startedAtMs = performance.now();
      const said = await client.callAndWait({ lifecycle: -1, evidence, actions: [] });
      const tookMs = Math.round(performance.now() - startedAtMs);
      if (said.type === "done" && tookMs < LATE_MS) return [];
      return [{ rule: "wake-ups", where: `call ${index}`, what: `was ${said.type} after ${tookMs} ms` }];
    });
    return (await Promise.all(calls)).flat();
  } finally {
    wires?.frontEnds.slow(0);
    client.close();
  }
}
