/**
 * Pub/sub wakes waiting calls. A call that missed its wake-up looks again after 5 s, so only its duration shows that it did.
 *
 * Front ends get a slow connection and workers a fast one, so that a tool ends before its front end has the reply to anything it sent after
 * the call. A wake-up that is not awaited beforehand is therefore missed every time instead of now and then.
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
