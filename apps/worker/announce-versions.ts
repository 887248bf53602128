/**
 * Announces which versions of tools this worker serves while it lives. Other workers pass tasks on to it, and notice when no worker serves the
 * version that a task needs.
 */
import { type Catalogue, type Log, versionsOf } from "@parley/core";
import { type RedisBackend, SERVED_FOR_MS, type ServedVersion } from "@parley/redis";

/** Resolves after the first announcement, to a function that stops announcing. Tools without a version are not announced. */
export async function announceVersions(
  serving: Pick<RedisBackend["serving"], "announce">,
  catalogue: Catalogue,
  log: Pick<Log, "warn">,
): Promise<() => void> {
  const served = servedBy(catalogue);
  if (served.length === 0) return () => undefined;
  await serving.announce(served);
  const timer = setInterval(() => {
    serving.announce(served).catch((error: unknown) => {
      // An announcement is valid for three intervals, so the next one is soon enough.
      log.warn({ problem: error instanceof Error ? error.message : String(error) }, "served versions could not be announced");
    });
  }, SERVED_FOR_MS / 3);
  timer.unref();
  return () => clearInterval(timer);
}

/** The versions of tools in a catalogue. */
function servedBy({ tools }: Catalogue): readonly ServedVersion[] {
  return [...tools.values()].flatMap(versionsOf).flatMap(({ name, version }) => (version === undefined ? [] : [{ tool: name, version }]));
}
