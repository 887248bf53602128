import { untilStopped } from "@parley/node/until-stopped";
import type { Command } from "commander";

export function addServer(program: Command): void {
  program
    .command("server")
    .description("Run a front end, which serves /mcp; needs REDIS_URL")
    .action(() => untilStopped(async () => (await import("./run.ts")).serveFrontEnd()));
}
