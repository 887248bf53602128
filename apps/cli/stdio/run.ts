/** `parley stdio`: connects the pipe to a server, and shuts both down. */
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
import { clean, printToStderr } from "../terminal.ts";

/** Longest line that a client may send, in bytes. The server's own limit (PARLEY_BODY_BYTES_MAX) is lower, and the server reports it. */
const LINE_BYTES_MAX = 16 * 1_048_576;
/**
 * How long open requests may still be answered after the client has closed its end: scripts write all their requests and close. Clients built on the
 * official SDK send SIGTERM two seconds after closing, so closing must be complete by then.
 */
const GOODBYE_MS = 1_400;
/** The process exits after this time, even if closing has not finished. */
const CLOSE_MS = 400;

export interface StdioOptions {
  readonly url?: string | undefined;
  readonly tools?: string | undefined;
  readonly dataDir?: string | undefined;
}

export async function serveStdio({ url, tools, dataDir = defaultDataDir() }: StdioOptions): Promise<void> {
  // A client may close standard error and continue. A client that closes standard output is gone: see below.
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
  // The client is gone.
  process.stdout.on("error", () => void end(0, 0));
  process.once("SIGTERM", () => void end(0, 0));
  process.once("SIGINT", () => void end(0, 0));
  void local?.broken.then((why) => {
    log(why);
    void end(1, 0);
  });

  if (!local) return;
  try {
    // Started before the first message arrives, since the client waits for its response with a timeout.
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
  printToStderr(`parley stdio: ${clean(text)}`);
}

/** A directory of the user, since clients start servers in arbitrary directories: the next start must find the waiting tasks. */
function defaultDataDir(): string {
  return join(process.env["XDG_STATE_HOME"] || join(homedir(), ".local", "state"), "parley", "redis");
}
