/** What the revisions have in common about errors. */
import { describeViolations, ParleyError, RpcFailure } from "@parley/core";

/** True for what only the log may explain: log it with its stack under the defect id. */
export function isDefect(error: unknown): boolean {
  return !(error instanceof ParleyError || error instanceof RpcFailure);
}

/** The error with all that is wrong, for a model or a person to read. */
export function explained({ message, violations = [] }: ParleyError): string {
  return violations.length === 0 ? message : `${message}: ${describeViolations(violations)}`;
}
