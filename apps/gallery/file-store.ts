/** Small JSON files that several processes share. Each is written atomically. */
import { randomUUID } from "node:crypto";
import { link, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

/** Resolves to the file's JSON; undefined if there is no file. */
export async function readJson<T>(path: string): Promise<T | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as T;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Creates or replaces the file. */
export async function writeJson(path: string, value: unknown): Promise<void> {
  await rename(await draft(path, value), path);
}

/** Creates the file; resolves to false if it exists. Of racing processes one succeeds: `link` is atomic and, unlike an exclusive open, never exposes half a file. */
export async function createJson(path: string, value: unknown): Promise<boolean> {
  const temporary = await draft(path, value);
  try {
    await link(temporary, path);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  } finally {
    await rm(temporary);
  }
}

async function draft(path: string, value: unknown): Promise<string> {
  const temporary = `${path}.${randomUUID()}.draft`;
  await mkdir(dirname(path), { recursive: true });
  await writeFile(temporary, `${JSON.stringify(value, null, 2)}\n`);
  return temporary;
}

export function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
