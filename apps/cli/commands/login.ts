import type { Command } from "commander";
import type { LoginCommand } from "../login/run.ts";

export function addLogin(program: Command): void {
  program
    .command("login")
    .description("logs in to a server in the browser; every command that speaks to it uses the token then, and renews it")
    .option("-u, --url <url>", "URL of the MCP endpoint (PARLEY_URL)")
    .option("--device", "show a code to type in on another device, instead of opening a browser here")
    .option("--no-browser", "print the page's address, and open nothing")
    .option("--client-id <id>", "of a client that is registered at the provider, where it registers none by itself")
    .option("--scope <scopes>", "what to ask for (what the server names)")
    .option("--json", "print what was given as JSON, without the tokens")
    .action(async (options: LoginCommand) => (await import("../login/run.ts")).login(options));
  program
    .command("logout")
    .description("forgets the tokens for a server")
    .option("-u, --url <url>", "URL of the MCP endpoint (PARLEY_URL)")
    .option("--all", "for all servers")
    .option("--json", "print what was forgotten as JSON")
    .action(async (options: { url?: string; all?: boolean; json?: boolean }) => (await import("../login/run.ts")).logout(options));
}
