/** Options that several commands share. */
import { type Command, InvalidArgumentError } from "commander";

export interface ServerOptions {
  readonly url?: string;
  readonly dataDir?: string;
}

/** The options that select a server, for commands that use one that runs or ran here. */
export function withServerOptions(command: Command): Command {
  return command
    .option("-u, --url <url>", "URL of the MCP endpoint (default: PARLEY_URL, or the server that runs here)")
    .option("-d, --data-dir <directory>", "Data directory of a server that ran here");
}

/** Collects the values of a repeatable option. The initial value is undefined, so that the help shows no default. */
export function collect(given: string, before: readonly string[] = []): readonly string[] {
  return [...before, given];
}

/** `--json` selects JSON output. With a value, it is input: `--json` had that meaning first. */
export function objectGiven(json: string | true | undefined): { readonly args?: string; readonly isOutput: boolean } {
  return typeof json === "string" ? { args: json, isOutput: false } : { isOutput: json === true };
}

export function atLeastOne(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 1) throw new InvalidArgumentError("It must be an integer of at least 1.");
  return number;
}
