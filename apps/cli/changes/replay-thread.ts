/**
 * Runs replays in a thread, so that a handler that loops endlessly or exits ends the thread and not the command. Output of the tools to standard
 * output goes to standard error.
 */
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { type Catalogue, versionFor } from "@parley/core";
import { replayedBehindGate } from "@parley/approvals/every-process";
import { loadCatalogue } from "@parley/sdk";
import { type RecordedTask, type Replayed, replayRecorded } from "@parley/sdk/replay";

export interface ThreadOptions {
  readonly tools: readonly string[];
  readonly baseline: readonly string[] | undefined;
  readonly patienceMs: number;
  /** Replays each task once more for each, with other latencies of what it awaits outside ctx. */
  readonly seeds?: readonly number[];
}

/** The report about one task. */
export interface ReplayReport extends Omit<Replayed, "questions"> {
  /** The modules have no tool or prompt of this name. */
  readonly isMissing?: true;
}

export interface ReplayThread {
  /** Takes at most the handler's timeout plus the time allowed to a handler that blocks its thread. */
  replay(task: RecordedTask): Promise<ReplayReport>;
  close(): Promise<void>;
}

type Message =
  | { readonly type: "ready" }
  | { readonly type: "failed"; readonly message: string }
  | { readonly type: "replayed"; readonly report: ReplayReport };

const MARK = "parley replay";
const LOAD_MS = 60_000;
/** Time for the work of handlers between their effects, in addition to the time for which they may wait. */
const BUSY_MS = 20_000;

/** Throws an Error if the tools do not load. */
export async function startReplayThread(options: ThreadOptions, busyMs = BUSY_MS): Promise<ReplayThread> {
  const first = await start(options);
  let thread: Worker | undefined = first;
  return {
    async replay(task) {
      thread ??= await start(options);
      thread.postMessage(task);
      const message = await next(thread, options.patienceMs * 2 + busyMs);
      if (message.type === "replayed") return message.report;
      await thread.terminate();
      thread = undefined;
      const reason = message.type === "failed" ? message.message : "the replay did not finish";
      return { verdict: "unknown", reason, recorded: Object.keys(task.journal), found: [] };
    },
    close: async () => void (await thread?.terminate()),
  };
}

async function start(options: ThreadOptions): Promise<Worker> {
  const thread = new Worker(new URL(import.meta.url), { workerData: { mark: MARK, ...options }, stdout: true });
  thread.stdout.pipe(process.stderr, { end: false });
  const message = await next(thread, LOAD_MS);
  if (message.type === "ready") return thread;
  await thread.terminate();
  throw new Error(message.type === "failed" ? message.message : "the tools did not load");
}

/** The next message of the thread. A thread that sends none in time, throws or exits has failed. */
function next(thread: Worker, timeoutMs: number): Promise<Message> {
  return new Promise((resolve) => {
    const fail = (message: string) => settle({ type: "failed", message });
    const timer = setTimeout(() => fail(`the code blocked its thread for more than ${timeoutMs} ms`), timeoutMs);
    const onError = (error: Error) => fail(`the code threw outside of the handler: ${error.message}`);
    const onExit = () => fail("the code exited the process");
    const settle = (message: Message) => {
      clearTimeout(timer);
      thread.off("message", settle).off("error", onError).off("exit", onExit);
      resolve(message);
    };
    thread.once("message", settle).once("error", onError).once("exit", onExit);
  });
}

// ── in the thread ──────────────────────────────────────────────────────────────────────────────────────────────

function serve(options: ThreadOptions): void {
  const say = (message: Message) => parentPort?.postMessage(message);
  const loading = Promise.all([loadCatalogue(options.tools), options.baseline && loadCatalogue(options.baseline)]);
  loading.then(
    ([changed, baseline]) => {
      parentPort?.on("message", (task: RecordedTask) => {
        void replayOne(task, { changed, baseline, patienceMs: options.patienceMs, seeds: options.seeds ?? [] }).then((report) =>
          say({ type: "replayed", report }),
        );
      });
      say({ type: "ready" });
    },
    (error: unknown) => say({ type: "failed", message: error instanceof Error ? error.message : String(error) }),
  );
}

interface Code {
  readonly changed: Catalogue;
  readonly baseline: Catalogue | undefined;
  readonly patienceMs: number;
  readonly seeds: readonly number[];
}

async function replayOne(task: RecordedTask, { changed, baseline, patienceMs, seeds }: Code): Promise<ReplayReport> {
  const { kind, name } = task.call;
  // If the modules do not have the task's version, the newest one: the task would move to it.
  const of = ({ tools, prompts }: Catalogue) => {
    const newest = tools.get(name);
    if (kind === "prompt") return prompts.get(name);
    return newest && replayedBehindGate(versionFor(newest, task.call) ?? newest, task.journal);
  };
  const tool = of(changed);
  const before = baseline && of(baseline);
  if (!tool) {
    const reason = `the modules have no ${kind} ${name}`;
    return { verdict: "diverges", reason, recorded: Object.keys(task.journal), found: [], isMissing: true };
  }
  const options = { patienceMs, ...(before && { baseline: before }) };
  const { questions: _, ...report } =
    seeds.length === 0
      ? await replayRecorded(tool, task, options)
      : await (await shuffling()).replayShuffled(tool, task, { ...options, seeds });
  return report;
}

/** With the test kit, which only `parley dev` needs. */
const shuffling = () => import("@parley/sdk/testing");

if (!isMainThread && (workerData as { mark?: unknown } | null)?.mark === MARK) serve(workerData as ThreadOptions);
