/** Everything that other packages use of core. Start with task.ts (the model), ports.ts (the environment) and replay.ts (the engine). */

// The model
export * from "./task.ts";
export * from "./task/state-machine.ts";
export * from "./journal.ts";
export * from "./effects.ts";
export * from "./catalogue.ts";
export * from "./use-cases/versions.ts";
export type { Room } from "./ports/room.ts";
export * from "./ports/slots.ts";
export * from "./ports/approval-record.ts";
export * from "./ports/standing-approvals.ts";
export { SNOOZES_MAX } from "./ports/snoozes.ts";
export * from "./ports/last-approved.ts";
export { isTestCall, testName, toolNameOf } from "./task/test-call.ts";
export { REPEATED_REPLY_CHARS, REPEATS_KEPT_MS, REPEATS_LEASE_MS, REPEATS_MAX } from "./ports/repeats.ts";
export * from "./callers/session.ts";
export * from "./ports/files.ts";
export * from "./callers/granted-tokens.ts";
export * from "./callers/kept-grants.ts";
export * from "./task/summary.ts";
export * from "./task/waiting-behind.ts";
export * from "./task/outcome.ts";
export * from "./callers/names.ts";
export * from "./callers/open-asks.ts";
export * from "./errors.ts";
export { answerOfChild, CHILD_END_TOO_LARGE } from "./replay/child-end.ts";
export { childId, isChildId } from "./replay/child-id.ts";
export { QUORUM_MAX } from "./callers/quorum.ts";
export {
  CLAIM_MINUTES,
  CLAIM_MINUTES_MAX,
  COMMENT_CHARS_MAX,
  COMMENTS_MAX,
  DELEGATED_NAMES_MAX,
  DELEGATION_REASON_CHARS_MAX,
} from "./callers/threads.ts";

// The environment
export * from "./ports.ts";
export { isAnnouncement } from "./task/announcement.ts";
export * from "./settings.ts";
export { ASSURANCE_CHARS_MAX, ASSURANCE_VALUES_MAX, assuranceProblems } from "./asks/required-assurance.ts";
export { assuranceRefusal, assuranceText, meets, requiredOf, unmet } from "./callers/assurance.ts";
export * from "./callers/audit.ts";

// Callers and what they may do
export * from "./callers/caller.ts";
export { MEMBERSHIP_CHARS_MAX, membershipOf } from "./callers/membership.ts";
export * from "./callers/policy.ts";
export * from "./callers/quotas.ts";
export * from "./callers/scopes.ts";
export * from "./callers/shares.ts";
export type { ApiKey, ApiKeys } from "./callers/api-key.ts";

// Questions and replies
export * from "./asks/about.ts";
export { canBeAsked, canBeAskedAnything, isForClientOnly, usesTools } from "./asks/can-be-asked.ts";
export { checkAsk, FORBIDDEN_SCHEMES } from "./asks/ask-policy.ts";
export { checkPrompts, ESCALATIONS_MAX, REMINDERS_MAX, type Upcoming, upcomingPrompts } from "./asks/prompts.ts";
export * from "./asks/form.ts";
export * from "./asks/own-words.ts";
export * from "./asks/reply.ts";
export * from "./values/schema-violation.ts";
export * from "./values/alternatives.ts";

// Replay
export * from "./replay.ts";
export * from "./run-stopped.ts";
export { settledBefore } from "./replay/course.ts";
export { type Strays, straysOf } from "./replay/flow.ts";
export { FEED_LENGTH_MAX } from "./replay/reports.ts";

// Use cases
export * from "./use-cases/services.ts";
export * from "./use-cases/call-taskless.ts";
export * from "./use-cases/check-in-time.ts";
export * from "./use-cases/create-task.ts";
export * from "./use-cases/get-task.ts";
export * from "./use-cases/list-tasks.ts";
export * from "./use-cases/list-answered.ts";
export * from "./use-cases/list-asks.ts";
export * from "./use-cases/find-tasks.ts";
export * from "./use-cases/read-ask.ts";
export * from "./use-cases/join-thread.ts";
export { snoozesOf } from "./use-cases/snoozes-of.ts";
export { SNOOZE_DAYS_MAX, snoozeAsk, type Snoozed, unsnoozeAsk } from "./use-cases/snooze-ask.ts";
export * from "./use-cases/watch-task.ts";
export * from "./use-cases/read-timeline.ts";
export * from "./use-cases/read-occurrences.ts";
export * from "./use-cases/follow-occurrences.ts";
export * from "./use-cases/follow-passed-on.ts";
export * from "./use-cases/answer-task.ts";
export * from "./use-cases/only-ask.ts";
export { recordAnswer } from "./use-cases/record-answer.ts";
export * from "./use-cases/declare-unavailable.ts";
export * from "./use-cases/visit-page.ts";
export * from "./use-cases/next-ask.ts";
export * from "./use-cases/receive-event.ts";
export * from "./use-cases/fresh-token.ts";
export * from "./use-cases/own-grants.ts";
export * from "./use-cases/own-standing.ts";
export * from "./use-cases/cancel-task.ts";
export * from "./use-cases/run-task.ts";
export * from "./use-cases/suspects.ts";
export * from "./use-cases/sweep.ts";
export * from "./use-cases/sweep-files.ts";

// Values
export { canonicalJson, STORED_DEPTH_MAX, throughJson } from "./values/canonical-json.ts";
export * from "./values/cut.ts";
export * from "./task/describe-error.ts";
export { DISTINCT_ITEMS } from "./values/distinct-items.ts";
export { inCurrentDraft, isKnownDraft } from "./values/older-drafts.ts";
export { withChoicesAsEnum } from "./values/choices-as-enum.ts";
export { MULTIPLE_OF } from "./values/multiple-of.ts";
export { problemAt } from "./values/violation-texts.ts";
export * from "./values/duration.ts";
export { publicUrlSetting } from "./values/public-url.ts";
export * from "./task/invalid-cursor.ts";
export * from "./task/occurrence-types.ts";
export { jsonExceeds } from "./values/json-extent.ts";
export { assertNotFarTooLong, isFarTooLong } from "./task/stored-length.ts";
export * from "./values/json-text.ts";
export * from "./wait-over.ts";
export * from "./ports/sleep-on.ts";
export * from "./values/turns.ts";
