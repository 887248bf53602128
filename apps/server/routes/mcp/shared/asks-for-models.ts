/**
 * Which questions a model may pass an answer to. What comes by a tool comes through the model, and nobody can tell whether a person said it: so it
 * counts for plain questions to the caller alone.
 */
import { type Ask, fieldsOf, isRisky, requiredOf, type Tool } from "@parley/core";

/** `tool`: which the question belongs to; undefined if it is not offered any more. */
export function isForModel(ask: Ask, tool: Pick<Tool, "annotations"> | undefined): boolean {
  const { request, audience, route } = ask;
  // Pages are for secrets, files and consent, and an audience is for people who log in. Whatever is required, a model is less.
  if (request.type !== "form" || audience || route || requiredOf(ask) || !tool) return false;
  if (tool.annotations?.["destructiveHint"] === true || isRisky(request)) return false;
  // A form without anything to fill in asks for a yes, as approvals do.
  return fieldsOf(request.schema).some(({ kind, isRequired }) => isRequired && kind !== "boolean");
}
