/** `parley stdio`: connects the pipe to a server, and shuts both down. */
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Local, localServer } from "../serve/local.ts";
import { credentialsFor } from "../credentials/credentials.ts";
import { serveWithoutOutput } from "../terminal/lost-output.ts";
import { type Bridge, createBridge } from "../bridge/bridge.ts";
import { lineReader } from "./lines.ts";
import { messageOutput } from "./output.ts";
import type { Remote } from "../bridge/remote.ts";
import { clean, printToStderr } from "../terminal/terminal.ts";
import { checkEndpoint } from "../url.ts";

/** Longest line that a client may send, in bytes. The server's own limit (PARLEY_BODY_BYTES_MAX) is lower, and the server reports it. */
const LINE_BYTES_MAX = 16 * 1_048_576;
/**
 * How long open requests may still be answered after the client has closed its end and the server has started: scripts write all their requests and close.
 * Clients built on the official SDK send SIGTERM two seconds after closing, which ends the wait.
 */
const GOODBYE_MS = 1_400;
/** The process exits after this time, even if closing has not finished. */
const CLOSE_MS = 400;

export interface StdioOptions {
  readonly url?: string | undefined;
  readonly tools?: string | undefined;
  readonly dataDir?: string | undefined;
  /** Another server than the one of the data directory. */
  readonly local?: Local;
}

export async function serveStdio({ url, tools, dataDir = defaultDataDir(), local: given }: StdioOptions): Promise<void> {
  if (url !== undefined) checkEndpoint(url);
  // A client may close standard error and continue. A client that closes standard output is gone: see below.
  serveWithoutOutput();
  const local = url === undefined ? (given ?? localServer({ dataDir, tools })) : undefined;
  const remote: Remote = local
    ? { url: () => local.url(), lost: () => local.lost(), token: () => Promise.resolve(undefined) }
    : { url: () => Promise.resolve(url ?? ""), lost: () => undefined, token: credentialsFor(url ?? "") };

  const output = messageOutput(process.stdout, {
    onBlocked: () => void process.stdin.pause(),
    onDrained: () => void process.stdin.resume(),
  });
  const bridge = createBridge({ remote, write: output.write, log });
  const end = ending(bridge, () => local?.close());
  // Started before the first message arrives, since the client waits for its response with a timeout.
  const started = local?.url();

  const lines = lineReader({ bytesMax: LINE_BYTES_MAX, onLine: bridge.take, onBad: bridge.refuse });
  process.stdin.on("data", lines.add);
  process.stdin.once("end", () => {
    lines.end();
    const patience = Promise.resolve(started).then(() => sleep(GOODBYE_MS));
    void end(0, patience, "the client closed its end");
  });
  process.stdin.once("error", () => void end(0));
  // The client is gone.
  process.stdout.on("error", () => void end(0));
  process.on("SIGTERM", () => void end(0));
  process.on("SIGINT", () => void end(0));
  void local?.broken.then((why) => {
    log(why);
    void end(1, undefined, "the server ended");
  });

  try {
    await started;
  } catch (error) {
    log(error instanceof Error ? error.message : String(error));
    // Open requests are answered with the same reason.
    await Promise.race([bridge.idle(), sleep(CLOSE_MS)]);
    await end(1);
  }
}

/**
 * Ends the process when no request is open, or `patience` has settled; at once without it, also if it is called again. `why` is for the client, if it still
 * reads.
 */
type End = (code: number, patience?: Promise<unknown>, why?: string) => Promise<void>;

function ending(bridge: Bridge, stop: () => Promise<void> | undefined): End {
  const again = Promise.withResolvers<void>();
  let ended = false;
  let exitCode = 0;
  return async (code, patience = Promise.resolve(), why) => {
    exitCode ||= code;
    if (ended) return again.resolve();
    ended = true;
    await Promise.race([bridge.idle(), patience.catch(() => again.promise), again.promise]);
    await Promise.race([bridge.close(why).then(stop), sleep(CLOSE_MS)]);
    process.exit(exitCode);
  };
}

function log(text: string): void {
  printToStderr(`parley stdio: ${clean(text)}`);
}

/** A directory of the user, since clients start servers in arbitrary directories: the next start must find the waiting tasks. */
function defaultDataDir(): string {
  return join(process.env["XDG_STATE_HOME"] || join(homedir(), ".local", "state"), "parley", "redis");
}
