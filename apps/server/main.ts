/** The front end's process. */
import { readEnvironment } from "@parley/node";
import { SERVER_SETTINGS, serverConfig } from "./config.ts";
import { type RunningServer, startServer } from "./start-server.ts";

let server: RunningServer | undefined;
// Listened for before the front end says that it is ready: from then on, a signal closes it.
for (const signal of ["SIGTERM", "SIGINT"] as const) {
  process.once(signal, () => {
    if (!server) process.exit(1);
    void server.close().then(() => process.exit(0));
  });
}

try {
  server = await startServer(serverConfig(readEnvironment(SERVER_SETTINGS, process.env)));
} catch (error) {
  process.stderr.write(`parley server: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
