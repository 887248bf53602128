/** A real terminal, by tmux: what a person sees after they have typed. */
import { execFile, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { MAIN } from "./pipe.ts";
import { until } from "./until.ts";

const run = promisify(execFile);

/** Whether there is one on this machine. */
export const hasTerminal = spawnSync("tmux", ["-V"]).status === 0;

export interface Terminal {
  /** What stands on the screen, and above it. */
  screen(): Promise<string>;
  /** Waits until the screen shows it. */
  shows(text: string | RegExp): Promise<string>;
  /** All that was written to the terminal, as it was written. */
  written(): Promise<string>;
  /** Types text. */
  type(text: string): Promise<void>;
  /** Pastes text as a terminal does for a program that asked for brackets around it, or as one that knows none. */
  paste(text: string, isMarked?: boolean): Promise<void>;
  /** Presses keys by tmux's names: `Enter`, `Down`, `Space`, `C-c`. */
  press(...keys: string[]): Promise<void>;
  resize(columns: number, rows: number): Promise<void>;
  /** Resolves with the exit code of the command. */
  ended(): Promise<number>;
  close(): Promise<void>;
}

/** Runs `parley` with these arguments. */
export async function openTerminal(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Terminal> {
  // A server of its own for each: nothing of the user's, and no two tests in one.
  const socket = `parley-${randomUUID()}`;
  const tmux = async (...rest: string[]) => (await run("tmux", ["-L", socket, ...rest])).stdout;
  const quoted = [process.execPath, MAIN, ...args].map((arg) => `'${arg.replaceAll("'", `'\\''`)}'`).join(" ");
  const settings = Object.entries(env).flatMap(([name, value]) => ["-e", `${name}=${value}`]);
  // Ctrl-C ends the command and not the shell around it.
  const record = join(tmpdir(), `${socket}.record`);
  // The recording has begun when the command starts.
  const script = `trap : INT; while [ ! -e ${record} ]; do sleep 0.05; done; ${quoted}; echo "[exit $?]"; exec cat`;
  await tmux("-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "40", ...settings, "sh", "-c", script);
  await tmux("pipe-pane", "-o", `cat > ${record}`);

  const screen = async () => await tmux("capture-pane", "-p", "-J", "-S", "-500");
  async function shows(text: string | RegExp): Promise<string> {
    let last = "";
    try {
      return await until(
        async () => {
          last = await screen();
          return (typeof text === "string" ? last.includes(text) : text.test(last)) ? last : undefined;
        },
        { everyMs: 50 },
      );
    } catch (error) {
      throw new Error(`the terminal does not show ${String(text)}:\n${last.trimEnd()}`, { cause: error });
    }
  }
  return {
    screen,
    shows,
    written: () => readFile(record, "latin1"),
    type: async (text) => void (await tmux("send-keys", "-l", text)),
    async paste(text, isMarked = true) {
      await tmux("set-buffer", text);
      await tmux("paste-buffer", ...(isMarked ? ["-p"] : []));
    },
    press: async (...keys) => void (await tmux("send-keys", ...keys)),
    resize: async (columns, rows) => void (await tmux("resize-window", "-x", String(columns), "-y", String(rows))),
    ended: async () => Number(/\[exit (\d+)\]/.exec(await shows(/\[exit \d+\]/))?.[1]),
    async close() {
      await tmux("kill-server").catch(() => undefined);
      await rm(record, { force: true });
    },
  };
}
