import type { Command } from "commander";

export interface StdioCommand {
  readonly url?: string;
  readonly tools?: string;
  readonly dataDir?: string;
}

export function addStdio(program: Command): void {
  program
    .command("stdio")
    .description("serves one MCP client over standard input and output, as desktop and editor clients start their servers")
    .option("-u, --url <url>", "carry everything to this MCP endpoint instead of starting a server (PARLEY_URL)", process.env["PARLEY_URL"])
    .option("-t, --tools <modules>", "tool modules of the started server, separated by commas (PARLEY_TOOLS, the gallery)")
    .option("-d, --data-dir <directory>", "where the started server keeps its data (a place in your home)")
    .action(async (options: StdioCommand) => (await import("../stdio/run.ts")).serveStdio(options));
}
