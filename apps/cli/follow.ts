/** Watches a task until it ends, shows what it says, and asks what it asks. */
import { setTimeout as sleep } from "node:timers/promises";
import { answerAtTerminal, asksOf } from "./answering.ts";
import { type McpClient, RpcError } from "./mcp-client.ts";
import { type InputRequest, isOver, showAsk, type TaskState } from "./show.ts";
import { clean, cleanLine, jsonText, styled, tell } from "./terminal.ts";

/** Looks often at first: most tools ask, or end, at once. Then no oftener than a person notices. */
const LOOK_MIN_MS = 30;
const LOOK_MAX_MS = 500;
/** A server that is away for longer is given up. */
const PATIENCE_MS = 10 * 60_000;
const BAR_WIDTH = 24;

export interface Follow {
  readonly taskId: string;
  /** Asks its questions on the terminal; else says how to answer them. */
  readonly interactive: boolean;
  /** Shows progress, status and logs. */
  readonly live: boolean;
  readonly signal: AbortSignal;
}

/** The person has left: the task waits. */
export class Left extends Error {
  override readonly name = "Left";
}

/** Throws Left, and RpcError when the task is gone or the server does not come back. */
export async function follow(client: McpClient, { taskId, interactive, live, signal }: Follow): Promise<TaskState> {
  const watching = watchTask(client, taskId, signal);
  const screen = live ? reportsOn(client, taskId, signal) : undefined;
  const shown = new Set<string>();
  let message: string | undefined;
  for (;;) {
    const task = await watching.next();
    screen?.clear();
    if (isOver(task)) return task;
    if (live && task.statusMessage !== undefined && task.statusMessage !== message) tell(`… ${cleanLine(task.statusMessage)}`);
    message = task.statusMessage;
    const open = Object.entries(asksOf(task));
    for (const [key, request] of open) {
      if (!shown.has(key)) tell(showAsk(taskId, key, request));
      shown.add(key);
    }
    const next = open.find(([, { method }]) => method === "elicitation/create");
    if (!interactive || !next) continue;
    screen?.hold();
    await askUntilOver(client, { taskId, key: next[0], request: next[1], watching, signal }).finally(() => screen?.release());
  }
}

interface Asked {
  readonly taskId: string;
  readonly key: string;
  readonly request: InputRequest;
  readonly watching: Watching;
  readonly signal: AbortSignal;
}

/** Closes the prompt when the question is over: answered by somebody else, withdrawn, out of time. */
export async function askUntilOver(client: McpClient, { taskId, key, request, watching, signal }: Asked): Promise<void> {
  const over = new AbortController();
  const stop = watching.onLook((task) => {
    if (!Object.hasOwn(asksOf(task), key)) over.abort();
  });
  try {
    const became = await answerAtTerminal(client, { taskId, key, request, signal: AbortSignal.any([signal, over.signal]) });
    if (signal.aborted) throw new Left();
    if (became === "late") tell(styled("yellow", `${cleanLine(key)} was answered elsewhere, or is no longer open.`));
    else if (became !== "accepted") throw new Left();
    // The state that was seen last still holds the question.
    watching.forget();
  } finally {
    stop();
  }
}

export interface Watching {
  /** The next state that was not seen yet. */
  next(): Promise<TaskState>;
  /** What was seen before counts as changed. */
  forget(): void;
  /** Called with every state, until it is stopped. */
  onLook(look: (task: TaskState) => void): () => void;
}

/** Looks at a task again and again, also while somebody waits for something else. */
export function watchTask(client: McpClient, taskId: string, signal: AbortSignal): Watching {
  const looks = new Set<(task: TaskState) => void>();
  let seen = "";
  let awayMs = 0;

  async function look(): Promise<TaskState | undefined> {
    try {
      const task = await client.request<TaskState & { resultType?: string }>("tasks/get", { taskId });
      if (awayMs > 0) tell("The server is back.");
      awayMs = 0;
      for (const each of looks) each(task);
      return task;
    } catch (error) {
      if (!(error instanceof RpcError && error.isLost) || awayMs > PATIENCE_MS) throw error;
      if (awayMs === 0) tell("The server does not respond. The task is kept; waiting for the server.");
      awayMs += LOOK_MAX_MS;
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
      for (let pauseMs = LOOK_MIN_MS; ; pauseMs = Math.min(pauseMs * 1.5, LOOK_MAX_MS)) {
        if (signal.aborted) throw new Left();
        const task = await look();
        const state = JSON.stringify(task);
        if (task && state !== seen) {
          seen = state;
          return task;
        }
        await pause(pauseMs);
      }
    },
    forget: () => void (seen = ""),
    onLook(listener) {
      looks.add(listener);
      const stopped = new AbortController();
      void (async () => {
        while (!stopped.signal.aborted && !signal.aborted) {
          await look().catch(() => undefined);
          await sleep(LOOK_MAX_MS, undefined, { signal: stopped.signal }).catch(() => undefined);
        }
      })();
      return () => {
        looks.delete(listener);
        stopped.abort();
      };
    },
  };
}

interface Reporting {
  /** Takes the progress off the screen, for what is printed next. */
  clear(): void;
  /** A prompt has the screen: what is reported meanwhile is shown after it. */
  hold(): void;
  release(): void;
}

/** Reports that wait for the end of a prompt. */
const HELD_MAX = 1_000;

/** Progress as one line that is drawn over, on a terminal; as a line each elsewhere. Logs as lines. */
function reportsOn(client: McpClient, taskId: string, signal: AbortSignal): Reporting {
  const drawn = process.stderr.isTTY;
  let onScreen = false;
  let held: (() => void)[] | undefined;
  const clear = (): void => {
    if (onScreen) process.stderr.write("\r\u001B[2K");
    onScreen = false;
  };
  const show = (text: string, isProgress: boolean): void => {
    if (held) {
      if (held.length < HELD_MAX) held.push(() => show(text, isProgress));
      return;
    }
    clear();
    if (!isProgress || !drawn) return tell(text);
    // A line that is wider than the terminal could not be drawn over.
    process.stderr.write(text.slice(0, Math.max(10, (process.stderr.columns ?? 80) - 1)));
    onScreen = true;
  };
  client.listen(
    taskId,
    {
      onProgress: (progress, total, message) => show(progressLine(progress, total, message), true),
      onLog: (level, data) =>
        show(`${styled("dim", `[${cleanLine(level)}]`)} ${typeof data === "string" ? clean(data) : jsonText(data)}`, false),
    },
    signal,
  );
  return {
    clear,
    hold() {
      clear();
      held ??= [];
    },
    release() {
      const shown = held ?? [];
      held = undefined;
      for (const each of shown) each();
    },
  };
}

export function progressLine(progress: number, total: number | undefined, message: string | undefined): string {
  const said = message === undefined ? "" : `  ${cleanLine(message)}`;
  if (total === undefined || !(total > 0)) return `${cleanLine(String(progress))}${said}`;
  const share = Math.min(1, Math.max(0, progress / total));
  const full = Math.round(share * BAR_WIDTH);
  return `${"█".repeat(full)}${"░".repeat(BAR_WIDTH - full)} ${Math.round(share * 100)} %${said}`;
}
