/** Posts what happens: to the webhooks of the operator's file, and to clients that subscribed. */
import { type Audit, followOccurrences, type Log, type Services } from "@parley/core";
import { type DepositSeal, subscriptionSeal } from "@parley/node";
import type { RedisBackend } from "@parley/redis";
import {
  type Delivery,
  type DeliveryState,
  deliverTo,
  readWebhooks,
  type ServeSubscriptions,
  serveSubscriptions,
  targetOf,
} from "@parley/webhooks";

/** Nobody waits for a webhook as for a stream. */
const READ_EVERY_MS = 500;

export interface OpenWebhooks {
  /** The operator's, and what it may refer to. */
  readonly file?: { readonly file: string; readonly variables: NodeJS.ProcessEnv } | undefined;
  readonly services: Pick<Services, "store" | "digest" | "clock"> & { readonly log: Log };
  readonly redis: RedisBackend;
  readonly seal: DepositSeal;
  readonly passedOn: ServeSubscriptions["passedOn"];
  readonly audit: Audit | undefined;
  /** Clients' receivers may be in the deployment's own network. */
  readonly isPrivate: boolean;
  /** Address at which people reach the server. */
  readonly publicUrl: string | undefined;
  readonly count: (webhook: string, result: "delivered" | "failed" | "given_up") => void;
  /** How a webhook of the file is; undefined if another worker may know. */
  readonly show: (webhook: string, state: DeliveryState | undefined) => void;
}

/** Throws WebhooksError. Returns what stops it. */
export function openWebhooks({
  file,
  services,
  redis,
  seal,
  passedOn,
  audit,
  isPrivate,
  publicUrl,
  count,
  show,
}: OpenWebhooks): () => Promise<void> {
  const { outbox } = redis;
  if (!outbox) throw new Error("webhooks without an outbox: the settings do not allow it");
  const webhooks = file ? readWebhooks(file.file, file.variables) : [];
  const urlOf =
    publicUrl === undefined ? undefined : (taskId: string, key: string) => `${publicUrl}/asks/${taskId}/${encodeURIComponent(key)}`;
  const feed = followOccurrences({ ...services, outbox }, { readEveryMs: READ_EVERY_MS });
  const common = {
    services: { ...services, outbox },
    feed,
    deliveries: redis.webhooks,
    claims: redis.claims,
    log: services.log,
    ...(urlOf && { urlOf }),
  };
  const deliveries: Delivery[] = webhooks.map((webhook) =>
    deliverTo({
      ...common,
      target: targetOf(webhook),
      count: (result) => count(webhook.name, result),
      show: (state) => show(webhook.name, state),
    }),
  );
  if (webhooks.length > 0) services.log.info({ webhooks: webhooks.map(({ name }) => name) }, "webhooks ready");
  deliveries.push(
    serveSubscriptions({
      ...common,
      subscriptions: redis.subscriptions.sealedBy(subscriptionSeal(seal)),
      open: (id, sealed) => seal.open(id, "subscription", sealed),
      isPrivate,
      passedOn,
      ...(audit && { audit }),
      count: (result) => count("subscriptions", result),
    }),
  );
  return async () => {
    await Promise.all(deliveries.map((each) => each.stop()));
    feed.close();
  };
}
