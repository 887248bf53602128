/** The part that every process loads: the settings. What posts is loaded only if there is something to post. */
import { z } from "zod";

export const webhooksEnvironment = {
  PARLEY_WEBHOOKS: z
    .string()
    .optional()
    .describe("File with webhooks, ./parley.webhooks.yaml: where what happens to tasks and questions is posted. Needs PARLEY_OUTBOX."),
};

/** For front ends, which take subscriptions, and workers, which post to them. */
export const subscriptionsEnvironment = {
  PARLEY_SUBSCRIPTIONS_PRIVATE: z
    .stringbool()
    .default(false)
    .describe(
      "Post events that clients subscribe to also to addresses of this network, and without TLS. Must be the same in all processes.",
    ),
};
