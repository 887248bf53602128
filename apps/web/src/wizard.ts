/** Where the page of a wizard leads. */
import type { Step } from "@parley/core/own-words";

/** A page of a wizard that has one before it: declining it goes there. */
export function isWayBack({ hints }: { readonly hints?: Readonly<Record<string, unknown>> }): boolean {
  return hints?.["back"] === true;
}

/** A page of a wizard other than the last. Its step is in the words of the question, as no client of MCP is told it in any other way. */
export function hasNextPage(step: Step | undefined): boolean {
  return step !== undefined && step.number < step.count;
}
