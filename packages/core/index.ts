/** Everything that other packages use of core. Start with task.ts (the model), ports.ts (the environment) and replay.ts (the engine). */

// The model
export * from "./task.ts";
export * from "./state-machine.ts";
export * from "./journal.ts";
export * from "./effects.ts";
export * from "./catalogue.ts";
export * from "./versions.ts";
export * from "./slots.ts";
export * from "./session.ts";
export * from "./files.ts";
export * from "./granted-tokens.ts";
export * from "./kept-grants.ts";
export * from "./summary.ts";
export * from "./outcome.ts";
export * from "./errors.ts";
export { answerOfChild, CHILD_END_TOO_LARGE } from "./child-end.ts";
export { childId, isChildId } from "./child-id.ts";
export { QUORUM_MAX } from "./quorum.ts";

// The environment
export * from "./ports.ts";
export { isAnnouncement } from "./announcement.ts";
export * from "./settings.ts";
export * from "./audit.ts";

// Callers and what they may do
export * from "./caller.ts";
export * from "./policy.ts";
export * from "./quotas.ts";
export * from "./scopes.ts";
export type { ApiKey, ApiKeys } from "./api-key.ts";

// Questions and replies
export { checkAsk, FORBIDDEN_SCHEMES } from "./ask-policy.ts";
export * from "./form.ts";
export * from "./reply.ts";
export * from "./schema-violation.ts";

// Replay
export * from "./replay.ts";
export * from "./run-stopped.ts";
export * from "./awaited-by.ts";
export { settledBefore } from "./replay/course.ts";
export { type Strays, straysOf } from "./replay/flow.ts";
export { FEED_LENGTH_MAX } from "./replay/reports.ts";

// Use cases
export * from "./use-cases/services.ts";
export * from "./use-cases/call-taskless.ts";
export * from "./use-cases/create-task.ts";
export * from "./use-cases/get-task.ts";
export * from "./use-cases/list-tasks.ts";
export * from "./use-cases/watch-task.ts";
export * from "./use-cases/read-timeline.ts";
export * from "./use-cases/answer-task.ts";
export * from "./use-cases/only-ask.ts";
export { recordAnswer } from "./use-cases/record-answer.ts";
export * from "./use-cases/declare-unavailable.ts";
export * from "./use-cases/visit-page.ts";
export * from "./use-cases/receive-event.ts";
export * from "./use-cases/fresh-token.ts";
export * from "./use-cases/own-grants.ts";
export * from "./use-cases/cancel-task.ts";
export * from "./use-cases/run-task.ts";
export * from "./use-cases/suspects.ts";
export * from "./use-cases/sweep.ts";
export * from "./use-cases/sweep-files.ts";

// Values
export { canonicalJson, STORED_DEPTH_MAX, throughJson } from "./canonical-json.ts";
export * from "./cut.ts";
export * from "./describe-error.ts";
export { DISTINCT_ITEMS } from "./distinct-items.ts";
export * from "./duration.ts";
export { publicUrlSetting } from "./public-url.ts";
export * from "./invalid-cursor.ts";
export { jsonExceeds } from "./json-extent.ts";
export * from "./over.ts";
export * from "./sleep-on.ts";
export * from "./turns.ts";
