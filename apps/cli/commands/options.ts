/** Options that several commands share. */
import type { Command } from "commander";

export interface ServerOptions {
  readonly url?: string;
  readonly dataDir?: string;
}

/** Which server, for commands that speak to one that runs, or ran, here. */
export function withServerOptions(command: Command): Command {
  return command
    .option("-u, --url <url>", "URL of the MCP endpoint (default: PARLEY_URL, or the server that runs here)")
    .option("-d, --data-dir <directory>", "Data directory of a server that ran here");
}

/** Collects the values of an option that may be repeated; undefined without one, so that the help shows no default. */
export function collect(given: string, before: readonly string[] = []): readonly string[] {
  return [...before, given];
}

/** `--json` was an object of input before it meant output; an object behind it still is one. */
export function objectGiven(json: string | true | undefined): { readonly args?: string; readonly isOutput: boolean } {
  return typeof json === "string" ? { args: json, isOutput: false } : { isOutput: json === true };
}
