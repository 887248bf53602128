/** A task that is replayed run by run: each run finds what the previous one recorded. */
import { createScope, createValidator, sha256Digest, systemClock } from "@parley/node";
import type { Effects } from "./effects.ts";
import type { Entry, KeyedEntry } from "./journal.ts";
import type { Report } from "./ports.ts";
import { type FailedStep, replay, type ReplayRequest, type RunEnd } from "./replay.ts";
import { DEFAULT_SETTINGS, type Settings } from "./settings.ts";
import { type Answer, type AskRequest, type Call, type JsonObject, type Open, split, type TaskAtWork } from "./task.ts";

export const form = (message: string): AskRequest => ({
  type: "form",
  message,
  schema: { type: "object", properties: { n: { type: "number" } } },
});
export const accept = (n: number): Answer => ({ action: "accept", content: { n } });

export function subject(handler: (effects: Effects) => Promise<JsonObject>, settings: Partial<Settings> = {}, replies?: JsonObject) {
  const journal = new Map<string, Entry>();
  const open = new Map<string, Open>();
  const reports: Report[] = [];
  const recordings: string[][] = [];
  const failures: FailedStep[] = [];
  let current = handler;
  let changed: Partial<Settings> = settings;
  let storeAway: Error | undefined;
  let recordMs = 0;
  let wired: Partial<ReplayRequest["ports"]> = {};
  let facts: Partial<Call> = {};
  let compensation: ReplayRequest["compensation"];
  let revision = 0;
  let generation = 0;
  let skippedMs = 0;
  let stoppedAtMs: number | undefined;
  // The next run is one of the same worker in this alone.
  const { thrownAway } = createScope();
  const clock = { ...systemClock, now: () => stoppedAtMs ?? Date.now() + skippedMs };
  const save = (entries: readonly KeyedEntry[]) =>
    entries.forEach(({ key, entry }) => {
      const before = journal.get(key);
      if (before?.place !== undefined) return;
      const { arrived: _, ...kept } = before ?? entry;
      const { place, withdrawn } = entry;
      if (before && !before.arrived) return void journal.set(key, entry);
      if (place === undefined) journal.set(key, before ?? entry);
      else journal.set(key, { ...kept, place, ...(withdrawn && { withdrawn }) });
      if (withdrawn) open.delete(key.replace("ask:", ""));
    });
  return {
    journal,
    reports,
    recordings,
    failures,
    open,
    thrownAway,
    /** Lets time pass between two runs. */
    skip(ms: number) {
      skippedMs += ms;
      if (stoppedAtMs !== undefined) stoppedAtMs += ms;
    },
    /** Stops the clock while timers run, for limits that are tested to the millisecond. */
    stopClock: () => (stoppedAtMs = clock.now()),
    /** Deploys a new handler. */
    deploy: (changed: typeof handler) => (current = changed),
    /** Changes settings. */
    reset: (others: Partial<Settings>) => (changed = others),
    /** Changes facts of the call. */
    called: (others: Partial<Call>) => (facts = others),
    /** Replaces ports. */
    wire: (ports: typeof wired) => void (wired = ports),
    /** Makes its runs compensations. */
    compensate: (isLastTry: boolean) => void (compensation = { isLastTry }),
    /** Makes every write fail with the error; undefined: writes succeed again. */
    loseStore: (error: Error | undefined) => (storeAway = error),
    /** Delays every write. */
    slowStore: (ms: number) => (recordMs = ms),
    answer: (key: string, answer: Answer, atMs = Date.now()) => {
      const ask = open.get(key);
      if (!ask) throw new Error(`${key} is not open`);
      open.delete(key);
      const { digest, calledAt } = ask;
      journal.set(`ask:${key}`, { digest, calledAt, outcome: { type: "answer", answer }, arrived: { atMs, revision: (revision += 1) } });
    },
    async run(signal = new AbortController().signal): Promise<RunEnd> {
      const task: TaskAtWork = {
        id: "0-task",
        call: {
          kind: "tool",
          name: "subject",
          arguments: {},
          principal: "anonymous",
          capabilities: {},
          createdAtMs: 0,
          retentionMs: 1,
          seed: "seed",
          hidden: false,
          ...(replies && { replies }),
          ...facts,
        },
        status: "working",
        revision: 1,
        run: 1,
        updatedAtMs: 0,
        generation,
        ...split([...open.values()]),
      };
      const end = await replay({
        task,
        journal: new Map(journal),
        journalSize: 0,
        handler: current,
        signal,
        ...(compensation && { compensation }),
        settings: { ...DEFAULT_SETTINGS, divergenceWaitMs: 50, ...changed },
        ports: {
          clock,
          scope: { ...createScope(), thrownAway },
          isHeld: () => true,
          startChild: async (call) => void open.set(call.key, call),
          openFile: undefined,
          accessToken: undefined,
          kept: undefined,
          deposit: async (key) => `the deposit of ${key}`,
          stepFailed: (failure) => void failures.push(failure),
          digest: sha256Digest,
          validate: createValidator(),
          tokenOf: (key) => ({
            token: `0-task.${key}.${"t".repeat(43)}`,
            url: `https://parley.test/events/0-task.${key}.${"t".repeat(43)}`,
          }),
          record: async (entries, asks) => {
            if (storeAway) throw storeAway;
            if (recordMs > 0) await systemClock.sleep(recordMs);
            recordings.push(entries.map(({ key }) => key));
            save(entries);
            for (const ask of asks) if (!journal.has(`ask:${ask.key}`)) open.set(ask.key, ask);
          },
          report: async (report) => void reports.push(report),
          announce: async () => undefined,
          ...wired,
        },
      });
      // A run that was stopped has lost its task.
      if ("entries" in end && end.type !== "aborted") save(end.entries);
      if (end.type === "parked") end.asks.forEach((ask) => !journal.has(`ask:${ask.key}`) && open.set(ask.key, ask));
      if (end.type === "restarted") {
        generation += 1;
        journal.clear();
        open.clear();
      }
      return end;
    },
  };
}

export function askKeys(end: RunEnd): readonly string[] {
  if (end.type !== "parked") throw new Error(`the run ${end.type}: ${"error" in end ? String(end.error) : ""}`);
  return end.asks.map(({ key }) => key);
}
