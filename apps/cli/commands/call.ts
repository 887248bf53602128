import type { Command } from "commander";
import { objectGiven } from "./options.ts";

export interface CallCommand {
  readonly url?: string;
  readonly tools?: string;
  readonly dataDir?: string;
  readonly arg: readonly string[];
  readonly args?: string;
  readonly idempotencyKey?: string;
  readonly wait: boolean;
  readonly input: boolean;
  readonly interactive?: boolean;
  /** `true`, or all arguments as JSON. */
  readonly json?: string | true;
}

export function addCall(program: Command): void {
  program
    .command("call <tool>")
    .description("calls a tool and waits for its result; asks what the tool asks, or prints how to answer it where there is no terminal")
    .usage("<tool> [--name value …] [options]")
    .option("-u, --url <url>", "URL of the MCP endpoint (PARLEY_URL; else the server that runs here, else one is started)")
    .option(
      "-a, --arg <name=value>",
      "an argument; a value that is valid JSON is read as JSON",
      (given: string, all: string[]) => [...all, given],
      [],
    )
    .option("--args <object>", "all arguments as JSON")
    .option("-j, --json [object]", "print the outcome as JSON; with an object: all arguments, as --args")
    .option("-i, --interactive", "ask on this terminal, also where it is not sure to be one")
    .option("--no-input", "ask nothing: print how to answer")
    .option("--idempotency-key <key>", "calls with the same key are one call: a repeated one answers with the task of the first")
    .option("--no-wait", "print the task's id and exit")
    .option("-t, --tools <modules>", "tool modules of the started server (PARLEY_TOOLS, the gallery)")
    .option("-d, --data-dir <directory>", "where the started server keeps its data")
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
      const { call } = await import("../call.ts");
      await call(tool, { ...options, ...(args !== undefined && { args }), ...(isOutput && { json: true }) }, command.args.slice(1));
    });
}
