/** Retries of a write that must survive an outage of Redis. */
import { ParleyError } from "../errors.ts";
import type { Clock } from "../ports.ts";

/** If a run cannot record anything for this long, another worker takes it over in any case. */
const PATIENCE_MS = 120_000;
const AGAIN_MS = 500;

/** Retries while Redis is unreachable. For work that must not be lost: renewed tokens exist nowhere else. */
export async function whileAway<T>({ clock }: { readonly clock: Pick<Clock, "now" | "sleep"> }, work: () => Promise<T>): Promise<T> {
  const untilMs = clock.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ParleyError) || error.code !== "UNAVAILABLE" || clock.now() >= untilMs) throw error;
      await clock.sleep(AGAIN_MS);
    }
  }
}
