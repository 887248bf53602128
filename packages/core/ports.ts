/**
 * The ports: everything that core needs from its environment, one file each. packages/core/memory implements each port as a readable reference,
 * packages/redis implements them for production, and test/contract runs one suite against both.
 */
export type * from "./ports/store.ts";
export type * from "./ports/runs.ts";
export type * from "./ports/queue.ts";
export type * from "./ports/wake-ups.ts";
export type * from "./ports/clock.ts";
export type * from "./ports/scope.ts";
export type * from "./ports/ids.ts";
export type * from "./ports/deposits.ts";
export type * from "./ports/outbox.ts";
export type * from "./ports/subscriptions.ts";
export type * from "./ports/passed-on.ts";
export type * from "./ports/claims.ts";
export type { RepeatedRequest, Repeats } from "./ports/repeats.ts";
export type { Snooze, Snoozes, SnoozingPerson } from "./ports/snoozes.ts";
export type * from "./ports/oauth-providers.ts";
export type * from "./ports/event-tokens.ts";
export type * from "./ports/validate-schema.ts";
export type * from "./ports/log.ts";
export type * from "./ports/observer.ts";
// Defined where those need them on whom the ports build.
export type { Announcement } from "./task/announcement.ts";
export type { Digest } from "./values/digest.ts";
