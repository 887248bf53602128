/** Refusals of /api/v1, as RFC 9457 has them. */
import type { FastifyReply } from "fastify";
import type { FrontEnd } from "../../front-end/front-end.ts";
import { refusalOf } from "../../front-end/refusal.ts";
import { Encoded, Inexact, InvalidJson, TooLarge } from "../../json-only.ts";

/** Without `type`, a problem means what its status says; `code` is as in docs/errors.md. */
export interface Problem {
  readonly status: number;
  readonly detail: string;
  readonly code?: string;
  readonly [more: string]: unknown;
}

/** Thrown by operations: the whole reply. */
export class Refused extends Error {
  readonly problem: Problem;
  readonly retryAfterSeconds: number | undefined;
  constructor(problem: Problem, retryAfterSeconds?: number) {
    super(problem.detail);
    this.problem = problem;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** `message` says what is wrong with the request, in a few words. */
export const invalid = (message: string) => new Refused({ status: 400, detail: message });

export function sendProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  return reply.code(problem.status).header("cache-control", "no-store").type("application/problem+json").send(JSON.stringify(problem));
}

export interface Refusal {
  readonly problem: Problem;
  readonly retryAfterSeconds?: number | undefined;
}

export function problemOf(frontEnd: FrontEnd, error: Error & { readonly code?: string }): Refusal {
  const refuse = (status: number, detail: string) => ({ problem: { status, detail } });
  if (error instanceof Refused) return error;
  if (error instanceof InvalidJson) return refuse(400, "the body is not valid JSON");
  if (error instanceof TooLarge || error instanceof Inexact) return refuse(400, `the body ${error.message}`);
  if (error instanceof Encoded) return refuse(415, error.message);
  if (error.code === "FST_ERR_CTP_BODY_TOO_LARGE") {
    return refuse(413, `the body is larger than ${frontEnd.limits.bodyBytesMax} bytes (PARLEY_BODY_BYTES_MAX)`);
  }
  if (error.code === "FST_ERR_CTP_INVALID_MEDIA_TYPE") return refuse(415, "the Content-Type must be application/json");
  const { httpStatus: status, body, retryAfterSeconds } = refusalOf(frontEnd, error);
  const { message, ...more } = body.error;
  return { problem: { status, detail: message, ...more }, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) };
}
