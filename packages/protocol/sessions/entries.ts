/** Entries of lists as revisions before 2026 allow them. */
import { ENTRIES, without, type Entries } from "../entries.ts";

export const SESSION_ENTRIES: Entries = {
  ...ENTRIES,
  // Structured content is an object before 2026: a schema of anything else would describe what is never sent.
  tool: (tool) => (tool.outputSchema?.["type"] === "object" ? ENTRIES.tool(tool) : without(ENTRIES.tool(tool), "outputSchema")),
};
