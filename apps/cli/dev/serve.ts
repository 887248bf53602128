/** The server of `parley dev`, in a process of its own because modules cannot be reloaded. */
import { fork } from "node:child_process";
import { extname } from "node:path";

export interface Served {
  /** URL of the MCP endpoint. */
  readonly url: string;
  readonly playground: string | undefined;
  readonly inbox: string;
  /** Resolves with the reason when the process ends, also after `stop`. */
  readonly ended: Promise<string>;
  /** Resolves when the process has ended. */
  stop(): Promise<void>;
}

/** Messages from the process. */
export type Said =
  | { readonly type: "serving"; readonly url: string; readonly inbox: string; readonly playground?: string }
  | { readonly type: "failed"; readonly message: string };

/** Compiled, as in the package, it has the extension of this file. */
const SERVER_PROCESS = new URL(`server-process${extname(import.meta.filename)}`, import.meta.url);

/** Grace period for runs in progress. Then the process is killed, and the next one takes over its tasks. */
const STOP_MS = 10_000;

/** Throws an Error that says why the process does not start. */
export async function serve(env: NodeJS.ProcessEnv): Promise<Served> {
  // In a process group of its own, so that Ctrl-C reaches only the parent. When the parent ends for any reason, the channel closes and the child exits.
  const child = fork(SERVER_PROCESS, { env, detached: true, stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const ended = new Promise<string>((done) => {
    child.once("exit", (code, signal) => done(signal ?? `exit code ${code}`));
    child.once("error", (error) => done(error.message));
  });
  const said = new Promise<Said>((done) => child.once("message", (message) => done(message as Said)));
  const first = await Promise.race([said, ended]);
  if (typeof first === "string") throw new Error(`its process ended (${first})`);
  if (first.type === "failed") throw new Error(first.message);
  return {
    url: first.url,
    playground: first.playground,
    inbox: first.inbox,
    ended,
    async stop() {
      if (child.connected) child.disconnect();
      const force = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
      await ended;
      clearTimeout(force);
    },
  };
}
