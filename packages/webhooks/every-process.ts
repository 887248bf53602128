/** The part that every worker loads: the setting. What posts is loaded only if there is something to post. */
import { z } from "zod";

export const webhooksEnvironment = {
  PARLEY_WEBHOOKS: z
    .string()
    .optional()
    .describe("File with webhooks, ./parley.webhooks.yaml: where what happens to tasks and questions is posted. Needs PARLEY_OUTBOX."),
};
