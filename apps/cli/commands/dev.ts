import type { Command } from "commander";

export interface DevOptions {
  readonly port?: string;
  readonly tools?: string;
  readonly dataDir: string;
}

export function addDev(program: Command): void {
  program
    .command("dev")
    .description("like start, and restarts when a file of the tools changes; reports which waiting tasks the changed tools continue")
    .option("-p, --port <port>", "port to listen on (default: PARLEY_PORT, PORT, or 3000)")
    .option("-t, --tools <modules>", "tool modules, separated by commas (default: PARLEY_TOOLS, or the gallery)")
    .option("-d, --data-dir <directory>", "where the embedded Redis keeps its data", ".parley/redis")
    .addHelpText("after", "\nExamples:\n  $ parley dev --tools ./tools.ts")
    .action(async (options: DevOptions) => (await import("../dev/run.ts")).dev(options));
}
