import type { Command } from "commander";
import type { InstallOptions } from "../install/run.ts";

export function addInstall(program: Command): void {
  program
    .command("install <client>")
    .description(
      "configures a client to start `parley stdio`: claude-desktop, claude-code, vscode, cursor, codex, gemini or inspector; shows the change and asks first",
    )
    .option("-u, --url <url>", "connect to this MCP endpoint instead of starting a server")
    .option("-t, --tools <modules>", "tool modules for its own server, separated by commas")
    .option("-d, --data-dir <directory>", "where its own server keeps its data")
    .option("--token-file <file>", "a file with an access token for --url; not needed after `parley login`")
    .option("-n, --name <name>", "name of the server in the client", "parley")
    .option("-p, --project", "only for this folder, if the client has such a file")
    .option("-f, --file <file>", "the file of the client, if it is elsewhere")
    .option("--remove", "remove the entry")
    .option("--print", "print the resulting file, and write nothing")
    .option("-y, --yes", "write without asking")
    .option("--json", "print what was done as JSON")
    .addHelpText(
      "after",
      `
Examples:
  $ parley install claude-desktop
  $ parley install vscode --project --tools ./tools.ts
  $ parley install cursor --url https://parley.example.com/mcp`,
    )
    .action(async (client: string, options: InstallOptions) => (await import("../install/run.ts")).install(client, options));
}
