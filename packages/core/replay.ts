/**
 * The replay engine: one run of a handler, from its start to one of its ends.
 *
 *                 ┌──────────── recorded? return it ────────────┐
 *   handler ──▶ effect ── new step? do it, record it, return it ─┴──▶ handler … ──▶ returned · threw
 *                 └────── ask or long sleep? never settle ──▶ quiet ──▶ parked
 *
 * A run that has to wait does not throw: the promise of the ask simply never settles, so no `catch` of the handler can swallow the pause,
 * and the garbage collector takes the whole run once its end was returned.
 *
 *   R1  A recorded effect is not done again: its record returns.
 *   R2  An effect finds its record by kind, name, occurrence and digest (I4). A record that fits in all but the digest, and recorded work
 *       that the handler no longer asks for, are a divergence: the run ends before anything new is done.
 *   R3  Work in flight is finished and recorded before the run parks.
 *   R4  The run parks when an ask or a sleep is open and the handler has come to rest: nothing of ctx in flight, and no new effect while the
 *       event loop went idle. So asks that are put together park together.
 *   R5  After its end a run has no effects: whatever it still calls never settles.
 *   R6  What cannot be recorded has not happened: the run throws, whatever the handler would make of it, and is begun again by its lease.
 */
import { canonicalJson, throughJson } from "./canonical-json.ts";
import type { AskOptions, Effects, StepAttempt, StepOptions } from "./effects.ts";
import { ParleyError, StepFailed, ToolError } from "./errors.ts";
import { type Entry, type EntryKind, type EntryOutcome, type Journal, type KeyedEntry, entryKey, occurrenceKey } from "./journal.ts";
import { OVER } from "./over.ts";
import type { Announcement, Clock, Digest, Ids, Report } from "./ports.ts";
import { readReply } from "./reply.ts";
import type { ValidateSchema } from "./ports.ts";
import type { Settings } from "./settings.ts";
import type { Answer, Ask, AskRequest, FeedItem, Json, JsonObject, Task } from "./task.ts";

export interface ReplayRequest {
  readonly task: Task;
  readonly journal: Journal;
  readonly handler: (effects: Effects) => Promise<JsonObject>;
  /** Aborted when the run must stop; the run then ends as `aborted`. */
  readonly signal: AbortSignal;
  readonly ports: {
    readonly clock: Clock;
    readonly ids: Ids;
    readonly digest: Digest;
    readonly validate: ValidateSchema;
    /** Both throw, or abort `signal`, when the run no longer holds its task. */
    record(entries: readonly KeyedEntry[]): Promise<void>;
    report(report: Report): Promise<void>;
    announce(announcement: Announcement): Promise<void>;
  };
  readonly settings: Settings;
}

export type RunEnd =
  | { readonly type: "returned"; readonly result: JsonObject; readonly entries: readonly KeyedEntry[] }
  | { readonly type: "threw"; readonly error: unknown; readonly entries: readonly KeyedEntry[] }
  | {
      readonly type: "parked";
      readonly asks: readonly Ask[];
      /** When the first sleep ends, if the run sleeps. */
      readonly wakeAtMs: number | undefined;
      readonly entries: readonly KeyedEntry[];
    }
  | { readonly type: "diverged"; readonly error: ParleyError }
  | { readonly type: "aborted" };

const NAME = /^[A-Za-z0-9_.-]{1,64}$/;
/** How often a run that waits for recorded work to be asked for again looks. */
const CATCH_UP_EVERY_MS = 10;

export async function replay({ task, journal, handler, signal, ports, settings }: ReplayRequest): Promise<RunEnd> {
  const { clock, ids, digest } = ports;
  const openBefore = new Map(task.asks.map((ask) => [ask.key, ask]));
  /** Recorded work that this run has not asked for yet. Empty: the run has caught up and is live. */
  const ahead = new Set([...journal.keys(), ...task.asks.map((ask) => entryKey("ask", ask.key))]);
  const occurrences = new Map<string, number>();
  const asks = new Map<string, Ask>();
  const wakeTimes: number[] = [];
  /** Entries that need no write of their own: they go with the next record, park or finish. */
  let unsaved: KeyedEntry[] = [];
  let inFlight = 0;
  let activity = 0;
  let watching = false;

  let ended = false;
  const { promise: end, resolve, reject } = Promise.withResolvers<RunEnd>();
  function endWith(runEnd: RunEnd): void {
    ended = true;
    resolve(runEnd);
  }

  // ── records ────────────────────────────────────────────────────────────────────────────────────────────────────

  interface Recalled {
    /** Name and occurrence: an ask's key on the wire. */
    readonly key: string;
    readonly id: string;
    readonly entry: Entry | undefined;
  }

  function recall(kind: EntryKind, name: string): Recalled {
    if (!NAME.test(name)) {
      throw new ParleyError("INVALID_NAME", `${kind} name ${JSON.stringify(name)} is not allowed: use 1 to 64 of A-Z a-z 0-9 _ - .`);
    }
    const counter = entryKey(kind, name);
    const occurrence = (occurrences.get(counter) ?? 0) + 1;
    occurrences.set(counter, occurrence);
    const key = occurrenceKey(name, occurrence);
    const id = entryKey(kind, key);
    ahead.delete(id);
    return { key, id, entry: journal.get(id) };
  }

  function diverged(recorded: string, found: string): Promise<never> {
    const message = `replay diverged in ${task.call.kind} ${task.call.name}: recorded ${recorded}, found ${found}`;
    endWith({ type: "diverged", error: new ParleyError("REPLAY_DIVERGED", message, { data: { recorded, found } }) });
    return forever();
  }

  function checked(what: string, value: unknown): Json | undefined {
    let stored: ReturnType<typeof throughJson>;
    try {
      stored = throughJson(value);
    } catch (cause) {
      throw new ParleyError("NOT_SERIALIZABLE", `${what} is not plain data`, { cause });
    }
    if (stored.length > settings.storedValueMax) {
      throw new ParleyError(
        "TOO_LARGE",
        `${what} has ${stored.length} characters of JSON; the limit is ${settings.storedValueMax} (PARLEY_STORED_VALUE_MAX)`,
      );
    }
    return stored.value;
  }

  /** Waits until all recorded work was asked for (R2). False when the run has ended meanwhile. */
  async function caughtUp(found: string): Promise<boolean> {
    if (ahead.size === 0) return !ended;
    const giveUpAtMs = clock.now() + settings.divergenceWaitMs;
    // Replayed branches catch up within one turn of the event loop. Only a branch that awaits something outside ctx takes longer; it gets
    // its time, since a false alarm would fail a sound task.
    await clock.idle();
    while (!ended && ahead.size > 0) {
      if (clock.now() >= giveUpAtMs) {
        await diverged(`${[...ahead].join(", ")} (not asked for again)`, found);
      }
      await clock.sleep(CATCH_UP_EVERY_MS, signal);
    }
    return !ended;
  }

  // ── coming to rest ─────────────────────────────────────────────────────────────────────────────────────────────

  /** Runs `work` as something in flight. Its promise never settles once the run has ended (R5). */
  async function flying<T>(work: () => Promise<T>): Promise<T> {
    inFlight += 1;
    try {
      const value = await work();
      return ended ? await forever() : value;
    } catch (error) {
      if (ended) return await forever();
      throw error;
    } finally {
      inFlight -= 1;
      touched();
    }
  }

  function touched(): void {
    activity += 1;
    if (!watching && !ended) void parkWhenQuiet();
  }

  async function parkWhenQuiet(): Promise<void> {
    watching = true;
    try {
      for (;;) {
        const seen = activity;
        await clock.idle();
        if (ended || inFlight > 0) return; // what is in flight touches again when it lands
        if (activity !== seen) continue;
        if (asks.size === 0 && wakeTimes.length === 0) return; // the handler is busy with work of its own
        if (ahead.size > 0) {
          if (!(await caughtUp(describeWaiting()))) return;
          continue;
        }
        const wakeAtMs = wakeTimes.length > 0 ? Math.min(...wakeTimes) : undefined;
        endWith({ type: "parked", asks: [...asks.values()], wakeAtMs, entries: unsaved });
        return;
      }
    } finally {
      watching = false;
    }
  }

  function describeWaiting(): string {
    return asks.size > 0 ? `open asks ${[...asks.keys()].join(", ")}` : "a sleep";
  }

  // ── reports: in order, in the background, dropped while replaying ──────────────────────────────────────────────

  let reporting: Promise<void> = Promise.resolve();
  let next: { items: FeedItem[]; message?: string; immediateResponse?: string } | undefined;
  function addToReport(add: (report: NonNullable<typeof next>) => void): void {
    if (ended || ahead.size > 0) return;
    if (next) {
      add(next);
      return;
    }
    next = { items: [] };
    add(next);
    reporting = reporting.then(async () => {
      const report = next;
      next = undefined;
      if (report && !ended) await ports.report(report);
    });
    reporting.catch(() => undefined); // seen below, where the end waits for it
  }

  // ── effects ────────────────────────────────────────────────────────────────────────────────────────────────────

  async function ask(name: string, request: AskRequest, options: AskOptions = {}): Promise<Answer> {
    if (ended) return forever();
    const asked = digest(canonicalJson(request));
    const { key, id, entry } = recall("ask", name);
    if (entry) {
      if (entry.digest !== asked) return diverged(`${id} with digest ${entry.digest}`, `${id} with digest ${asked}`);
      if (entry.outcome.type === "answer") return settled(id, entry.outcome.answer, options);
      return diverged(`${id} as ${entry.outcome.type}`, "an ask");
    }
    const open = openBefore.get(key);
    if (open) {
      if (open.digest !== asked) return diverged(`open ${id} with digest ${open.digest}`, `${id} with digest ${asked}`);
      asks.set(key, open);
    } else {
      const early = task.call.replies?.[key];
      if (early !== undefined) {
        const reply = readReply(request, early, ports.validate);
        if (reply.ok) {
          unsaved.push({ key: id, entry: { digest: asked, outcome: { type: "answer", answer: reply.answer } } });
          return reply.answer;
        }
      }
      asks.set(key, newAsk(key, asked, request, options));
    }
    touched();
    return forever();
  }

  function newAsk(key: string, asked: string, request: AskRequest, options: AskOptions): Ask {
    const askedAtMs = clock.now();
    const timeoutMs = Math.min(options.timeoutMs ?? settings.askTimeoutMs, settings.askTimeoutMaxMs);
    return { key, digest: asked, request, askedAtMs, deadlineMs: askedAtMs + timeoutMs, onTimeout: options.onTimeout ?? "cancel" };
  }

  function settled(id: string, answer: Answer, options: AskOptions): Answer | Promise<never> {
    const policy = options.onTimeout ?? "cancel";
    if (answer.action === "unavailable" && settings.withoutCapability === "default" && typeof policy === "object") {
      return { action: "accept", content: policy.default };
    }
    if (answer.action !== "timeout") return answer;
    if (policy === "cancel") return answer;
    if (policy === "decline") return { action: "decline" };
    if (policy !== "fail") return { action: "accept", content: policy.default };
    endWith({ type: "threw", error: new ParleyError("ASK_TIMEOUT", `nobody answered ${id} in time`), entries: unsaved });
    return forever();
  }

  async function step(name: string, work: (attempt: StepAttempt) => unknown, options: StepOptions = {}): Promise<Json | undefined> {
    if (ended) return forever();
    const { key, id, entry } = recall("step", name);
    if (entry) return recordedStep(name, entry.outcome);
    return flying(async () => {
      if (!(await caughtUp(`new ${id}`))) return forever();
      const outcome = await tryStep(key, work, options);
      const entries = [...unsaved, { key: id, entry: { digest: "", outcome } }];
      unsaved = [];
      await recorded(entries);
      return recordedStep(name, outcome);
    });
  }

  /** A store that is away is no failure of the step: the handler must not see it, or it would end the task. The run itself throws (R6). */
  async function recorded(entries: readonly KeyedEntry[]): Promise<void> {
    try {
      await ports.record(entries);
    } catch (error) {
      ended = true;
      reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  async function tryStep(key: string, work: (attempt: StepAttempt) => unknown, options: StepOptions): Promise<EntryOutcome> {
    const attempts = options.attempts ?? 1;
    for (let attempt = 1; ; attempt += 1) {
      try {
        const value = checked(`the result of step ${key}`, await tryOnce(key, attempt, work, options.timeoutMs));
        return value === undefined ? { type: "value" } : { type: "value", value };
      } catch (error) {
        // Plain data and size do not mend themselves, and a ToolError is the author's final word unless it says otherwise.
        const final = error instanceof ParleyError ? error.code !== "STEP_TIMEOUT" : error instanceof ToolError && !error.retryable;
        if (final || attempt >= attempts || signal.aborted) {
          const { name, message } = error instanceof Error ? error : { name: "Error", message: String(error) };
          return { type: "error", name, message };
        }
        await clock.sleep((options.backoffMs ?? 1_000) * 2 ** (attempt - 1), signal);
      }
    }
  }

  async function tryOnce(
    key: string,
    attempt: number,
    work: (attempt: StepAttempt) => unknown,
    timeoutMs: number | undefined,
  ): Promise<unknown> {
    const idempotencyKey = `${task.id}.${key}`;
    if (timeoutMs === undefined) return work({ attempt, idempotencyKey, signal });
    const done = new AbortController();
    const late = new AbortController();
    const timeout = clock.sleep(timeoutMs, AbortSignal.any([signal, done.signal])).then(() => {
      if (done.signal.aborted || signal.aborted) return forever();
      const error = new ParleyError("STEP_TIMEOUT", `step ${key} took longer than ${timeoutMs} ms`);
      late.abort(error);
      throw error;
    });
    try {
      return await Promise.race([
        Promise.resolve(work({ attempt, idempotencyKey, signal: AbortSignal.any([signal, late.signal]) })),
        timeout,
      ]);
    } finally {
      done.abort(OVER);
    }
  }

  async function sleep(name: string, ms: number): Promise<void> {
    if (ended) return forever();
    const { id, entry } = recall("sleep", name);
    const recorded = entry?.outcome.type === "value" ? entry.outcome.value : undefined;
    const wakeAtMs = typeof recorded === "number" ? recorded : clock.now() + ms;
    if (!entry) unsaved.push({ key: id, entry: { digest: "", outcome: { type: "value", value: wakeAtMs } } });
    const restMs = wakeAtMs - clock.now();
    if (restMs <= 0) return;
    if (restMs <= settings.inlineSleepMaxMs) return flying(() => clock.sleep(restMs, signal));
    wakeTimes.push(wakeAtMs);
    touched();
    return forever();
  }

  /** Cheap facts: recorded with the next write, since whatever depends on them is recorded no earlier. */
  function fact<T extends number | string>(kind: "now" | "random" | "uuid", name: string, make: () => T): T {
    const { id, entry } = recall(kind, name);
    if (entry?.outcome.type === "value") return entry.outcome.value as T;
    const value = make();
    unsaved.push({ key: id, entry: { digest: "", outcome: { type: "value", value } } });
    return value;
  }

  const effects: Effects = {
    taskId: task.id,
    call: task.call,
    signal,
    ask,
    step,
    sleep,
    now: (name = "now") => fact("now", name, () => clock.now()),
    random: (name = "random") => fact("random", name, () => ids.random()),
    uuid: (name = "uuid") => fact("uuid", name, () => ids.uuid()),
    report: (item) => addToReport((report) => report.items.push(item)),
    status: (message) => addToReport((report) => (report.message = message)),
    immediateResponse: (text) => addToReport((report) => (report.immediateResponse = text)),
    announce: (announcement) => {
      if (ended || ahead.size > 0) return;
      reporting = reporting.then(() => ports.announce(announcement));
      reporting.catch(() => undefined);
    },
  };

  const onAbort = () => endWith({ type: "aborted" });
  if (signal.aborted) return { type: "aborted" };
  signal.addEventListener("abort", onAbort, { once: true });
  (async () => handler(effects))().then(
    (result) => {
      if (ended) return;
      try {
        endWith({ type: "returned", result: (checked("the result", result) ?? {}) as JsonObject, entries: unsaved });
      } catch (error) {
        endWith({ type: "threw", error, entries: unsaved });
      }
    },
    (error: unknown) => {
      if (!ended) endWith({ type: "threw", error, entries: unsaved });
    },
  );
  try {
    const runEnd = await end;
    await reporting;
    return runEnd;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function recordedStep(name: string, outcome: EntryOutcome): Json | undefined {
  if (outcome.type === "value") return outcome.value;
  if (outcome.type === "error") {
    if (outcome.name === "ToolError") throw new ToolError(outcome.message);
    throw new StepFailed(name, outcome.message);
  }
  throw new Error(`step ${name} is recorded as ${outcome.type}`);
}

function forever(): Promise<never> {
  return new Promise<never>(() => undefined);
}
