import type { Command } from "commander";
import type { LoginCommand } from "../login/run.ts";

export function addLogin(program: Command): void {
  program
    .command("login")
    .description("logs in to a server in the browser; later commands for this server use the token, and renew it")
    .option("-u, --url <url>", "URL of the MCP endpoint (PARLEY_URL)")
    .option("--device", "show a code to enter on another device instead of opening a browser here")
    .option("--no-browser", "print the address of the page instead of opening it")
    .option("--client-id <id>", "id of a client registered at the provider, if the provider does not register clients itself")
    .option("--scope <scopes>", "scopes to request (default: those that the server names)")
    .option("--json", "print what was granted as JSON, without the tokens")
    .action(async (options: LoginCommand) => (await import("../login/run.ts")).login(options));
  program
    .command("logout")
    .description("forgets the tokens for a server")
    .option("-u, --url <url>", "URL of the MCP endpoint (PARLEY_URL)")
    .option("--all", "for all servers")
    .option("--json", "print what was forgotten as JSON")
    .action(async (options: { url?: string; all?: boolean; json?: boolean }) => (await import("../login/run.ts")).logout(options));
}
