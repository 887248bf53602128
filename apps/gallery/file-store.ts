/** Small files that several processes share: each is written whole or not at all. */
import { randomUUID } from "node:crypto";
import { link, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

/** The file's JSON; undefined when there is none. */
export async function readJson<T>(path: string): Promise<T | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as T;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Replaces the file. */
export async function writeJson(path: string, value: unknown): Promise<void> {
  await rename(await draft(path, value), path);
}

/** Creates the file; false when it exists. Of racing processes one succeeds: `link` is atomic and, unlike an exclusive open, never shows half a file. */
export async function createJson(path: string, value: unknown): Promise<boolean> {
  const made = await draft(path, value);
  try {
    await link(made, path);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  } finally {
    await rm(made);
  }
}

async function draft(path: string, value: unknown): Promise<string> {
  const made = `${path}.${randomUUID()}.draft`;
  await mkdir(dirname(path), { recursive: true });
  await writeFile(made, `${JSON.stringify(value, null, 2)}\n`);
  return made;
}

export function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
