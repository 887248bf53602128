/** The event types of upstreams, for the thread that posts: it knows the file as front ends do, has no credentials, and leaves polls to the workers. */
import type { Caller, Catalogue, PassedOnType } from "@parley/core";
import { openUpstreamsFile } from "@parley/gateway/every-process";
import { deploymentId, type RedisBackend } from "@parley/redis";

export interface HeardUpstreams {
  passedOn(caller: Caller, name: string): Promise<PassedOnType | undefined>;
  close(): void;
}

const NOTHING: Catalogue = { tools: new Map(), prompts: new Map(), resources: new Map(), templates: [] };
const quiet = () => undefined;
/** The main thread reads the same file and the same lists, and says what is wrong with them. */
const SILENT = { debug: quiet, info: quiet, warn: quiet, error: quiet };

/** Throws UpstreamsError. */
export async function hearUpstreams(
  path: string,
  { gateway: share, wakeUps, secret }: Pick<RedisBackend, "gateway" | "wakeUps" | "secret">,
): Promise<HeardUpstreams> {
  const file = openUpstreamsFile(path);
  const gateway = await import("@parley/gateway");
  const reads = await gateway.createReadThrough(share);
  const offer = await gateway.createOffer({
    own: NOTHING,
    upstreams: file.upstreams,
    deployment: await deploymentId(secret),
    listings: { read: share.readLists, write: share.writeList },
    onAnnouncement: (listener) => wakeUps.onAnnouncement(listener),
    log: SILENT,
    reads,
  });
  const stopWatching = file.watch({ log: SILENT, onChange: (upstreams) => void offer.replace(upstreams) });
  return {
    passedOn: async (caller, name) => (await offer.current(caller)).passedOn?.get(name),
    close() {
      stopWatching();
      offer.close();
      reads.close();
    },
  };
}
