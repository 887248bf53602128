/** Every port of core in memory: the readable reference for packages/redis, and what the test kit runs tools on. */
export * from "./approval-record.ts";
export * from "./claims.ts";
export * from "./grants.ts";
export * from "./wake-ups.ts";
export * from "./queue.ts";
export * from "./repeats.ts";
export * from "./sessions.ts";
export * from "./slots.ts";
export * from "./snoozes.ts";
export * from "./standing-approvals.ts";
export * from "./last-approved.ts";
export * from "./store.ts";
