/** What the caller of a refused call gets: an error that a model can act on. */
import type { JsonObject, Tool } from "@parley/core";

export interface Denied {
  readonly rule: string;
  readonly title: string;
  readonly reason: string;
  /** Whether the same call may succeed: never, later, or only if it is changed. */
  readonly again: "never" | "later" | "changed";
}

/** In `_meta` of the result. */
export const DENIAL = "parley/denial";

const ADVICE = {
  never: "Calling it again with these arguments will be refused again.",
  later: "You may call it again, which asks again.",
  changed: "Do not call it again unchanged.",
} as const;

/** A CallToolResult. Structured only for tools without an output schema, which it would not match. */
export function denial({ name, outputSchema }: Tool, { rule, title, reason, again }: Denied): JsonObject {
  const denied = { tool: name, rule, reason, again };
  return {
    isError: true,
    content: [{ type: "text", text: `The call of ${name} was refused (${title}). ${reason} ${ADVICE[again]}` }],
    ...(!outputSchema && { structuredContent: { denied } }),
    _meta: { [DENIAL]: denied },
  };
}
