/** A client on the pipe of `parley stdio`, line by line: for what clients with manners never do. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { until } from "./until.ts";

export const MAIN = resolve(import.meta.dirname, "../../apps/cli/main.ts");

export interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string };
}

export interface Pipe {
  readonly child: ChildProcess;
  /** All that came on standard output. */
  readonly messages: readonly (Message | readonly Message[])[];
  /** All that came on standard error. */
  readonly said: () => string;
  send(line: string | object): void;
  /** Resolves with the whole answer. */
  request(method: string, params?: object, id?: string | number): Promise<Message>;
  /** The first message, from now or before, that is so. */
  message(is: (message: Message) => boolean): Promise<Message>;
  /** Resolves with the exit code, when all that it said has come. */
  readonly ended: Promise<number | null>;
  close(): Promise<void>;
}

export function openPipe(args: readonly string[], env: Readonly<Record<string, string>> = {}): Pipe {
  const { REDIS_URL: _shared, ...rest } = process.env;
  const child = spawn(process.execPath, [MAIN, "stdio", ...args], { env: { ...rest, ...env }, stdio: ["pipe", "pipe", "pipe"] });
  const messages: (Message | readonly Message[])[] = [];
  let said = "";
  let ids = 0;
  createInterface({ input: child.stdout }).on("line", (line) => messages.push(JSON.parse(line) as Message));
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  child.stdin.on("error", () => undefined);
  const exited = once(child, "exit");
  const ended = once(child, "close").then(([code]) => code as number | null);
  const send = (line: string | object) => void child.stdin.write(`${typeof line === "string" ? line : JSON.stringify(line)}\n`);
  const message = (is: (message: Message) => boolean) => until(() => messages.flat().find(is), { everyMs: 5 });
  return {
    child,
    messages,
    said: () => said,
    send,
    message,
    ended,
    async request(method, params = {}, id = `own-${(ids += 1)}`) {
      send({ jsonrpc: "2.0", id, method, params });
      return await message((each) => each.id === id && each.method === undefined);
    },
    async close() {
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
      await exited;
    },
  };
}
