export * from "./config.ts";
export * from "./worker.ts";
