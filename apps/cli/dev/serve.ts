/** The server of `parley dev`, in a process of its own: modules that were loaded once cannot be loaded anew. */
import { fork } from "node:child_process";

export interface Served {
  /** Of the MCP endpoint. */
  readonly url: string;
  readonly playground: string | undefined;
  /** Resolves with why, also after `stop`. */
  readonly ended: Promise<string>;
  /** Resolves when it has ended. */
  stop(): Promise<void>;
}

/** What the process tells. */
export type Said =
  | { readonly type: "serving"; readonly url: string; readonly playground?: string }
  | { readonly type: "failed"; readonly message: string };

/** For what is at work; beyond it the process is ended by force, and the next one takes its tasks over. */
const STOP_MS = 10_000;

/** Throws an Error that says why it does not start. */
export async function serve(env: NodeJS.ProcessEnv): Promise<Served> {
  // A group of its own: Ctrl-C is for the one who holds it. The channel's end ends it, however this process ends.
  const child = fork(new URL("./served.ts", import.meta.url), { env, detached: true, stdio: ["ignore", "inherit", "inherit", "ipc"] });
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
    ended,
    async stop() {
      if (child.connected) child.disconnect();
      const force = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
      await ended;
      clearTimeout(force);
    },
  };
}
