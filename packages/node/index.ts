/** Core's ports as Node.js has them: clock, digest, and JSON Schema validation. */
export * from "./clock.ts";
export * from "./digest.ts";
export * from "./validate.ts";
