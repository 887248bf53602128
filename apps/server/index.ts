/** The front end's exports for the command line, tests and benchmarks. */
export { type App, type AppDeps, buildApp } from "./app.ts";
export { SERVER_SETTINGS, type ServerConfig, serverConfig } from "./config.ts";
export { DOCUMENT as API_DOCUMENT } from "./routes/api/document.ts";
export type { Limits, Times } from "./front-end/limits.ts";
export { anonymous, type Authenticate } from "./front-end/caller.ts";
export type { TrustedCallers } from "./plugins/trusted-callers.ts";
export { type StateKeys, stateKeys } from "./seals/state-keys.ts";
export { type RunningServer, startServer } from "./start-server.ts";
