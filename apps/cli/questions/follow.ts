/** Watches a task until it ends, shows its reports, and asks its questions. */
import { setTimeout as sleep } from "node:timers/promises";
import { LATER } from "./abandoned.ts";
import { answerAtTerminal, asksOf, OVER, type Question, sendReply, type Settled } from "./answering.ts";
import type { ApiClient } from "../client/api-client.ts";
import { type McpClient, type Reports, RpcError } from "../client/mcp-client.ts";
import type { Reached } from "../client/reach.ts";
import { readAsk } from "./answer-ask.ts";
import { type InputRequest, isOver, showAsk, type TaskState } from "./show.ts";
import { clean, cleanLine, jsonText, styled, printToStderr } from "../terminal/terminal.ts";

/** Polls often at first, since most tools ask or end at once, and then only as often as a person notices. */
const POLL_MIN_MS = 30;
const POLL_MAX_MS = 500;
/** Of a task that has not changed for long, if the server says so. Somebody sits in front of it who has just answered elsewhere. */
const POLL_LONG_MS = 2_000;
/** How long to wait for a server that does not respond. */
const PATIENCE_MS = 10 * 60_000;
const BAR_WIDTH = 24;
/** How long to wait for the reports of a task that has ended. */
const REPORTS_MS = 2_000;

export interface Follow {
  readonly taskId: string;
  /** Whether to ask the questions on the terminal. If not, prints how to answer them. */
  readonly interactive: boolean;
  /** Whether to show progress, status and logs. */
  readonly live: boolean;
  readonly signal: AbortSignal;
}

/** The person has left. The task keeps waiting. */
export class Left extends Error {
  override readonly name = "Left";
}

/** Throws Left, or RpcError if the task is gone or the server does not come back. */
export async function follow(client: McpClient & Pick<Reached, "api">, { taskId, interactive, live, signal }: Follow): Promise<TaskState> {
  const screen = openScreen();
  try {
    const watching = watchTask(client, taskId, signal, screen.print);
    const told = live ? listenTo(client, taskId, screen, signal) : undefined;
    const shown = new Set<string>();
    let message: string | undefined;
    for (;;) {
      const task = await watching.next();
      if (isOver(task)) {
        // What a fast tool has logged is still on its way.
        await Promise.race([told, sleep(REPORTS_MS, undefined, { signal }).catch(() => undefined)]);
        return task;
      }
      if (live && task.statusMessage !== undefined && task.statusMessage !== message) screen.print(`… ${cleanLine(task.statusMessage)}`);
      message = task.statusMessage;
      const open = Object.entries(asksOf(task));
      const prompted = interactive ? open.filter(([, { method }]) => method === "elicitation/create") : [];
      for (const [key, request] of open.filter((each) => !prompted.includes(each))) {
        if (!shown.has(key)) screen.print(showAsk(taskId, key, request));
        shown.add(key);
      }
      const [next] = prompted;
      if (!next) continue;
      screen.hold();
      const [key, request] = next;
      const hasQuorum = await isQuorumAsked(client.api, { taskId, key }, signal);
      const asked = askUntilOver(ownQuestion(client, { taskId, key, request, hasQuorum, watching }), signal);
      if ((await asked.finally(screen.release)) === LATER) throw new Left();
      // The last state that was read still contains the question.
      watching.forget();
    }
  } finally {
    screen.close();
  }
}

/** MCP says it in words alone. False if the server has no API, or does not know the question. */
async function isQuorumAsked(
  api: ApiClient,
  { taskId, key }: { readonly taskId: string; readonly key: string },
  signal: AbortSignal,
): Promise<boolean> {
  // The server may be away, and the person may leave meanwhile.
  const left = new Promise<undefined>((resolve) => signal.addEventListener("abort", () => resolve(undefined), { once: true }));
  const ask = await Promise.race([readAsk(api, taskId, key).catch(() => undefined), left]);
  return ask !== undefined && ask.state !== "settled" && ask.audience?.quorum !== undefined;
}

/** A question of one's own task, through MCP. */
function ownQuestion(
  client: McpClient,
  {
    taskId,
    key,
    request,
    hasQuorum,
    watching,
  }: {
    readonly taskId: string;
    readonly key: string;
    readonly request: InputRequest;
    readonly hasQuorum: boolean;
    readonly watching: Watching;
  },
): Question {
  return {
    key,
    request,
    about: { title: "A tool asks", notes: [], hasQuorum, takesReason: false },
    send: (reply) => sendReply(client, taskId, key, reply),
    whenClosed: (closed) =>
      watching.onState((task) => {
        if (!Object.hasOwn(asksOf(task), key)) closed();
      }),
  };
}

/**
 * Asks a question, and closes the prompt if the question is answered elsewhere, withdrawn or timed out: then the answer is `late`. Throws Left if the person
 * leaves.
 */
export async function askUntilOver(question: Question, signal: AbortSignal): Promise<Settled | typeof LATER> {
  const over = new AbortController();
  let ended: string | undefined;
  const stop = question.whenClosed((how) => {
    ended = how;
    over.abort();
  });
  try {
    const outcome = await answerAtTerminal(question, AbortSignal.any([signal, over.signal]));
    const isAccepted = typeof outcome === "object" && outcome.type === "accepted";
    // An answer that was on its way when the person left may have been accepted.
    if (!isAccepted && signal.aborted) throw new Left();
    if (outcome === LATER) return LATER;
    if (typeof outcome !== "object") throw new Left();
    if (outcome.type === "late") printToStderr(styled("yellow", `${cleanLine(question.key)} ${outcome.how ?? ended ?? OVER}.`));
    return outcome;
  } finally {
    stop();
  }
}

interface Watching {
  /** Resolves to the next state that differs from the last one. */
  next(): Promise<TaskState>;
  /** Makes `next` return the state even if it has not changed. */
  forget(): void;
  /** Calls `listener` with every state that is read, until the returned function is called. */
  onState(listener: (task: TaskState) => void): () => void;
}

/**
 * Polls a task, also while a prompt is open, and pauses after each poll, whatever it has told. `print` shows that the server is away, and that it is
 * back.
 */
export function watchTask(client: McpClient, taskId: string, signal: AbortSignal, print: (text: string) => void = printToStderr): Watching {
  const listeners = new Set<(task: TaskState) => void>();
  let seen = "";
  let awayMs = 0;
  let pauseMs = 0;
  /** How long the pauses get, as the server asks for it. */
  let pauseMaxMs = POLL_MAX_MS;

  async function poll(): Promise<TaskState | undefined> {
    try {
      const task = await client.request<TaskState & { resultType?: string }>("tasks/get", { taskId });
      if (awayMs > 0) print("The server is back.");
      awayMs = 0;
      pauseMaxMs = Math.min(Math.max(task.pollIntervalMs ?? 0, POLL_MAX_MS), POLL_LONG_MS);
      for (const each of listeners) each(task);
      return task;
    } catch (error) {
      if (!(error instanceof RpcError && error.isLost) || awayMs > PATIENCE_MS) throw error;
      if (awayMs === 0) print("The server does not respond. The task is kept; waiting for the server.");
      awayMs += POLL_MAX_MS;
      pauseMaxMs = POLL_MAX_MS;
      return undefined;
    }
  }

  async function pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal }).catch(() => {
      throw new Left();
    });
  }

  return {
    async next() {
      for (;;) {
        if (signal.aborted) throw new Left();
        await pause(pauseMs);
        const task = await poll();
        const state = stateOf(task);
        if (task && state !== seen) {
          seen = state;
          pauseMs = POLL_MIN_MS;
          return task;
        }
        pauseMs = Math.min(Math.max(pauseMs * 1.5, POLL_MIN_MS), pauseMaxMs);
      }
    },
    forget: () => void (seen = ""),
    onState(listener) {
      listeners.add(listener);
      const stopped = new AbortController();
      void (async () => {
        while (!stopped.signal.aborted && !signal.aborted) {
          await poll().catch(() => undefined);
          await sleep(pauseMaxMs, undefined, { signal: stopped.signal }).catch(() => undefined);
        }
      })();
      return () => {
        listeners.delete(listener);
        stopped.abort();
      };
    },
  };
}

/** What of a task can be shown. How often it is polled grows with the time that it waits. */
function stateOf(task: TaskState | undefined): string {
  return JSON.stringify({ ...task, pollIntervalMs: undefined });
}

interface Screen {
  /** Prints a line above the progress. */
  print(text: string): void;
  /** Prints a log in the same way, but not during a prompt: it is held back until `release`. */
  log(text: string): void;
  /** Replaces the progress, which stays on a terminal until `close`. Elsewhere, each is a line of its own. */
  progress(line: string): void;
  /** A prompt uses the screen: the progress is removed from it until `release`. */
  hold(): void;
  release(): void;
  /** Removes the progress. One that comes later is not shown. */
  close(): void;
}

/** Maximum number of logs held back during a prompt. */
const HELD_MAX = 1_000;

function openScreen(): Screen {
  const isTerminal = process.stderr.isTTY;
  let line = "";
  let isDrawn = false;
  let isClosed = false;
  let held: string[] | undefined;
  function erase(): void {
    if (isDrawn) process.stderr.write("\r\u001B[2K");
    isDrawn = false;
  }
  function draw(): void {
    if (line === "" || held || isClosed) return;
    // A line wider than the terminal could not be erased.
    process.stderr.write(line.slice(0, Math.max(10, (process.stderr.columns ?? 80) - 1)));
    isDrawn = true;
  }
  function print(text: string): void {
    erase();
    printToStderr(text);
    draw();
  }
  function log(text: string): void {
    if (!held) print(text);
    else if (held.length < HELD_MAX) held.push(text);
  }
  return {
    print,
    log,
    progress(next) {
      if (!isTerminal) return log(next);
      erase();
      line = next;
      draw();
    },
    hold() {
      erase();
      held ??= [];
    },
    release() {
      const texts = held ?? [];
      held = undefined;
      for (const text of texts) printToStderr(text);
      draw();
    },
    close() {
      erase();
      isClosed = true;
    },
  };
}

function listenTo(client: McpClient, taskId: string, screen: Screen, signal: AbortSignal): Promise<void> {
  const reports: Reports = {
    onProgress: (progress, total, message) => screen.progress(progressLine(progress, total, message)),
    onLog: (level, data) =>
      screen.log(`${styled("dim", `[${cleanLine(level)}]`)} ${typeof data === "string" ? clean(data) : jsonText(data)}`),
  };
  return client.listen(taskId, reports, signal);
}

export function progressLine(progress: number, total: number | undefined, message: string | undefined): string {
  const said = message === undefined ? "" : `  ${cleanLine(message)}`;
  if (total === undefined || !(total > 0)) return `${cleanLine(String(progress))}${said}`;
  const share = Math.min(1, Math.max(0, progress / total));
  const full = Math.round(share * BAR_WIDTH);
  return `${"█".repeat(full)}${"░".repeat(BAR_WIDTH - full)} ${Math.round(share * 100)} %${said}`;
}
