/** Asks for revisions before 2025-11-25 (S0618 client/elicitation): no modes, no tasks, simpler forms. */
import { messageOf } from "../ask-message.ts";
import { hintsMeta, withMeta } from "../hints.ts";
import { serverRequest, singleBlocks } from "./ask.ts";
import type { SessionEncoder } from "./dialect.ts";
import { olderForm } from "./form.ts";

export const olderAsk: SessionEncoder["ask"] = (put, { requestId }) => {
  const { request } = put;
  switch (request.type) {
    case "form":
      return serverRequest(
        requestId,
        "elicitation/create",
        withMeta({ message: messageOf({ ...put, request }), requestedSchema: olderForm(request.schema) }, hintsMeta(request)),
      );
    case "url":
      throw new Error("url mode is newer than this revision: see canAsk");
    case "sampling":
      return serverRequest(requestId, "sampling/createMessage", singleBlocks(request.params));
    case "roots":
      return serverRequest(requestId, "roots/list", {});
  }
};
