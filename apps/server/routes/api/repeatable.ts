/**
 * Requests with the header Idempotency-Key: what was requested is done once, and a client that lost the reply sends the
 * same again. Only a reply that refuses nothing is kept: what was refused changed nothing, and may be tried again.
 *
 * Source: draft-ietf-httpapi-idempotency-key-header.
 */
import { type Caller, canonicalJson, type Json, ParleyError, REPEATED_REPLY_CHARS, type Repeats, type Services } from "@parley/core";
import type { FastifyRequest } from "fastify";
import { invalid, Refused } from "./problems.ts";

/** As long as that of a call in MCP. */
const KEY_CHARS_MAX = 255;

/** Throws a problem. */
export function idempotencyKeyOf({ headers }: FastifyRequest): string | undefined {
  const key = headers["idempotency-key"];
  if (key === undefined) return undefined;
  if (typeof key === "string" && key.length > 0 && key.length <= KEY_CHARS_MAX) return key;
  throw invalid(`the Idempotency-Key must have 1 to ${KEY_CHARS_MAX} characters`);
}

export interface Repeatable {
  readonly caller: Caller;
  readonly key: string;
  /** What is requested. */
  readonly what: readonly Json[];
  /** Whether a reply refuses nothing. */
  readonly isWhole: (reply: object) => boolean;
}

interface Deps {
  readonly repeats: Repeats;
  readonly services: Pick<Services, "digest" | "clock" | "log">;
}

/** Does the work, or returns the reply to the same request before. Throws IDEMPOTENCY_KEY_REUSED, a problem, and what `work` throws. */
export async function once(deps: Deps, { caller, key, what, isWhole }: Repeatable, work: () => Promise<object>): Promise<object> {
  const { repeats, services } = deps;
  const { digest, clock, log } = services;
  const request = () => ({
    caller: digest(JSON.stringify([caller.tenant, caller.principal])),
    key: digest(key),
    fingerprint: digest(canonicalJson(what)),
    nowMs: clock.now(),
  });
  const begun = await repeats.begin(request());
  switch (begun.type) {
    case "ended":
      return JSON.parse(begun.reply) as object;
    case "other":
      throw new ParleyError("IDEMPOTENCY_KEY_REUSED", "the idempotency key belongs to another request");
    case "underway":
      throw new Refused({ status: 409, detail: "a request with this idempotency key is underway: send it again in a moment" }, 1);
    case "begun": {
      let reply: string | undefined;
      try {
        const done = await work();
        const text = JSON.stringify(done);
        if (isWhole(done) && text.length <= REPEATED_REPLY_CHARS) reply = text;
        return done;
      } finally {
        // It is done, whether or not this is kept. If not, a repetition is refused until the lease ends, and then done again.
        await repeats.end(request(), reply).catch((error: unknown) => log.warn({ err: error }, "reply to a repeatable request not kept"));
      }
    }
  }
}
