import { DEFAULT_SETTINGS, FORBIDDEN_SCHEMES, type Settings, type TaskQuotas } from "@parley/core";
import { z } from "zod";
import { duration, flag, list, whole } from "./environment.ts";

const { taskQuotas: DEFAULT_QUOTAS } = DEFAULT_SETTINGS;
const TENANT_FACTOR = DEFAULT_QUOTAS.tenant.tasks / DEFAULT_QUOTAS.principal.tasks;

/** The settings of packages/core by their names in the environment. Defaults are core's. */
export const coreEnvironment = {
  PARLEY_GRACE: duration(DEFAULT_SETTINGS.graceMs).describe("How long a due run may wait to start before the sweep queues it again."),
  PARLEY_LEASE: duration(DEFAULT_SETTINGS.leaseMs).describe(
    "How long a run holds its task without renewing its lease; longer than PARLEY_RENEW_EVERY.",
  ),
  PARLEY_RENEW_EVERY: duration(DEFAULT_SETTINGS.renewEveryMs, { min: "100ms" }).describe(
    "How often a long run renews its lease and checks for a cancellation.",
  ),
  PARLEY_SETTLE_GRACE: duration(DEFAULT_SETTINGS.settleGraceMs).describe("How long tasks/get waits for a task that has just become due."),
  PARLEY_ASK_TIMEOUT: duration(DEFAULT_SETTINGS.askTimeoutMs).describe(
    "How long a question waits for its answer if the tool sets no timeout.",
  ),
  PARLEY_ASK_TIMEOUT_MAX: duration(DEFAULT_SETTINGS.askTimeoutMaxMs).describe(
    "Longest timeout that a tool may set for a question; a longer one is refused.",
  ),
  PARLEY_INLINE_SLEEP_MAX: duration(DEFAULT_SETTINGS.inlineSleepMaxMs).describe(
    "Sleeps up to this length stay on the worker; longer ones park.",
  ),
  PARLEY_DIVERGENCE_WAIT: duration(DEFAULT_SETTINGS.divergenceWaitMs).describe(
    "How long replay waits for recorded work to be called again before the task fails as diverged.",
  ),
  PARLEY_MISSING_TOOL_RETRY: duration(DEFAULT_SETTINGS.missingToolRetryMs).describe(
    "Delay before retrying a run whose tool this worker lacks; it grows up to an hour.",
  ),
  PARLEY_MISSING_TOOL_TIMEOUT: duration(DEFAULT_SETTINGS.missingToolTimeoutMs).describe(
    "How long a task waits for a worker that serves its tool before the task fails.",
  ),
  PARLEY_MISSING_VERSION_TIMEOUT: duration(DEFAULT_SETTINGS.missingVersionTimeoutMs).describe(
    "How long a task waits for a worker that serves its version of the tool.",
  ),
  PARLEY_MISSING_VERSION: z
    .enum(["newest", "fail"])
    .default(DEFAULT_SETTINGS.missingVersion)
    .describe("What happens to a task after that time: newest (it moves to the newest version of the tool) or fail."),
  PARLEY_TAKEOVERS_MAX: whole(DEFAULT_SETTINGS.takeoversMax).describe(
    "How many workers in a row may die while running a task, without progress, before the task fails.",
  ),
  PARLEY_COMPENSATION_ATTEMPTS: whole(DEFAULT_SETTINGS.compensationAttempts).describe(
    "Maximum number of attempts to compensate a task that ended without its result.",
  ),
  PARLEY_SWEEP_LIMIT: whole(DEFAULT_SETTINGS.sweepLimit).describe("Maximum number of overdue tasks that one sweep of a partition queues."),
  PARLEY_STORED_VALUE_MAX: whole(DEFAULT_SETTINGS.storedValueMax).describe(
    "Largest stored arguments, question, answer, step result or outcome, in characters of JSON.",
  ),
  PARLEY_JOURNAL_ENTRIES_MAX: whole(DEFAULT_SETTINGS.journalEntriesMax).describe(
    "Maximum number of steps, answers, sleeps and clock readings recorded in one task's journal; ctx.restart empties it.",
  ),
  PARLEY_JOURNAL_SIZE_MAX: whole(DEFAULT_SETTINGS.journalSizeMax).describe("Maximum size of one task's journal, in characters of JSON."),
  PARLEY_OPEN_ASKS_MAX: whole(DEFAULT_SETTINGS.openAsksMax).describe("Maximum number of questions that one task may have open at once."),
  PARLEY_FEED_ITEM_MAX: whole(DEFAULT_SETTINGS.feedItemMax).describe(
    "Longest progress message, log entry or status message of a task, in characters; the rest is cut.",
  ),
  PARLEY_REPLIES_MAX: whole(DEFAULT_SETTINGS.repliesMax).describe("Maximum number of answers in one request."),
  PARLEY_REFUSALS_MAX: whole(DEFAULT_SETTINGS.refusalsMax).describe(
    "Number of invalid answers after which a question to a session client counts as cancelled.",
  ),
  PARLEY_WITHOUT_CAPABILITY: z
    .enum(["fail", "default"])
    .default(DEFAULT_SETTINGS.withoutCapability)
    .describe(
      "What happens to a question that the client cannot show: fail, or default (answer it with its timeout default, if it has one).",
    ),
  PARLEY_TASK_WITHOUT_CAPABILITY: z
    .enum(["wait", "end"])
    .default(DEFAULT_SETTINGS.taskWithoutCapability)
    .describe(
      "What happens to a question of a task whose client cannot show it: wait (for an answer by a page, another client or the command line), or end (as PARLEY_WITHOUT_CAPABILITY says).",
    ),
  PARLEY_ASK_URL_SCHEMES: list(DEFAULT_SETTINGS.askUrlSchemes)
    .refine(
      (schemes) => schemes.every((scheme) => /^[a-z][a-z0-9+.-]*$/.test(scheme)),
      "must be names of schemes in lower case, without a colon, separated by commas: https,http",
    )
    .refine((schemes) => !schemes.some((scheme) => FORBIDDEN_SCHEMES.includes(scheme)), `must not have ${FORBIDDEN_SCHEMES.join(", ")}`)
    .describe("URL schemes of the pages that tools may send people to. http to this machine is always allowed; add http for any host."),
  PARLEY_SECRET_NAMES: list(DEFAULT_SETTINGS.secretNames).describe(
    "Phrases that mark a form field as a secret, in addition to the built-in ones; a leading minus removes a phrase.",
  ),
  PARLEY_SHOW_ERRORS: flag(DEFAULT_SETTINGS.showErrors).describe(
    "Show callers the errors that tools throw, for development. Otherwise callers get an id to look up in the log.",
  ),
  PARLEY_LOG_TOOLS: flag(DEFAULT_SETTINGS.logTools).describe(
    "Write what tools log (ctx.log) to the worker's log as well. It may contain what people said: restrict who can read that log.",
  ),
  PARLEY_QUOTA_TASKS: whole(DEFAULT_SETTINGS.taskQuotas.principal.tasks).describe(
    "Maximum number of unfinished tasks per identified caller. With several partitions, each of them gets its share and a little more.",
  ),
  PARLEY_QUOTA_BYTES: whole(DEFAULT_SETTINGS.taskQuotas.principal.bytes).describe(
    "Maximum size of one identified caller's unfinished tasks, in bytes: arguments, answers, and what their runs recorded.",
  ),
  PARLEY_QUOTA_STORED: whole(DEFAULT_SETTINGS.taskQuotas.principal.stored ?? 0).describe(
    "Maximum size of everything stored for one identified caller, in bytes, finished tasks included until their retention is over.",
  ),
  PARLEY_QUOTA_TENANT: whole(TENANT_FACTOR).describe(
    "Quotas of all callers of a tenant together, as a multiple of the quotas of one caller.",
  ),
  PARLEY_RETENTION: duration(DEFAULT_SETTINGS.retentionMs).describe(
    "How long a finished task can be read, unless its client or its tool says something else.",
  ),
  PARLEY_RETENTION_MIN: duration(DEFAULT_SETTINGS.retentionMinMs).describe(
    "Shortest time that a client may have its finished task kept; a shorter ttl is raised to this.",
  ),
  PARLEY_RETENTION_MAX: duration(DEFAULT_SETTINGS.retentionMaxMs).describe(
    "Longest time that a finished task is kept; a longer one from a client, a tool or PARLEY_RETENTION is lowered to this.",
  ),
  PARLEY_KEEP_CONTENT: flag(DEFAULT_SETTINGS.keepContent).describe(
    "Keep arguments, journal and feed of every finished task as long as the task, for audits and `parley export --ended`. Otherwise they go at its end, unless its tool keeps them.",
  ),
};

const coreSchema = z.object(coreEnvironment);

/** What contradicts each other. */
export function coreProblems({ PARLEY_LEASE: leaseMs, PARLEY_RENEW_EVERY: renewEveryMs }: z.output<typeof coreSchema>): readonly string[] {
  if (renewEveryMs < leaseMs) return [];
  // Every longer run would lose its task, be taken over, and fail as POISONED.
  return [`PARLEY_LEASE: ${leaseMs} ms is not longer than PARLEY_RENEW_EVERY, ${renewEveryMs} ms`];
}

export function coreSettings(environment: z.output<typeof coreSchema>): Settings {
  return {
    graceMs: environment.PARLEY_GRACE,
    leaseMs: environment.PARLEY_LEASE,
    renewEveryMs: environment.PARLEY_RENEW_EVERY,
    settleGraceMs: environment.PARLEY_SETTLE_GRACE,
    askTimeoutMs: environment.PARLEY_ASK_TIMEOUT,
    askTimeoutMaxMs: environment.PARLEY_ASK_TIMEOUT_MAX,
    inlineSleepMaxMs: environment.PARLEY_INLINE_SLEEP_MAX,
    divergenceWaitMs: environment.PARLEY_DIVERGENCE_WAIT,
    missingToolRetryMs: environment.PARLEY_MISSING_TOOL_RETRY,
    missingToolTimeoutMs: environment.PARLEY_MISSING_TOOL_TIMEOUT,
    missingVersionTimeoutMs: environment.PARLEY_MISSING_VERSION_TIMEOUT,
    missingVersion: environment.PARLEY_MISSING_VERSION,
    takeoversMax: environment.PARLEY_TAKEOVERS_MAX,
    compensationAttempts: environment.PARLEY_COMPENSATION_ATTEMPTS,
    sweepLimit: environment.PARLEY_SWEEP_LIMIT,
    storedValueMax: environment.PARLEY_STORED_VALUE_MAX,
    journalEntriesMax: environment.PARLEY_JOURNAL_ENTRIES_MAX,
    journalSizeMax: environment.PARLEY_JOURNAL_SIZE_MAX,
    openAsksMax: environment.PARLEY_OPEN_ASKS_MAX,
    feedItemMax: environment.PARLEY_FEED_ITEM_MAX,
    repliesMax: environment.PARLEY_REPLIES_MAX,
    refusalsMax: environment.PARLEY_REFUSALS_MAX,
    withoutCapability: environment.PARLEY_WITHOUT_CAPABILITY,
    taskWithoutCapability: environment.PARLEY_TASK_WITHOUT_CAPABILITY,
    askUrlSchemes: environment.PARLEY_ASK_URL_SCHEMES,
    secretNames: environment.PARLEY_SECRET_NAMES,
    showErrors: environment.PARLEY_SHOW_ERRORS,
    logTools: environment.PARLEY_LOG_TOOLS,
    taskQuotas: taskQuotas(environment),
    retentionMs: environment.PARLEY_RETENTION,
    retentionMinMs: environment.PARLEY_RETENTION_MIN,
    retentionMaxMs: environment.PARLEY_RETENTION_MAX,
    keepContent: environment.PARLEY_KEEP_CONTENT,
  };
}

type QuotaEnvironment = Pick<
  z.output<typeof coreSchema>,
  "PARLEY_QUOTA_TASKS" | "PARLEY_QUOTA_BYTES" | "PARLEY_QUOTA_STORED" | "PARLEY_QUOTA_TENANT"
>;

function taskQuotas(environment: QuotaEnvironment): TaskQuotas {
  const { PARLEY_QUOTA_TASKS: tasks, PARLEY_QUOTA_BYTES: bytes, PARLEY_QUOTA_STORED: stored, PARLEY_QUOTA_TENANT: factor } = environment;
  return { principal: { tasks, bytes, stored }, tenant: { tasks: tasks * factor, bytes: bytes * factor, stored: stored * factor } };
}
