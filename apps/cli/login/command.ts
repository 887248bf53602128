import type { Command } from "commander";
import type { LoginCommand } from "./run.ts";

export function addLogin(program: Command): void {
  program
    .command("login")
    .description("Log in to a server in the browser; later commands for this server use the token and renew it")
    .option("-u, --url <url>", "URL of the MCP endpoint (PARLEY_URL)")
    .option("--device", "Show a code to enter on another device instead of opening a browser here")
    .option("--no-browser", "Print the address of the page instead of opening it")
    .option("--client-id <id>", "Id of a client registered at the provider, if the provider does not register clients itself")
    .option("--scope <scopes>", "Scopes to request (default: those that the server names)")
    .option("--json", "Print what was granted as JSON, without the tokens")
    .action(async (options: LoginCommand) => (await import("./run.ts")).login(options));
  program
    .command("logout")
    .description("Delete the stored tokens for a server")
    .option("-u, --url <url>", "URL of the MCP endpoint (PARLEY_URL)")
    .option("--all", "Delete the tokens for all servers")
    .option("--json", "Print the servers concerned as JSON")
    .action(async (options: { url?: string; all?: boolean; json?: boolean }) => (await import("./run.ts")).logout(options));
}
