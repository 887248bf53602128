/** The front end, for whoever starts it: the CLI, tests, benchmarks. */
export { type App, type AppDeps, buildApp } from "./app.ts";
export { type Limits, SERVER_SETTINGS, type ServerConfig, serverConfig, type Times } from "./config.ts";
export type { TrustedCallers } from "./plugins/trusted-callers.ts";
export { anonymous, type Authenticate } from "./front-end/principal.ts";
export { type RunningServer, startServer } from "./start-server.ts";
export { agreedStateKeys, type SharedSecret, type StateKeys, stateKeys } from "./seals/state-keys.ts";
