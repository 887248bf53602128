import { ParleyError } from "@parley/core";
import type { FastifyReply } from "fastify";

/** Says when to come back, if the error knows. */
export function sayWhen(reply: FastifyReply, error: unknown): void {
  const waitMs = error instanceof ParleyError ? error.data?.["retryAfterMs"] : undefined;
  if (typeof waitMs === "number") void reply.header("retry-after", Math.ceil(waitMs / 1_000));
}
