/** How a page may show a question, in `_meta` of what puts it: the specification has no place for it, and no client needs it to answer. */
import type { AskRequest, JsonObject } from "@parley/core";

const HINTS = "parley/hints";

/** Empty where the question has none. */
export function hintsMeta(request: AskRequest): JsonObject {
  return (request.type === "form" || request.type === "url") && request.hints ? { [HINTS]: request.hints } : {};
}

/** Params with `meta` as their `_meta`, which is left out when there is nothing in it. */
export function withMeta(params: object, meta: JsonObject): object {
  return Object.keys(meta).length === 0 ? params : { ...params, _meta: meta };
}
