/**
 * Stores tokens and related data by server, in a file that only the user can read: `~/.config/parley/credentials.json`. A process that changes the file holds
 * a lock, so that two processes that renew at the same time do not use the same refresh token twice.
 */
import { mkdir, open, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export interface StoredTokens {
  readonly access_token: string;
  readonly token_type?: string;
  readonly refresh_token?: string;
  readonly scope?: string;
  readonly expires_in?: number;
  /** The provider that issued them. */
  readonly issuer?: string;
}

/** Everything stored for one server. */
export interface Credentials {
  readonly tokens?: StoredTokens;
  readonly expiresAt?: string;
  /** This client's registration at the provider. */
  readonly client?: { readonly client_id: string; readonly [member: string]: unknown };
  readonly discovery?: object;
}

interface Stored {
  readonly [url: string]: Credentials;
}

const LOCK_STALE_MS = 30_000;

export function credentialsFile(): string {
  return join(process.env["XDG_CONFIG_HOME"] || join(homedir(), ".config"), "parley", "credentials.json");
}

/** The normalized URL, so that each server has a single key. */
export function serverKey(url: string): string {
  const { href } = new URL(url);
  return href.replace(/#.*$/, "");
}

export async function readCredentials(url: string): Promise<Credentials | undefined> {
  return (await readAll())[serverKey(url)];
}

/** Changes what is stored for a server. If `change` returns undefined, the entry is deleted. */
export async function changeCredentials(url: string, change: (before: Credentials | undefined) => Credentials | undefined): Promise<void> {
  await changeAll((all) => {
    const { [serverKey(url)]: before, ...rest } = all;
    const after = change(before);
    return after ? { ...rest, [serverKey(url)]: after } : rest;
  });
}

/** Deletes all entries and returns their servers. */
export async function forgetAll(): Promise<readonly string[]> {
  const known = Object.keys(await readAll());
  if (known.length > 0) await changeAll(() => ({}));
  return known;
}

async function readAll(): Promise<Stored> {
  const file = credentialsFile();
  try {
    return JSON.parse(await readFile(file, "utf8")) as Stored;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw new Error(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}. Delete it, and log in again.`, {
      cause: error,
    });
  }
}

async function changeAll(change: (all: Stored) => Stored): Promise<void> {
  await withLock(async () => {
    const file = credentialsFile();
    const draft = `${file}.${process.pid}`;
    await writeFile(draft, `${JSON.stringify(change(await readAll()), null, 2)}\n`, { mode: 0o600 });
    await rename(draft, file);
  });
}

/** Runs `work` while this process holds the lock file. The lock of a process that died is removed after LOCK_STALE_MS. */
let held = false;
export async function withLock<T>(work: () => Promise<T>): Promise<T> {
  if (held) return await work();
  const path = `${credentialsFile()}.lock`;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  for (;;) {
    try {
      await (await open(path, "wx", 0o600)).close();
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      const made = await stat(path).catch(() => undefined);
      if (made && Date.now() - made.mtimeMs > LOCK_STALE_MS) await rm(path, { force: true });
      else await sleep(25);
    }
  }
  held = true;
  try {
    return await work();
  } finally {
    held = false;
    await rm(path, { force: true });
  }
}
