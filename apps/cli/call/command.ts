import type { Command } from "commander";
import { collect, objectGiven } from "../client/options.ts";

export interface CallCommand {
  readonly url?: string;
  readonly tools?: string;
  readonly dataDir?: string;
  readonly arg?: readonly string[];
  readonly args?: string;
  readonly idempotencyKey?: string;
  readonly why?: string;
  readonly wait: boolean;
  readonly input: boolean;
  readonly interactive?: boolean;
  /** `true`, or all arguments as JSON. */
  readonly json?: string | true;
}

export function addCall(program: Command): void {
  program
    .command("call <tool>")
    .description("Call a tool and wait for its result; ask its questions, or print how to answer them if there is no terminal")
    .usage("<tool> [--name value …] [options]")
    .option("-u, --url <url>", "URL of the MCP endpoint (default: PARLEY_URL, the server that runs here, or a new one)")
    .option("-a, --arg <name=value>", "One argument; a value that is valid JSON is read as JSON", collect)
    .option("--args <object>", "All arguments as JSON")
    .option("-j, --json [object]", "Print the outcome as JSON; with an object: all arguments, as in --args")
    .option("-i, --interactive", "Ask questions here even if this does not look like a terminal")
    .option("--no-input", "Do not ask questions; print how to answer them")
    .option("--idempotency-key <key>", "Calls with the same key are one call: a repeated call returns the task of the first")
    .option("--why <text>", "Why the call is made, for people who have to approve it")
    .option("--no-wait", "Print the id of the task and exit")
    .option(
      "-t, --tools <modules>",
      "Tool modules for a new server (default: PARLEY_TOOLS, package.json, or the gallery if there are no upstreams)",
    )
    .option("-d, --data-dir <directory>", "Directory where a new server keeps its data")
    .allowUnknownOption()
    .allowExcessArguments()
    .addHelpText(
      "after",
      `
Each argument of the tool is a flag of its own; \`parley tools\` lists them.

Examples:
  $ parley call book_dinner --date 2026-12-24 --time 19:30
  $ parley call book_dinner -a date=2026-12-24 -a time=19:30 --no-wait
  $ parley call onboarding --args '{"team":"ops"}' --json`,
    )
    .action(async (tool: string, { json, ...options }: CallCommand, command: Command) => {
      const { args = options.args, isOutput } = objectGiven(json);
      const { call } = await import("./run.ts");
      await call(tool, { ...options, ...(args !== undefined && { args }), ...(isOutput && { json: true }) }, command.args.slice(1));
    });
}
