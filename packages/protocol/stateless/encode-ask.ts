/** Asks as entries of `inputRequests` (S26 basic/patterns/mrtr, client/elicitation). */
import type { Ask } from "@parley/core";
import { messageOf } from "../ask-message.ts";
import { hintsMeta, withMeta } from "../hints.ts";

/** Every ask by its key. Built from entries because an ask may be named `__proto__`. */
export function inputRequests(asks: readonly Ask[]): object {
  return Object.fromEntries(asks.map((ask) => [ask.key, inputRequest(ask)]));
}

/** Form schemas are sent unchanged: they were checked against this revision's subset when they were asked. */
function inputRequest(ask: Ask): object {
  const { request } = ask;
  switch (request.type) {
    case "form":
      return {
        method: "elicitation/create",
        params: withMeta({ mode: "form", message: messageOf({ ...ask, request }), requestedSchema: request.schema }, hintsMeta(request)),
      };
    case "url":
      return {
        method: "elicitation/create",
        params: withMeta({ mode: "url", message: messageOf({ ...ask, request }), url: request.url }, hintsMeta(request)),
      };
    case "sampling":
      return { method: "sampling/createMessage", params: request.params };
    case "roots":
      return { method: "roots/list" };
  }
}
