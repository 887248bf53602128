/** The parts that every Parley process needs on Node.js: core's clock, scope, digest and validation, settings from the environment, a logger. */
export * from "./author-code.ts";
export * from "./clock.ts";
export * from "./deposit-seal.ts";
export * from "./digest.ts";
export * from "./environment.ts";
export * from "./event-tokens.ts";
export * from "./heap.ts";
export * from "./hosts.ts";
export * from "./logger.ts";
export * from "./scope.ts";
export * from "./settings.ts";
export * from "./tool-modules.ts";
export * from "./validate.ts";
export * from "./watch-event-loop.ts";
