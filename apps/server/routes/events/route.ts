/**
 * POST /events/<token>, with a JSON body: other systems report the events that tools wait for (ctx.event).
 *
 * The token is the credential, so no login and no cookie counts here. It is part of the address, because most systems that call back can be
 * given an address and nothing else. This server logs no addresses.
 */
import { type Json, ParleyError, receiveEvent } from "@parley/core";
import { EVENTS_PATH } from "@parley/node";
import type { FastifyInstance } from "fastify";
import type { FrontEnd } from "../../front-end/front-end.ts";
import { refusalOf } from "../../front-end/refusal.ts";
import { acceptJsonOnly, Encoded, Inexact, InvalidJson, TooLarge } from "../../json-only.ts";
import { sendJson } from "../../streams/outlet.ts";

const DOOR = "event";
const ADDRESS = `${EVENTS_PATH}/*`;

interface EventRequest {
  readonly Params: { readonly "*": string };
}

export function eventsRoute(scope: FastifyInstance, frontEnd: FrontEnd): void {
  const { services, rates, limits, log } = frontEnd;
  acceptJsonOnly(scope, limits);

  scope.post<EventRequest>(ADDRESS, { bodyLimit: limits.bodyBytesMax }, async ({ params, body }, reply) => {
    const received = await receiveEvent(services, {
      token: params["*"],
      // A callback without a body reports that something happened, without details.
      body: (body === undefined ? {} : body) as Json,
      door: DOOR,
      admit: (sender) => rates.take(sender, { answers: 1 }),
    });
    sendJson(reply, 200, { received });
    return reply;
  });

  // Some systems probe an address before they use it, and programs follow links. Neither reports an event.
  scope.route({
    method: ["GET", "PUT", "DELETE"],
    url: ADDRESS,
    handler: (_request, reply) => {
      void reply.header("allow", "POST");
      sendJson(reply, 405, { error: { message: "events are reported with POST and a JSON body" } });
    },
  });

  scope.setErrorHandler((error: Error & { readonly statusCode?: number; readonly code?: string }, request, reply) => {
    const { httpStatus, body, retryAfterSeconds } = refusalFor(frontEnd, error);
    const code = error instanceof ParleyError ? { code: error.code } : {};
    if (httpStatus < 500) log.info({ requestId: request.id, ...code }, "event refused");
    if (retryAfterSeconds !== undefined) void reply.header("retry-after", retryAfterSeconds);
    sendJson(reply, httpStatus, body);
  });
}

function refusalFor(frontEnd: FrontEnd, error: Error & { readonly code?: string }): ReturnType<typeof refusalOf> {
  const { bodyBytesMax } = frontEnd.limits;
  const refusal = (httpStatus: number, message: string) => ({ httpStatus, body: { error: { message } } });
  if (error instanceof InvalidJson) return refusal(400, "the body is not valid JSON");
  if (error instanceof Encoded) return refusal(415, error.message);
  if (error instanceof TooLarge || error instanceof Inexact) return refusal(400, `the body ${error.message}`);
  switch (error.code) {
    case "FST_ERR_CTP_BODY_TOO_LARGE":
      return refusal(413, `the body is larger than ${bodyBytesMax} bytes (PARLEY_BODY_BYTES_MAX)`);
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return refusal(415, "the Content-Type must be application/json");
    default:
      return refusalOf(frontEnd, error);
  }
}
