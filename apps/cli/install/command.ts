import type { Command } from "commander";
import type { InstallOptions } from "./run.ts";

export function addInstall(program: Command): void {
  program
    .command("install <client>")
    .description(
      "Configure a client to start `parley stdio`: claude-desktop, claude-code, vscode, cursor, codex, gemini or inspector; show the change and ask first",
    )
    .option("-u, --url <url>", "Connect to this MCP endpoint instead of starting a server")
    .option("-t, --tools <modules>", "Tool modules for its own server, separated by commas")
    .option("-d, --data-dir <directory>", "Directory where its own server keeps its data")
    .option("--token-file <file>", "File with an access token for --url; not needed after `parley login`")
    .option("-n, --name <name>", "Name of the server in the client", "parley")
    .option("-p, --project", "Configure this folder only, if the client has a file for it")
    .option("-f, --file <file>", "File of the client, if it is elsewhere")
    .option("--remove", "Remove the entry")
    .option("--print", "Print the resulting file without writing it")
    .option("-y, --yes", "Write without asking")
    .option("--json", "Print what was done as JSON")
    .addHelpText(
      "after",
      `
Examples:
  $ parley install claude-desktop
  $ parley install vscode --project --tools ./tools.ts
  $ parley install cursor --url https://parley.example.com/mcp`,
    )
    .action(async (client: string, options: InstallOptions) => (await import("./run.ts")).install(client, options));
}
