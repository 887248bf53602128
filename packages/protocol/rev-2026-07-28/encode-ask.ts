/** Asks as entries of `inputRequests` (S26 basic/patterns/mrtr, client/elicitation). */
import type { Ask, AskRequest } from "@parley/core";

/** Every ask by its key. Built from entries: an ask may be called `__proto__`. */
export function inputRequests(asks: readonly Ask[]): object {
  return Object.fromEntries(asks.map(({ key, request }) => [key, inputRequest(request)]));
}

/** Form schemas go out as they are: they were checked against this revision's subset when they were asked. */
function inputRequest(request: AskRequest): object {
  switch (request.type) {
    case "form":
      return { method: "elicitation/create", params: { mode: "form", message: request.message, requestedSchema: request.schema } };
    case "url":
      return { method: "elicitation/create", params: { mode: "url", message: request.message, url: request.url } };
    case "sampling":
      return { method: "sampling/createMessage", params: request.params };
    case "roots":
      return { method: "roots/list" };
  }
}
