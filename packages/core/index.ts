export * from "./catalogue.ts";
export * from "./effects.ts";
export * from "./errors.ts";
export * from "./journal.ts";
export * from "./ports.ts";
export * from "./task.ts";
