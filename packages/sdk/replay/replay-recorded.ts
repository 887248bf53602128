/**
 * Checks whether this code still replays a task. The real engine runs the handler against the recorded journal,
 * without a store and without a worker.
 *
 *   recorded task ──▶ replay ──▶ continues: and what it would do next
 *                            ──▶ diverges: what was recorded, and what the code does instead
 *                            ──▶ fails: the code ends the task with an error
 *                            ──▶ unknown: no verdict is possible, and why
 *
 * Steps never run: the replay stops at the first step that is not recorded. Code outside of steps runs, as in every
 * replay.
 */
import {
  type Answer,
  type AskRequest,
  type EventRequest,
  canonicalJson,
  childId,
  DEFAULT_SETTINGS,
  type Effects,
  entryKey,
  errorName,
  errorText,
  isReadingKey,
  type Journal,
  openOf,
  ParleyError,
  type Prompt,
  replay,
  type RunEnd,
  type Scope,
  settledBefore,
  type TaskAtWork,
  type Tool,
  type ToolCall,
} from "@parley/core";
import { leastContent } from "../context/dry-run.ts";
import { createTestScope, textDigest } from "./ports.ts";
import { validateJson } from "../schemas/validate-json.ts";
import { present } from "../values/without-undefined.ts";
import { createIdleClock } from "./idle-clock.ts";
import type { RecordedTask } from "./recorded-task.ts";

/** Whether a waiting task continues under changed code. */
export type Verdict = "continues" | "diverges" | "fails" | "unknown";

/** The result of replaying a task. */
export interface Replayed {
  readonly verdict: Verdict;
  /**
   * What the code does once it has caught up: `waits for ask:party-size`, `does step:charge`, `ends`. Absent if it
   * does not get that far.
   */
  readonly next?: string;
  /** Why the verdict is not `continues`, as a sentence. */
  readonly reason?: string;
  /** Recorded entry keys, including open questions, in the order of their calls as far as known. */
  readonly recorded: readonly string[];
  /** Entry keys that the code called, in order. */
  readonly found: readonly string[];
  /** The question that differs from the recorded one, if both are known. */
  readonly changed?: ChangedQuestion;
  /** Questions by key, as the code asks them. */
  readonly questions: ReadonlyMap<string, Asked>;
}

/** A question to a person, or an event from outside. */
type Asked = AskRequest | EventRequest;

/** A question that the changed code asks differently: before and after. */
export interface ChangedQuestion {
  readonly key: string;
  readonly recorded: Asked | undefined;
  readonly found: Asked;
}

/** Options of a replay. */
export interface ReplayOptions {
  /**
   * The code that the tasks run on now. If values are redacted or questions sealed, the changed code is compared with
   * this code's replay of the same task.
   */
  readonly baseline?: Tool | Prompt;
  /** Maximum time that the handler may wait for something outside ctx; 10,000 by default. */
  readonly patienceMs?: number;
}

const PATIENCE_MS = 10_000;

/** Replays one task against `tool`. Errors of the tool are reported in the result, not thrown. */
export async function replayRecorded(tool: Tool | Prompt, recorded: RecordedTask, options: ReplayOptions = {}): Promise<Replayed> {
  const { baseline, patienceMs = PATIENCE_MS } = options;
  if (!baseline) return judged(await attempt(tool, recorded, { patienceMs }), recorded, undefined);
  const before = await attempt(baseline, recorded, { patienceMs, expected: "any" });
  if (before.verdict !== "continues") {
    const reason = `the baseline does not replay the task itself (${before.reason ?? before.verdict})`;
    return { ...before, verdict: "unknown", reason };
  }
  const after = await attempt(tool, recorded, { patienceMs, expected: before.questions });
  return judged(after, recorded, before);
}

interface Attempt extends Replayed {
  /** Questions whose content could not be compared with the recorded one. */
  readonly uncompared: readonly string[];
}

/** Downgrades verdicts that cannot be reached from redacted values alone. */
function judged({ uncompared, ...result }: Attempt, recorded: RecordedTask, baseline: Replayed | undefined): Replayed {
  if (baseline) return result;
  if (uncompared.length > 0 && result.verdict === "continues") {
    const why = recorded.isSealed ? "the question is sealed in the deployment" : "redacted values may be part of it";
    const reason = `the replay cannot compare ${uncompared.join(", ")} with the question that was asked, because ${why}; pass the code that the task runs on as baseline`;
    return { ...result, verdict: "unknown", reason };
  }
  if (recorded.isRedacted && (result.verdict === "diverges" || result.verdict === "fails")) {
    const reason = `the cause may be the change or the redacted values; pass the code that the task runs on as baseline. The replay ${result.verdict}: ${result.reason ?? ""}`;
    return { ...result, verdict: "unknown", reason };
  }
  return result;
}

interface Expecting {
  readonly patienceMs: number;
  /**
   * Questions as another replay asked them; `any` accepts every question as the recorded one. Absent: compare with
   * the recording.
   */
  readonly expected?: ReadonlyMap<string, Asked> | "any";
  /** Of the run before, if that was thrown away (core's replay/at-rest.ts). */
  readonly thrownAway?: Scope["thrownAway"];
}

async function attempt(tool: Tool | Prompt, recorded: RecordedTask, how: Expecting): Promise<Attempt> {
  const { patienceMs, expected, thrownAway = new Map() } = how;
  const journal: Journal = new Map(Object.entries(recorded.journal));
  const open = new Map([...recorded.asks, ...(recorded.events ?? [])].map((each) => [each.key, each]));
  const found: string[] = [];
  const questions = new Map<string, Asked>();
  const uncompared: string[] = [];
  let changed: ChangedQuestion | undefined;
  let thrown: { readonly error: unknown } | undefined;
  let stoppedAt: string | undefined;
  const scope: Scope = { ...createTestScope(), thrownAway };
  const before = thrownAway.get(recorded.taskId);
  const clock = createIdleClock(recorded.atMs, scope);
  const over = new AbortController();

  /** Returns the recorded digest if the question counts as the recorded one. */
  function askDigest(key: string, request: Asked): string {
    questions.set(key, request);
    const own = textDigest(canonicalJson(request));
    const before = open.get(key)?.digest ?? journal.get(entryKey("ask", key))?.digest;
    if (before === undefined || expected === "any") return before ?? own;
    const other = expected?.get(key);
    const isSame = other ? textDigest(canonicalJson(other)) === own : before === own;
    if (isSame) return before;
    if (!other && (before === "" || recorded.isRedacted)) {
      uncompared.push(entryKey("ask", key));
      return before;
    }
    changed = { key, recorded: other ?? (recorded.isRedacted ? undefined : open.get(key)?.request), found: request };
    return own;
  }

  /** For a recorded call, the tool can be compared while the call is open, and the arguments if nothing is redacted. */
  function childIdIn(key: string, request: ToolCall): string {
    const before = recorded.calls?.find((call) => call.key === key);
    const digest = before?.digest ?? journal.get(entryKey("ask", key))?.digest;
    // Nothing is known of a call that is not recorded, and the replay ends at it.
    if (digest === undefined) return "new";
    const seed = recorded.call.seed;
    const own = seed === undefined ? undefined : childId(textDigest, { id: recorded.taskId, seed }, key, request);
    if (recorded.isRedacted || own === undefined) return !before || before.request.tool === request.tool ? digest : "another";
    return own;
  }

  const handler = async (effects: Effects) => {
    const step: Effects["step"] = (name, _work, options) =>
      effects.step(
        name,
        ({ idempotencyKey }) => {
          stoppedAt ??= entryKey("step", idempotencyKey.slice(recorded.taskId.length + 1));
          return new Promise(() => undefined);
        },
        options,
      );
    const ask: Effects["ask"] = async (name, request, how) => fitting(await effects.ask(name, request, how), request);
    try {
      return await tool.run(recorded.call.arguments, { ...effects, step, ...(recorded.isRedacted && { ask }) });
    } catch (error) {
      thrown = { error };
      throw error;
    }
  };

  let end: RunEnd | { readonly type: "broken"; readonly error: unknown } | undefined;
  replay({
    task: taskOf(recorded),
    journal,
    journalSize: 0,
    handler,
    signal: over.signal,
    // Every sleep parks, so none is waited for.
    settings: { ...DEFAULT_SETTINGS, inlineSleepMaxMs: 0 },
    ports: {
      clock,
      scope,
      digest: textDigest,
      validate: validateJson,
      askDigest,
      childId: childIdIn,
      // What the task does next.
      startChild(call) {
        stoppedAt ??= entryKey("ask", call.key);
        return new Promise(() => undefined);
      },
      called: (id) => void found.push(id),
      isHeld: () => true,
      record: async () => undefined,
      deposit: () => Promise.reject(new ParleyError("DEPOSIT_UNREADABLE", "what was left on pages is not exported")),
      accessToken: () => Promise.reject(new ParleyError("DEPOSIT_UNREADABLE", "what was granted on pages is not exported")),
      kept: undefined,
      openFile: () => Promise.reject(new ParleyError("FILE_GONE", "files are not exported")),
      stepFailed: () => undefined,
      // Other systems received the recorded token, in steps.
      tokenOf: () => ({ token: "token", url: "https://example.com/events/token" }),
      report: async () => undefined,
      announce: async () => undefined,
    },
  }).then(
    (ended) => (end ??= ended),
    (error: unknown) => (end ??= { type: "broken", error }),
  );
  void clock.sleep(tool.settings.runTimeoutMs, over.signal).then(() => over.abort());
  const passed = await clock.pass({ isOver: () => end !== undefined || stoppedAt !== undefined, patienceMs });
  over.abort();
  if (thrownAway.get(recorded.taskId) !== before) return await attempt(tool, recorded, { ...how, thrownAway });
  const facts = { recorded: inCallOrder(recorded, found), found, questions, uncompared, ...present({ changed }) };
  if (stoppedAt !== undefined) return { ...facts, verdict: "continues", next: `does ${stoppedAt}` };
  if (typeof passed === "object") {
    const reason = `the handler waits for something outside ctx (${passed.outside.join(", ")}) for more than ${patienceMs} ms`;
    return { ...facts, verdict: "unknown", reason };
  }
  return { ...facts, ...verdictOf(end, { recorded, thrown, changed }) };
}

interface Circumstances {
  readonly recorded: RecordedTask;
  readonly thrown: { readonly error: unknown } | undefined;
  readonly changed: ChangedQuestion | undefined;
}

function verdictOf(end: RunEnd | { readonly type: "broken"; readonly error: unknown } | undefined, how: Circumstances) {
  const { recorded, thrown, changed } = how;
  switch (end?.type) {
    case "returned":
      return { verdict: "continues", next: "ends" } as const;
    case "restarted":
      return { verdict: "continues", next: "starts over" } as const;
    case "parked": {
      const known = new Set(openOf(recorded).map(({ key }) => key));
      const waits = end.asks.map(({ key }) => `${known.has(key) ? "waits for" : "asks"} ${entryKey("ask", key)}`);
      return { verdict: "continues", next: waits.join(", ") || "sleeps" } as const;
    }
    case "diverged": {
      if (changed) return { verdict: "diverges", reason: `the question "${changed.key}" has changed` } as const;
      const { recorded: was, found } = end.error.data as { readonly recorded: string; readonly found: string };
      const error = thrown ? `, with the error ${messageOf(thrown.error)}` : "";
      return { verdict: "diverges", reason: `recorded ${was}, found ${found}${error}` } as const;
    }
    case "aborted":
      if (end.diverging) return { verdict: "diverges", reason: sentenceOf(end.diverging) } as const;
      return { verdict: "fails", reason: "the handler waits for something that never comes, until its runTimeout" } as const;
    case "threw":
    case "broken":
      return { verdict: "fails", reason: `the code ends the task with the error ${messageOf(end.error)}` } as const;
    case undefined:
      return { verdict: "fails", reason: "the handler waits for something that never comes" } as const;
  }
}

function sentenceOf({ data }: ParleyError): string {
  const { recorded, found } = (data ?? {}) as { readonly recorded?: string; readonly found?: string };
  return `recorded ${recorded}, found ${found}`;
}

function messageOf(error: unknown): string {
  return `${errorName(error)}: ${errorText(error)}`;
}

/** A placeholder is rarely one of a form's choices. If it is invalid, the smallest valid content replaces it. */
function fitting(answer: Answer, request: AskRequest): Answer {
  if (answer.action !== "accept" || !answer.content || request.type !== "form") return answer;
  const { schema } = request;
  const wrong = new Set(validateJson(schema, answer.content).map(({ path }) => path.split("/")[1]));
  const kept = Object.entries(answer.content).filter(([name]) => !wrong.has(name));
  return { action: "accept", content: { ...leastContent(schema), ...Object.fromEntries(kept) } };
}

function taskOf({ taskId, call, run, generation, atMs, asks, events, calls }: RecordedTask): TaskAtWork {
  return {
    id: taskId,
    call: { retentionMs: 0, hidden: false, seed: "redacted", ...call },
    status: "working",
    revision: 1,
    run: run + 1,
    generation,
    updatedAtMs: atMs,
    asks,
    ...(events && { events }),
    ...(calls && { calls }),
  };
}

/** By the settlement that each call followed; calls after the same settlement in the order in which they were found. */
function inCallOrder({ journal, ...open }: RecordedTask, found: readonly string[]): readonly string[] {
  const calls = Object.entries(journal).filter(([id]) => !isReadingKey(id));
  const calledAts = new Map(calls.map(([id, { calledAt }]) => [id, calledAt]));
  for (const { key, calledAt } of openOf(open)) calledAts.set(entryKey("ask", key), calledAt);
  const position = new Map(found.map((id, index) => [id, index]));
  return [...calledAts]
    .toSorted(
      ([a, atA], [b, atB]) =>
        settledBefore(atA) - settledBefore(atB) || (position.get(a) ?? found.length) - (position.get(b) ?? found.length),
    )
    .map(([id]) => id);
}
