/** Says which versions of tools this worker serves, for as long as it lives: others pass tasks on to it, and know when a task waits in vain. */
import { type Catalogue, type Log, versionsOf } from "@parley/core";
import { type RedisBackend, SERVED_FOR_MS, type ServedVersion } from "@parley/redis";

/** Nothing is said of tools without a version. Resolves when it was said for the first time; call what it returns to stop. */
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
      // Believed for three times as long: the next one will do.
      log.warn({ problem: error instanceof Error ? error.message : String(error) }, "served versions could not be announced");
    });
  }, SERVED_FOR_MS / 3);
  timer.unref();
  return () => clearInterval(timer);
}

export function servedBy({ tools }: Catalogue): readonly ServedVersion[] {
  return [...tools.values()].flatMap(versionsOf).flatMap(({ name, version }) => (version === undefined ? [] : [{ tool: name, version }]));
}
