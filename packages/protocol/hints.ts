/** Display hints of a question, in its `_meta`: the specification has no field for them, and clients can answer without them. */
import type { AskRequest, JsonObject } from "@parley/core";

const HINTS = "parley/hints";

/** Empty if the question has no hints. */
export function hintsMeta(request: AskRequest): JsonObject {
  return (request.type === "form" || request.type === "url") && request.hints ? { [HINTS]: request.hints } : {};
}

/** Params with `meta` as their `_meta`, unless it is empty. */
export function withMeta(params: object, meta: JsonObject): object {
  return Object.keys(meta).length === 0 ? params : { ...params, _meta: meta };
}
