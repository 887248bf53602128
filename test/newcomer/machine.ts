/**
 * The machine of somebody who has just heard of Parley: one Node.js with its npm, a shell, and Python at most. No Redis, no Docker, no checkout
 * of this repository, an empty home. Only npm's cache is that of this machine, so that the registry's speed does not count.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, realpathSync } from "node:fs";
import { mkdir, symlink } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";

export interface Machine {
  /** Runs a command line in a shell. */
  run(command: string, cwd: string): Promise<Ran>;
  /** Starts one and resolves when it prints a line that begins with `ready`. Rejects with what it printed if it ends before, or takes too long. */
  start(command: string, cwd: string, ready: string): Promise<Running>;
  readonly env: Readonly<Record<string, string>>;
}

export interface Ran {
  readonly code: number;
  /** Both streams, in the order in which they were printed. */
  readonly printed: string;
}

export interface Running {
  readonly printed: () => string;
  /** Ctrl-C. */
  stop(): Promise<void>;
}

/** What npm and Parley run besides Node.js. `python3` fetches Valkey. */
const PROGRAMS = ["sh", "env", "ps", "python3"] as const;
/** What an install may take on a slow day. With a warm cache it is a quarter of a minute. */
const COMMAND_MS = 480_000;

/** `node`: the program. Everything is written below `folder`. */
export async function machineWith(node: string, folder: string): Promise<Machine> {
  const [bin, home] = [join(folder, "bin"), join(folder, "home")];
  await Promise.all([bin, home].map((each) => mkdir(each, { recursive: true })));
  const npm = dirname(realpathSync(onPath("npm")));
  await symlink(realpathSync(node), join(bin, "node"));
  for (const name of ["npm", "npx"]) await symlink(join(npm, `${name}-cli.js`), join(bin, name));
  for (const name of PROGRAMS) if (existsSync(`/usr/bin/${name}`)) await symlink(`/usr/bin/${name}`, join(bin, name));
  const kept = Object.entries(process.env).filter(([name]) =>
    /^(LANG|LC_|TERM$|TMPDIR$|NODE_EXTRA_CA_CERTS$|SSL_CERT|PIP_|.*_proxy$)/i.test(name),
  );
  const env = {
    ...(Object.fromEntries(kept) as Record<string, string>),
    PATH: bin,
    HOME: home,
    npm_config_cache: process.env["npm_config_cache"] ?? join(homedir(), ".npm"),
    npm_config_prefer_offline: "true",
    npm_config_audit: "false",
    npm_config_fund: "false",
    npm_config_update_notifier: "false",
  };

  return {
    env,
    run: (command, cwd) =>
      new Promise((resolve) => {
        const child = execFile("/bin/sh", ["-c", `exec 2>&1; ${command}`], { cwd, env, timeout: COMMAND_MS }, (error, printed) =>
          resolve({ code: error ? Number(error.code ?? 1) : 0, printed }),
        );
        child.stdin?.end();
      }),
    async start(command, cwd, ready) {
      const child = spawn("/bin/sh", ["-c", `exec 2>&1; ${command}`], { cwd, env, stdio: ["ignore", "pipe", "inherit"], detached: true });
      let printed = "";
      const ended = once(child, "exit");
      let late: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve, reject) => {
        child.stdout.setEncoding("utf8").on("data", (text: string) => {
          printed += text;
          if (new RegExp(`^${ready}`, "m").test(printed)) resolve();
        });
        void ended.then(() => reject(new Error(`${command} ended:\n${printed}`)));
        late = setTimeout(() => {
          reject(new Error(`${command} has not printed ${ready} in ${COMMAND_MS / 1_000} s:\n${printed}`));
          void stopped(child, ended);
        }, COMMAND_MS);
      }).finally(() => clearTimeout(late));
      return { printed: () => printed, stop: () => stopped(child, ended) };
    },
  };
}

/** As Ctrl-C does: the whole group. */
async function stopped(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGINT");
  await ended;
}

function onPath(name: string): string {
  const found = (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((folder) => join(folder, name))
    // Scripts of this repository, and npm's own shims, are not on a newcomer's machine.
    .find((path) => existsSync(path) && !path.includes("node_modules/.bin"));
  if (found === undefined) throw new Error(`${name} is not on the PATH`);
  return found;
}
