/** What the caller of a refused call gets: an error that a model can act on. */
import { type JsonObject, RpcFailure } from "@parley/core";
import type { Called } from "./rules.ts";

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
  later: "You may call it again: it is decided anew then.",
  changed: "Do not call it again unchanged.",
} as const;

/** A CallToolResult. Structured only for tools without an output schema, which it would not match. A prompt has no result that says so: throws RpcFailure. */
export function denial(called: Called, { rule, title, reason, again }: Denied): JsonObject {
  const denied = { tool: called.name, rule, reason, again };
  const text = `The call of ${called.name} was refused (${title}). ${reason} ${ADVICE[again]}`;
  if (called.kind === "prompt") throw new RpcFailure(INTERNAL_ERROR, text, { denied });
  return {
    isError: true,
    content: [{ type: "text", text }],
    ...(!called.outputSchema && { structuredContent: { denied } }),
    _meta: { [DENIAL]: denied },
  };
}

/** The specification's code for a prompt that cannot be had. */
const INTERNAL_ERROR = -32_603;
