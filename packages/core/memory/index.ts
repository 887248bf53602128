/** Every port of core in memory: the readable reference of what packages/redis does, and what tools are tested with. */
export * from "./events.ts";
export * from "./queue.ts";
export * from "./sessions.ts";
export * from "./store.ts";
