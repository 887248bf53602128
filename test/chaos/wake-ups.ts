/**
 * Calls that wait are woken by pub/sub; one that missed its wake-up looks again after 5 s, and nobody would notice but for the time.
 *
 * Front ends get a slow wire and workers a fast one, so that a tool is done before its front end has the reply to anything it sent after
 * the call: a wake-up that is not awaited beforehand is missed for certain instead of now and then.
 */
import { createClient } from "./client.ts";
import { inParallel } from "./in-parallel.ts";
import type { Finding } from "./story.ts";
import type { System } from "./system.ts";

const CALLS = 24;
/** Few at once: the tool has to be quick. */
const AT_ONCE = 4;
const WIRE_MS = 15;
/** Well below the 5 s after which a front end looks again. */
const LATE_MS = 2_500;

export async function lateWakeUps({ url, evidence, wires, guard }: System): Promise<Finding[]> {
  const client = createClient(url, { timeoutMs: 15_000, connections: AT_ONCE, ...(guard && { token: guard.token }) });
  wires?.frontEnds.slow(WIRE_MS);
  try {
    const findings: Finding[] = [];
    await inParallel(AT_ONCE, CALLS, async (index) => {
      const startedAtMs = performance.now();
      const said = await client.callAndWait({ lifecycle: -1, evidence, actions: [] });
      const tookMs = Math.round(performance.now() - startedAtMs);
      if (said.type === "done" && tookMs < LATE_MS) return;
      findings.push({ rule: "wake-ups", where: `call ${index}`, what: `was ${said.type} after ${tookMs} ms` });
    });
    return findings;
  } finally {
    wires?.frontEnds.slow(0);
    client.close();
  }
}
