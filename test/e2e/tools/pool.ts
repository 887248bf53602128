/** A tool with a module that its worker starts. `POOL_LOG` records what happened; with `POOL_FAILS`, the module does not start. */
import { appendFile } from "node:fs/promises";
import { defineModule, defineTool } from "@parley/sdk";

// oxlint-disable-next-line node/no-process-env -- where the test looks
const { POOL_LOG = "", POOL_FAILS } = process.env;
const note = (line: string) => appendFile(POOL_LOG, `${line}\n`);

export const pool = defineModule({
  name: "pool",
  async start() {
    if (POOL_FAILS !== undefined) throw new Error("connect ECONNREFUSED 10.0.0.1:5432");
    await note("started");
    return { query: async () => note("queried") };
  },
  stop: () => note("stopped"),
});

export const query = defineTool({
  name: "query",
  async run(_args, ctx) {
    await ctx.step("query", () => pool.use().query());
    return "queried";
  },
});
