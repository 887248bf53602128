/** Every port of core in memory: the readable reference of what packages/redis does, and what tools are tested with. */
export * from "./claims.ts";
export * from "./wake-ups.ts";
export * from "./queue.ts";
export * from "./sessions.ts";
export * from "./slots.ts";
export * from "./store.ts";
