/**
 * Decodes one parsed message of a session to its intent, or to the error to send back.
 *
 * Errors have HTTP 200 like any answer: before 2026, the only statuses with a meaning are those about sessions and about bodies that are not
 * messages (S25 basic/transports).
 */
import {
  errorMessage,
  given,
  INVALID_PARAMS,
  invalidRequest,
  isRequestId,
  METHOD_NOT_FOUND,
  quoted,
  shapeOf,
  type RequestId,
  type RpcRequest,
  type Wire,
} from "../json-rpc.ts";
import type { Wants } from "../intents.ts";
import { BadParams, readParams } from "../params.ts";
import type { SessionMessage } from "./dialect.ts";
import type { Notice, SessionIntent } from "./intents.ts";
import { metaOf, type Methods, wantsOf } from "./methods.ts";

export function sessionDecoder(version: string, methods: Methods): (message: unknown) => SessionMessage {
  return (message) => {
    const shape = shapeOf(message);
    switch (shape.type) {
      case "invalid":
        return { type: "rejected", ...invalidRequest(shape.problem, shape.id) };
      case "response":
        return { type: "response", id: shape.id, reply: replyIn(shape.message) };
      case "notification":
        return { type: "notification", method: shape.method, ...noticeIn(shape) };
      case "request":
        return decodeRequest(shape, { version, methods });
    }
  };
}

function decodeRequest(
  { id, method, params }: RpcRequest,
  { version, methods }: { readonly version: string; readonly methods: Methods },
): SessionMessage {
  const read = methods.get(method);
  if (!read) return refused(id, METHOD_NOT_FOUND, `${quoted(method)} is not a method of ${version}`);
  const wanted = readParams((inner) => readRequest(inner, read), params);
  if (wanted instanceof BadParams) return refused(id, INVALID_PARAMS, wanted.message);
  return { type: "request", id, method, ...wanted };
}

function readRequest(params: Wire, read: (params: Wire) => SessionIntent): { readonly intent: SessionIntent; readonly wants: Wants } {
  // `_meta` must be an object in every request, even if nothing in it is used.
  metaOf(params);
  const intent = read(params);
  return { intent, wants: wantsOf(intent, params) };
}

function refused(id: RequestId, code: number, message: string): SessionMessage {
  return { type: "rejected", httpStatus: 200, message: errorMessage(id, { code, message }) };
}

/** An error means that the client cannot or will not ask its user. It reads as `cancel`, like a closed form: no decision was made. */
function replyIn(message: Wire): unknown {
  return given(message, "error") !== undefined && given(message, "result") === undefined ? { action: "cancel" } : message["result"];
}

/** A cancellation without a request id is ignored, as the specification requires of malformed ones. */
function noticeIn({ method, params }: { readonly method: string; readonly params: Wire }): { readonly notice?: Notice } {
  const requestId = given(params, "requestId");
  if (method !== "notifications/cancelled" || !isRequestId(requestId)) return {};
  const reason = given(params, "reason");
  return { notice: { type: "cancelled", requestId, ...(typeof reason === "string" ? { reason } : {}) } };
}
