/** What the revisions have in common about errors. */
import { ParleyError, RpcFailure } from "@parley/core";

/** True for what only the log may explain: log it with its stack under the defect id. */
export function isDefect(error: unknown): boolean {
  return !(error instanceof ParleyError || error instanceof RpcFailure);
}
