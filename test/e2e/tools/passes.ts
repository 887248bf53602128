/** Calls another tool. */
import { defineTool } from "@parley/sdk";

export const takes = defineTool({ name: "takes", run: () => "taken" });

export const passes = defineTool({ name: "passes", run: (_args, ctx) => ctx.call(takes, {}) });
