/** The front end's part of the gateway: offers what the upstreams list, and follows changes of their file. */
import { type Catalogue, type Catalogues, describeError, type Log } from "@parley/core";
import type { UpstreamsFile } from "@parley/gateway/every-process";
import { deploymentId, type RedisBackend } from "@parley/redis";

export interface OfferUpstreams {
  readonly file: UpstreamsFile;
  /** The deployment's own tools, prompts and resources. */
  readonly own: Catalogue;
  readonly redis: Pick<RedisBackend, "gateway" | "content" | "wakeUps" | "secret" | "now">;
  readonly hasAudit: boolean;
  readonly log: Log;
}

export interface OfferedUpstreams {
  readonly catalogues: Catalogues;
  /** Identifies this deployment, so that it notices when it is its own upstream. */
  readonly deployment: string;
  close(): void;
}

export async function offerUpstreams({ file, own, redis, hasAudit, log }: OfferUpstreams): Promise<OfferedUpstreams> {
  const { gateway: share, content, wakeUps, secret, now } = redis;
  // Loaded only if there are upstreams, because it includes an MCP client.
  const gateway = await import("@parley/gateway");
  const deployment = await deploymentId(secret);
  const reads = await gateway.createReadThrough(share);
  // Calls without a task pass through Redis in the clear.
  const taskless = content.keys ? undefined : await gateway.createTasklessCalls(share, now);
  if (file.upstreams.some(({ isTaskless }) => isTaskless) && (!taskless || hasAudit))
    log.warn({}, "`taskless` of upstreams has no effect: every call is a task while there is an audit, or content is encrypted");
  const offer = await gateway.createOffer({
    own,
    deployment,
    upstreams: file.upstreams,
    listings: { read: share.readLists, write: share.writeList },
    onAnnouncement: (listener) => wakeUps.onAnnouncement(listener),
    log,
    reads,
    ...(taskless && { taskless }),
  });

  async function replace(upstreams: UpstreamsFile["upstreams"]): Promise<void> {
    await offer.replace(upstreams);
    for (const type of ["tools", "prompts", "resources"] as const) await wakeUps.announce({ type });
  }
  const stopWatching = file.watch({
    log,
    onChange: (upstreams) =>
      void replace(upstreams).catch((error: unknown) => log.warn(describeError(error), "change of upstreams could not be announced")),
  });

  return {
    catalogues: offer,
    deployment,
    close() {
      stopWatching();
      offer.close();
      reads.close();
      taskless?.close();
    },
  };
}
