/** The front end's process. */
import { readEnvironment } from "@parley/node";
import { untilStopped } from "@parley/node/until-stopped";
import { SERVER_SETTINGS, serverConfig } from "./config.ts";
import { startServer } from "./start-server.ts";

try {
  await untilStopped(() => startServer(serverConfig(readEnvironment(SERVER_SETTINGS, process.env))));
} catch (error) {
  process.stderr.write(`parley server: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
