import type { Command } from "commander";

export interface DevOptions {
  readonly port?: string;
  readonly tools?: string;
  readonly dataDir: string;
}

export function addDev(program: Command): void {
  program
    .command("dev")
    .description("Run like `parley start`, restart when a tool file changes, and report which waiting tasks the changed tools can continue")
    .option("-p, --port <port>", "Port to listen on (default: PARLEY_PORT, PORT, or 3000)")
    .option(
      "-t, --tools <modules>",
      "Tool modules, separated by commas (default: PARLEY_TOOLS, package.json, or the gallery if there are no upstreams)",
    )
    .option("-d, --data-dir <directory>", "Directory where the embedded Redis keeps its data", ".parley/redis")
    .addHelpText("after", "\nExamples:\n  $ parley dev --tools ./tools.ts")
    .action(async (options: DevOptions) => (await import("./run.ts")).dev(options));
}
