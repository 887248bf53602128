/** `parley stdio`: the pipe, the server behind it, and their ends. */
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { localServer } from "../local.ts";
import { credentialsFor } from "../credentials.ts";
import { serveWithoutOutput } from "../lost-output.ts";
import { type Bridge, createBridge } from "./bridge.ts";
import { lineReader } from "./lines.ts";
import { messageOutput } from "./output.ts";
import type { Remote } from "./remote.ts";
import { clean, tell } from "../terminal.ts";

/** Longest line that a client may send, in bytes. The server's own limit (PARLEY_BODY_BYTES_MAX) is smaller, and answers by itself. */
const LINE_BYTES_MAX = 16 * 1_048_576;
/** How long requests of a client that has closed its end may still be answered: scripts write all they have and close. */
const GOODBYE_MS = 500;
/** The process ends after this, even if something still hangs. */
const CLOSE_MS = 400;

export interface StdioOptions {
  readonly url?: string | undefined;
  readonly tools?: string | undefined;
  readonly dataDir?: string | undefined;
}

export async function serveStdio({ url, tools, dataDir = defaultDataDir() }: StdioOptions): Promise<void> {
  // A client may close the standard error of its server, and one that closes standard output is gone: see below.
  serveWithoutOutput();
  const local = url === undefined ? localServer({ dataDir, tools }) : undefined;
  const remote: Remote = local
    ? { url: () => local.url(), lost: () => local.lost(), token: () => Promise.resolve(undefined) }
    : { url: () => Promise.resolve(url ?? ""), lost: () => undefined, token: credentialsFor(url ?? "") };

  const output = messageOutput(process.stdout, {
    onBlocked: () => void process.stdin.pause(),
    onDrained: () => void process.stdin.resume(),
  });
  const bridge = createBridge({ remote, write: output.write, log });
  const end = ending(bridge, () => local?.close());

  const read = lineReader({ bytesMax: LINE_BYTES_MAX, onLine: bridge.take, onBad: bridge.refuse });
  process.stdin.on("data", read);
  process.stdin.once("end", () => void end(0, GOODBYE_MS));
  process.stdin.once("error", () => void end(0, 0));
  // A client that is gone: nobody reads what is written any more.
  process.stdout.on("error", () => void end(0, 0));
  process.once("SIGTERM", () => void end(0, 0));
  process.once("SIGINT", () => void end(0, 0));
  void local?.broken.then((why) => {
    log(why);
    void end(1, 0);
  });

  if (!local) return;
  try {
    // Before the first message: a client waits for its answer with a time limit.
    await local.url();
  } catch (error) {
    log(error instanceof Error ? error.message : String(error));
    await end(1, 0);
  }
}

function ending(bridge: Bridge, stop: () => Promise<void> | undefined): (code: number, graceMs: number) => Promise<void> {
  let ended = false;
  return async (code, graceMs) => {
    if (ended) return;
    ended = true;
    await Promise.race([bridge.idle(), sleep(graceMs)]);
    await Promise.race([bridge.close().then(stop), sleep(CLOSE_MS)]);
    process.exit(code);
  };
}

function log(text: string): void {
  tell(`parley stdio: ${clean(text)}`);
}

/** Clients start their servers in directories of their own choosing: a place of the user's, so that waiting tasks are found again. */
function defaultDataDir(): string {
  return join(process.env["XDG_STATE_HOME"] || join(homedir(), ".local", "state"), "parley", "redis");
}
