/** Posts what happens to the webhooks of the operator's file. */
import type { Services } from "@parley/core";
import type { RedisBackend } from "@parley/redis";
import { deliverTo, readWebhooks, targetOf } from "@parley/webhooks";

export interface OpenWebhooks {
  readonly file: string;
  /** What the file may refer to. */
  readonly variables: NodeJS.ProcessEnv;
  readonly services: Services;
  readonly redis: RedisBackend;
  /** Address at which people reach the server. */
  readonly publicUrl: string | undefined;
  readonly count: (webhook: string, result: "delivered" | "failed" | "given_up") => void;
}

/** Throws WebhooksError. Returns what stops it. */
export function openWebhooks({ file, variables, services, redis, publicUrl, count }: OpenWebhooks): () => Promise<void> {
  const { outbox } = redis;
  if (!outbox) throw new Error("webhooks without an outbox: the settings do not allow it");
  const webhooks = readWebhooks(file, variables);
  const urlOf =
    publicUrl === undefined ? undefined : (taskId: string, key: string) => `${publicUrl}/asks/${taskId}/${encodeURIComponent(key)}`;
  const deliveries = webhooks.map((webhook) =>
    deliverTo({
      target: targetOf(webhook),
      services: { ...services, outbox },
      deliveries: redis.webhooks,
      claims: redis.claims,
      log: services.log,
      count: (result) => count(webhook.name, result),
      ...(urlOf && { urlOf }),
    }),
  );
  services.log.info({ webhooks: webhooks.map(({ name }) => name) }, "webhooks ready");
  return async () => void (await Promise.all(deliveries.map((each) => each.stop())));
}
