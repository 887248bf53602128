/** Asks for clients of this revision (S25 client/elicitation, client/sampling, client/roots). */
import { type AskRequest, type ClientCapabilities, usesTools } from "@parley/core";
import { messageOf } from "../../ask-message.ts";
import { hintsMeta, withMeta } from "../../hints.ts";
import { serverRequest } from "../ask.ts";
import { canAsk as canAskInAny } from "../can-ask.ts";
import type { SessionEncoder } from "../dialect.ts";
import { related } from "./tasks.ts";

/** This revision adds url mode, and sampling with tools. */
export function canAsk(request: AskRequest, capabilities: ClientCapabilities): boolean {
  if (request.type === "url") return capabilities.elicitation?.url === true;
  if (usesTools(request)) return capabilities.sampling?.tools === true;
  return canAskInAny(request, capabilities);
}

/** S25 client/elicitation, "Completion Notifications for URL Mode Elicitation". */
export const pageDone: NonNullable<SessionEncoder["pageDone"]> = (elicitationId) => ({
  jsonrpc: "2.0",
  method: "notifications/elicitation/complete",
  params: { elicitationId },
});

/** Forms are sent unchanged: they were checked against this revision's subset when they were asked. */
export const ask: SessionEncoder["ask"] = (put, { requestId, elicitationId, taskId }) => {
  const { request } = put;
  const meta = taskId === undefined ? {} : related(taskId);
  switch (request.type) {
    case "form": {
      const message = messageOf({ ...put, request });
      return serverRequest(
        requestId,
        "elicitation/create",
        withMeta({ mode: "form", message, requestedSchema: request.schema }, { ...meta, ...hintsMeta(request) }),
      );
    }
    case "url": {
      const message = messageOf({ ...put, request });
      return serverRequest(
        requestId,
        "elicitation/create",
        withMeta({ mode: "url", message, url: request.url, elicitationId }, { ...meta, ...hintsMeta(request) }),
      );
    }
    case "sampling": {
      const own = request.params["_meta"];
      const params =
        taskId === undefined ? request.params : { ...request.params, _meta: { ...(own as object | undefined), ...related(taskId) } };
      return serverRequest(requestId, "sampling/createMessage", params);
    }
    case "roots":
      return serverRequest(requestId, "roots/list", withMeta({}, meta));
  }
};
