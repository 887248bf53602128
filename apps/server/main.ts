/** The front end's process. */
import { readEnvironment } from "@parley/node";
import { SERVER_SETTINGS, serverConfig } from "./config.ts";
import { type RunningServer, startServer } from "./start-server.ts";

let server: RunningServer;
try {
  server = await startServer(serverConfig(readEnvironment(SERVER_SETTINGS, process.env)));
} catch (error) {
  process.stderr.write(`parley server: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  process.once(signal, () => {
    void server.close().then(() => process.exit(0));
  });
}
