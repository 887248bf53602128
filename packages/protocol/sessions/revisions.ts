/** The served revisions with sessions. */
import type { SessionDialect } from "./dialect.ts";
import { rev20250326 } from "./rev-2025-03-26/index.ts";
import { rev20250618 } from "./rev-2025-06-18/index.ts";
import { rev20251125 } from "./rev-2025-11-25/index.ts";

/** Newest first, as in SESSION_VERSIONS. */
export const SESSION_DIALECTS = [rev20251125, rev20250618, rev20250326] as const;

export function sessionDialect(version: string): SessionDialect | undefined {
  return SESSION_DIALECTS.find((dialect) => dialect.version === version);
}
