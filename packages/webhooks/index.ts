export { type DeadLetter, deliverTo, type DeliverTo, type Delivery, type DeliveryState, postTest } from "./deliver.ts";
export { readWebhooks, type Webhook, WebhooksError } from "./webhooks-file.ts";
