import type { Command } from "commander";
import { type ServerOptions, withServerOptions } from "../client/options.ts";

export function addTools(program: Command): void {
  withServerOptions(program.command("tools").description("List the tools of a server, with their arguments as flags of `parley call`"))
    .option(
      "-t, --tools <modules>",
      "Tool modules for a new server (default: PARLEY_TOOLS, package.json, or the gallery if there are no upstreams)",
    )
    .option("--json", "Print the tools as the server lists them")
    .action(async ({ json, ...options }: ServerOptions & { json?: boolean; tools?: string }) => {
      const [{ withServer }, { printTools }] = await Promise.all([import("../client/reach.ts"), import("./run.ts")]);
      await withServer({ ...options, mayStart: true }, (server) => printTools(server, { ...(json && { json }) }));
    });
}
