/** Options that several commands share. */
import type { Command } from "commander";

export interface ServerOptions {
  readonly url?: string;
  readonly dataDir?: string;
}

/** Which server, for commands that speak to one that runs, or ran, here. */
export function withServerOptions(command: Command): Command {
  return command
    .option("-u, --url <url>", "URL of the MCP endpoint (PARLEY_URL; else the server that runs here)")
    .option("-d, --data-dir <directory>", "the data of a server that ran here");
}

/** `--json` was an object of input before it meant output; an object behind it still is one. */
export function objectGiven(json: string | true | undefined): { readonly args?: string; readonly isOutput: boolean } {
  return typeof json === "string" ? { args: json, isOutput: false } : { isOutput: json === true };
}
