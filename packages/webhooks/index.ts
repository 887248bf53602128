export {
  type DeadLetter,
  deliverTo,
  type DeliverTo,
  type Delivery,
  type DeliveryState,
  PACE,
  postTest,
  postTo,
  reasonOf,
  targetOf,
} from "./deliver.ts";
export { type Replayed, replayDead, type ReplayEnd } from "./replay.ts";
export { isPublicHost } from "./public-address.ts";
export { keyOfSecret } from "./sign.ts";
export { type ServeSubscriptions, serveSubscriptions } from "./subscriptions.ts";
export { readWebhooks, type Webhook, WebhooksError } from "./webhooks-file.ts";
