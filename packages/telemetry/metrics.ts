/**
 * All metrics of Parley. docs/operations.md has the same table, and a test compares the two.
 *
 * Labels are bounded: their values come from the catalogue and from the lists in labels.ts, never from a request. Anything else is `other`.
 */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";

const FAST = [0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];
const REQUEST = [0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 300];
const RUN = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 30, 120, 600];
const WAIT = [0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60];
const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const PERSON = [1, 5, 15, MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 6 * HOUR, DAY, 3 * DAY, 7 * DAY, 30 * DAY];
const ENTRIES = [1, 2, 5, 10, 25, 50, 100, 250, 1_000];

export type Metrics = ReturnType<typeof createMetrics>;

export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Counter({ name, help, labelNames: [...labelNames], registers });
  const gauge = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Gauge({ name, help, labelNames: [...labelNames], registers });
  const histogram = <Label extends string>(name: string, help: string, buckets: number[], labelNames: readonly Label[] = []) =>
    new Histogram({ name, help, buckets, labelNames: [...labelNames], registers });

  // A timer samples the event loop's delay. The default of 10 ms would wake an idle process a hundred times per second.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 50 });

  return {
    registry,

    // Front ends.
    requests: histogram(
      "parley_request_seconds",
      "Time from a request's first byte to the end of its response, by JSON-RPC method, protocol revision and outcome (ok, refused, failed, gone).",
      REQUEST,
      ["method", "dialect", "outcome"],
    ),
    listens: gauge("parley_listens_open", "Open subscriptions/listen streams, and sessions' own streams."),
    calls: gauge("parley_calls_held", "Calls and tasks/result that are held open until their task ends."),
    draining: gauge("parley_draining", "1 from SIGTERM until the process exits, otherwise 0."),
    created: counter("parley_tasks_created_total", "Tasks created, by tool.", ["tool"]),
    answers: counter(
      "parley_answers_total",
      "Answers, by tool and receipt (accepted, duplicate, late, invalid, forbidden, login_required, unknown).",
      ["tool", "receipt"],
    ),
    answerWait: histogram("parley_answer_wait_seconds", "Time from an ask to its accepted answer, by tool.", PERSON, ["tool"]),

    // Workers.
    runs: histogram(
      "parley_run_seconds",
      "Duration of runs, from taking the lease to recording the end, by tool and end (parked, completed, failed, retrying, compensated, given-up, unserved, version_unserved, passed_on, limited, fenced, broken).",
      RUN,
      ["tool", "end"],
    ),
    runWait: histogram(
      "parley_run_wait_seconds",
      "Time from queueing a run until a worker begins it, by cause; answered is the resume latency.",
      WAIT,
      ["cause"],
    ),
    refusals: counter(
      "parley_runs_refused_total",
      "Runs that a worker took but did not begin, by reason (finished, stale, held, unknown, key_missing, deferred). Some duplicates are normal.",
      ["reason"],
    ),
    active: gauge("parley_runs_active", "Active runs in this process."),
    toolRuns: gauge("parley_tool_runs_active", "Active runs in this process, by tool. Absent for a tool without any.", ["tool"]),
    oldestRun: gauge(
      "parley_tool_oldest_run_seconds",
      "How long the oldest active run of a tool in this process is active. Absent for a tool without any.",
      ["tool"],
    ),
    slots: gauge("parley_run_slots", "Maximum number of runs at once in this process (PARLEY_CONCURRENCY)."),
    replays: histogram(
      "parley_replay_entries",
      "Journal entries that a run replayed. Runs with an empty journal are not counted.",
      ENTRIES,
    ),
    divergences: counter("parley_divergences_total", "Tasks that failed because their tool changed while they waited, by tool.", ["tool"]),
    givenUp: counter(
      "parley_compensations_given_up_total",
      "Compensations that were given up, by tool. The side effects of these tasks were not undone.",
      ["tool"],
    ),
    errors: counter("parley_tasks_failed_total", "Tasks that ended with a JSON-RPC error, by tool and error code.", ["tool", "code"]),
    takeovers: counter(
      "parley_takeovers_total",
      "Runs that were taken over from a worker that died or stopped renewing its lease, by tool.",
      ["tool"],
    ),
    nearLimit: counter(
      "parley_journals_near_limit_total",
      "Runs that began with a journal of at least 80 % of the maximum size or number of entries, by tool.",
      ["tool"],
    ),
    withdrawn: counter("parley_asks_withdrawn_total", "Asks that their tool withdrew before they were answered."),
    strays: counter(
      "parley_stray_errors_total",
      "Uncaught errors, by source: an active run, a run that had ended, or no run (the process).",
      ["of"],
    ),
    blocks: counter("parley_event_loop_blocks_total", "Number of times the event loop was blocked for longer than PARLEY_BLOCKED_REPORT."),
    blocked: counter(
      "parley_event_loop_blocked_seconds_total",
      "Total time that the event loop was blocked. A block after which the process was killed is not counted.",
    ),
    timedOut: counter("parley_asks_timed_out_total", "Asks that were not answered in time."),
    approvals: counter(
      "parley_approvals_total",
      "Calls that rules stopped, by rule and by what became of them (denied, asked, approved, refused, expired, closed; an approved one is also spent, or void), and standing approvals (granted, used).",
      ["rule", "did"],
    ),
    approvalWait: histogram(
      "parley_approval_wait_seconds",
      "Time from asking for an approval until a person decided, by rule and decision.",
      PERSON,
      ["rule", "did"],
    ),
    webhooks: counter(
      "parley_webhook_deliveries_total",
      "Attempts to post to a webhook of the operator's file, by webhook and result (delivered, failed, given_up).",
      ["webhook", "result"],
    ),
    webhookFailing: gauge(
      "parley_webhook_failing_since_timestamp_seconds",
      "Since when a webhook of the operator's file takes nothing, in seconds since 1970. Absent while it takes everything; only the worker that posts to it reports it.",
      ["webhook"],
    ),
    webhookGivenUp: gauge(
      "parley_webhook_last_given_up_timestamp_seconds",
      "When an event was last given up for a webhook of the operator's file, in seconds since 1970. Only the worker that posts to it reports it.",
      ["webhook"],
    ),
    sweeps: counter("parley_sweeps_total", "Sweeps of a partition's due set."),
    swept: counter(
      "parley_sweep_runs_total",
      "Overdue runs queued by sweeps: deadlines, sleeps, and runs that a dead process left behind.",
    ),

    // Workers of a gateway.
    elicitations: counter(
      "parley_elicitations_total",
      "Questions from upstreams, by upstream, kind (form, url, sampling, roots) and outcome (accept, decline, cancel, reply, timeout, unavailable, withdrawn, refused).",
      ["upstream", "kind", "outcome"],
    ),
    upstreamCalls: gauge("parley_upstream_calls", "Active calls to upstreams in this process, by state (waiting for an answer, working).", [
      "state",
    ]),
    upstreamCallTime: histogram("parley_upstream_call_seconds", "Duration of calls to upstreams, by upstream.", PERSON, ["upstream"]),
    tasklessCalls: counter(
      "parley_upstream_taskless_calls_total",
      "Calls to upstreams that were tried without a task, by upstream and outcome (answered, task).",
      ["upstream", "outcome"],
    ),
    upstreamUp: gauge(
      "parley_upstream_up",
      "1 if an upstream's lists were last read successfully, otherwise 0; on the worker that reads them.",
      ["upstream"],
    ),

    // The whole deployment. Every process reports the same values.
    queue: gauge("parley_queue_jobs", "Jobs in the run queue, by state (waiting, active).", ["state"]),
    unfinished: gauge("parley_tasks_unfinished", "Tasks that have not ended."),
    parked: gauge(
      "parley_tasks_parked",
      "Tasks that wait for an answer or a point in time, and will not run within a lease unless answered.",
    ),
    overdue: gauge("parley_tasks_overdue", "Tasks whose next run has been due for more than a few seconds."),
    oldestDue: gauge("parley_oldest_due_seconds", "How long the run that has been due longest is due; 0 if none is."),
    openAsks: gauge("parley_asks_open", "Open asks, counted by the last census."),
    oldestAsk: gauge("parley_oldest_ask_seconds", "Age of the oldest open ask found by the last census; 0 if none is open."),
    redisMemory: gauge("parley_redis_memory_bytes", "Memory that Redis uses; in a Cluster, of the node that is fullest."),
    redisMemoryMax: gauge("parley_redis_maxmemory_bytes", "Memory that Redis may use (maxmemory), of the same node; 0 for no limit."),
    mishaps: gauge(
      "parley_last_mishap_timestamp_seconds",
      "When a compensation of a tool was last given up (given_up), or a task of it poisoned (poisoned), in seconds since 1970.",
      ["of", "tool"],
    ),
    censusAge: gauge("parley_census_age_seconds", "Age of the census that counted the asks."),

    // Front ends and workers.
    redis: histogram("parley_redis_seconds", "Round trips of the task store to Redis, by operation.", FAST, ["operation"]),
    rules: gauge(
      "parley_rules_info",
      "Always 1; the label shows the version of the rules for approvals by which the process decides (none without a file).",
      ["version"],
    ),
    build: gauge("parley_build_info", "Always 1; the labels show the version and the kind of process.", ["version", "process"]),
  };
}
