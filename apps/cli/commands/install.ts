import type { Command } from "commander";
import type { InstallOptions } from "../install/run.ts";

export function addInstall(program: Command): void {
  program
    .command("install <client>")
    .description(
      "lets a client start `parley stdio`: claude-desktop, claude-code, vscode, cursor, codex, gemini or inspector; shows the change and asks first",
    )
    .option("-u, --url <url>", "let it connect to this MCP endpoint instead of starting a server")
    .option("-t, --tools <modules>", "tool modules of the started server, separated by commas")
    .option("-d, --data-dir <directory>", "where the started server keeps its data")
    .option("--token-file <file>", "a file with an access token for --url; `parley login` needs none")
    .option("-n, --name <name>", "what the client calls the server", "parley")
    .option("-p, --project", "for this folder alone, where the client knows such a file")
    .option("-f, --file <file>", "the client's file, if it is somewhere else")
    .option("--remove", "take the entry away")
    .option("--print", "print the file as it would be, and write nothing")
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
