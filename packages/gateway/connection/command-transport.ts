/**
 * MCP over the standard streams of a process. Unlike the transport of the MCP client, it ends everything that the command has started: `npx server` and
 * `sh -c server` are two processes each, and the second one could otherwise stay. So the process leads a group of its own.
 *
 *   close(), or the process ends or closes its output ─▶ end of its input ─2 s─▶ SIGTERM to the group ─2 s─▶ SIGKILL to the group
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type JSONRPCMessage,
  parseJSONRPCMessage,
  SdkError,
  SdkErrorCode,
  serializeMessage,
  type Transport,
} from "@modelcontextprotocol/client";
import { oneLine } from "@parley/core";
import { mended } from "../wire/incoming.ts";

export interface Command {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
  readonly messageBytesMax: number;
  /** Receives what the processes print to standard error. If undefined, it is dropped. */
  readonly onStderr?: ((text: string) => void) | undefined;
}

type Process = ChildProcessByStdio<Writable, Readable, Readable | null>;

/** How long the process has to end once its input has ended, and again after SIGTERM. */
const GRACE_MS = 2_000;
const LOOK_MS = 20;
const LF = 0x0a;

export class CommandTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<Transport["onmessage"]>;
  readonly #command: Command;
  /** The beginning of a line whose end has not arrived. */
  #beginning: Buffer[] = [];
  #process: Process | undefined;
  #closing: Promise<void> | undefined;
  /** What arrived since the last message. Lines that are none are skipped. */
  #bytesBetween = 0;

  constructor(command: Command) {
    this.#command = command;
  }

  async start(): Promise<void> {
    const { command, args, env, cwd, onStderr } = this.#command;
    const child = spawn(command, args, {
      env,
      stdio: ["pipe", "pipe", onStderr ? "pipe" : "ignore"],
      detached: true,
      ...(cwd !== undefined && { cwd }),
    }) as Process;
    this.#process = child;
    const { stdin, stdout, stderr } = child;
    for (const each of [child, stdin, stdout, stderr]) each?.on("error", (error: Error) => this.onerror?.(error));
    await once(child, "spawn");
    stdout.on("data", (chunk: Buffer) => this.#read(chunk));
    stderr?.on("data", (chunk: Buffer) => onStderr?.(chunk.toString()));
    child.once("exit", () => void this.close());
    // It can send nothing more, even if it keeps running.
    stdout.once("end", () => void this.close());
    // It can receive nothing more.
    stdin.once("error", () => void this.close());
  }

  /** The client recognizes a process by these two. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  get stderr(): Readable | null {
    return this.#process?.stderr ?? null;
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#process?.stdin;
    if (!stdin) throw new SdkError(SdkErrorCode.NotConnected, "Not connected");
    let cause: unknown;
    if (!this.#closing) {
      try {
        return await written(stdin, oneLine(serializeMessage(message)));
      } catch (error) {
        cause = error;
      }
    }
    // That the process has ended shows here or by its exit; the first of the two counts. Either way it is the same error, after its last words were read.
    await this.close();
    throw new SdkError(SdkErrorCode.ConnectionClosed, "Connection closed", undefined, { cause });
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#stop());
  }

  #read(chunk: Buffer): void {
    this.#bytesBetween += chunk.byteLength;
    if (this.#bytesBetween > this.#command.messageBytesMax) {
      this.onerror?.(new Error("the command prints something else than messages"));
      this.#process?.stdout.destroy();
      return void this.close();
    }
    let rest = chunk;
    for (let end = rest.indexOf(LF); end !== -1; end = rest.indexOf(LF)) {
      const line = Buffer.concat([...this.#beginning, rest.subarray(0, end)]);
      this.#beginning = [];
      rest = rest.subarray(end + 1);
      this.#readLine(line.toString());
    }
    if (rest.length > 0) this.#beginning.push(rest);
  }

  #readLine(line: string): void {
    let given: unknown;
    try {
      given = JSON.parse(line);
    } catch {
      // A command may print other lines.
      return;
    }
    try {
      const message = parseJSONRPCMessage(mended(given, line));
      this.#bytesBetween = 0;
      this.onmessage?.(message);
    } catch (error) {
      this.onerror?.(error as Error);
    }
  }

  async #stop(): Promise<void> {
    const child = this.#process;
    if (child?.pid !== undefined) {
      const { pid } = child;
      // Once it has ended and its output, which may contain a last message, has been read.
      const closed = new Promise((resolve) => child.once("close", resolve));
      child.stdin.end();
      await Promise.race([closed, sleep(GRACE_MS)]);
      for (const signal of ["SIGTERM", "SIGKILL"] as const) if (signalGroup(pid, signal)) await groupEnded(pid);
      // A process that has left the group may still have them.
      for (const pipe of child.stdio) pipe?.destroy();
    }
    this.#beginning = [];
    this.onclose?.();
  }
}

function written(stream: Writable, text: string): Promise<void> {
  return new Promise((resolve, reject) => stream.write(text, (error) => (error ? reject(error) : resolve())));
}

/** Returns whether the group still exists. */
function signalGroup(leader: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-leader, signal);
  } catch {
    return false;
  }
}

async function groupEnded(leader: number): Promise<void> {
  const untilMs = performance.now() + GRACE_MS;
  while (signalGroup(leader, 0) && performance.now() < untilMs) await sleep(LOOK_MS);
}
