import type { Command } from "commander";

export interface DevOptions {
  readonly port?: string;
  readonly tools?: string;
  readonly dataDir: string;
}

export function addDev(program: Command): void {
  program
    .command("dev")
    .description("as start, and starts again when a file of the tools changes; says which waiting tasks the changed tools continue")
    .option("-p, --port <port>", "port to listen on (PARLEY_PORT, PORT, 3000)")
    .option("-t, --tools <modules>", "tool modules, separated by commas (PARLEY_TOOLS, the gallery)")
    .option("-d, --data-dir <directory>", "where the embedded Redis keeps its data", ".parley/redis")
    .addHelpText("after", "\nExamples:\n  $ parley dev --tools ./tools.ts")
    .action(async (options: DevOptions) => (await import("../dev/run.ts")).dev(options));
}
