import type { Command } from "commander";

export interface StdioCommand {
  readonly url?: string;
  readonly tools?: string;
  readonly dataDir?: string;
}

export function addStdio(program: Command): void {
  program
    .command("stdio")
    .description("Serve one MCP client over standard input and output; started by desktop and editor clients")
    .option(
      "-u, --url <url>",
      "Forward every message to this MCP endpoint instead of starting a server (default: PARLEY_URL)",
      process.env["PARLEY_URL"],
    )
    .option(
      "-t, --tools <modules>",
      "Tool modules for its own server, separated by commas (default: PARLEY_TOOLS, package.json, or the gallery if there are no upstreams)",
    )
    .option("-d, --data-dir <directory>", "Directory where its own server keeps its data (default: a directory in your home)")
    .action(async (options: StdioCommand) => (await import("./run.ts")).serveStdio(options));
}
