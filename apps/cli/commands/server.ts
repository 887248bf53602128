import { readEnvironment } from "@parley/node";
import { SERVER_SETTINGS, serverConfig, startServer } from "@parley/server";
import type { Command } from "commander";
import { untilStopped } from "../until-stopped.ts";

export function addServer(program: Command): void {
  program
    .command("server")
    .description("a front end: serves /mcp; needs REDIS_URL")
    .action(async () => {
      const server = await startServer(serverConfig(readEnvironment(SERVER_SETTINGS, process.env)));
      process.stdout.write(`${server.url}\n`);
      untilStopped(() => server.close());
    });
}
