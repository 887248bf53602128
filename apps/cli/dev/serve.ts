/** The server of `parley dev`, in a process of its own because modules cannot be reloaded. */
import { fork } from "node:child_process";
import { extname } from "node:path";

export interface Served {
  /** URL of the MCP endpoint. */
  readonly url: string;
  readonly playground: string | undefined;
  /** Resolves with the reason when the process ends, also after `stop`. */
  readonly ended: Promise<string>;
  /** Resolves when the process has ended. */
  stop(): Promise<void>;
}

/** A process that has loaded the tools, and serves nothing yet. */
export interface Loaded {
  /** Serves the tools as they were loaded. Throws an Error that says why it cannot; the process has ended then. */
  start(): Promise<Served>;
}

/** Message to the process: the port is free. */
export const START = "start";

/** Messages from the process, in this order. */
export type Said =
  | { readonly type: "loaded" }
  | { readonly type: "serving"; readonly url: string; readonly playground?: string }
  | { readonly type: "failed"; readonly message: string };

/** Compiled, as in the package, it has the extension of this file. */
const SERVED = new URL(`served${extname(import.meta.filename)}`, import.meta.url);

/** Grace period for runs in progress. Then the process is killed, and the next one takes over its tasks. */
const STOP_MS = 10_000;

/**
 * Loads the tools in a process of their own, while another one may still serve: a file that breaks after it was checked costs nobody the running
 * server. Throws an Error that says why they do not load.
 */
export async function load(env: NodeJS.ProcessEnv): Promise<Loaded> {
  // In a process group of its own, so that Ctrl-C reaches only the parent. When the parent ends for any reason, the channel closes and the child exits.
  const child = fork(SERVED, { env, detached: true, stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const ended = new Promise<string>((done) => {
    child.once("exit", (code, signal) => done(signal ?? `exit code ${code}`));
    child.once("error", (error) => done(error.message));
  });
  async function said(): Promise<Said> {
    const message = new Promise<Said>((done) => child.once("message", (each) => done(each as Said)));
    const first = await Promise.race([message, ended]);
    if (typeof first === "string") throw new Error(`its process ended (${first})`);
    if (first.type === "failed") throw new Error(first.message);
    return first;
  }
  await said();
  return {
    async start() {
      const serving = said();
      child.send(START, () => undefined);
      const told = await serving;
      if (told.type !== "serving") throw new Error(`its process said ${told.type}`);
      return {
        url: told.url,
        playground: told.playground,
        ended,
        async stop() {
          if (child.connected) child.disconnect();
          const force = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
          await ended;
          clearTimeout(force);
        },
      };
    },
  };
}
