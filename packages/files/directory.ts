/**
 * Stores files in a directory that all front ends and workers share: a local directory or a network volume.
 *
 *   <directory>/<prefix>/<task id>/<file id>        a file; has the suffix `.part` while it is uploaded
 */
import { type FileHandle, mkdir, open, readdir, rename, rm, rmdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { ReadableStream as NodeStream } from "node:stream/web";
import { type FileStore, ParleyError } from "@parley/core";
import { gone, isFileId, isTaskId } from "./ids.ts";

const PART = ".part";
/** To exhaust these tries, as many failing uploads would have to remove the folder at just the wrong moments. */
const TRIES_MAX = 100;

export function directoryFiles(directory: string): FileStore {
  function folderOf(taskId: string): string {
    if (!isTaskId(taskId)) throw new TypeError("not a task id");
    return join(directory, taskId);
  }

  function pathOf(taskId: string, id: string): string {
    if (!isFileId(id)) throw gone();
    return join(folderOf(taskId), id);
  }

  /**
   * Creates the folder and opens the file in it. Retries, because a failing upload of the same task removes the folder while it is empty: while
   * it is created, or between its creation and the opening of the file.
   */
  async function openIn(folder: string, path: string): Promise<FileHandle> {
    for (let tries = 1; ; tries += 1) {
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 });
        return await open(path, "wx", 0o600);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOENT" || tries === TRIES_MAX) throw error;
      }
    }
  }

  /** Leaves the folder alone if it is not empty: another upload of the same task may be in progress. */
  async function removeEmpty(folder: string): Promise<void> {
    await rmdir(folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOTEMPTY" && error.code !== "ENOENT" && error.code !== "EEXIST") throw error;
    });
  }

  return {
    async put(taskId, id, content) {
      const path = pathOf(taskId, id);
      const file = await reached(openIn(folderOf(taskId), `${path}${PART}`));
      try {
        // An error of the content is the sender's, and passed on as it is.
        for await (const chunk of content) await reached(file.writeFile(chunk));
        await reached(file.sync());
        await reached(file.close());
        await reached(rename(`${path}${PART}`, path));
      } catch (error) {
        await file.close().catch(() => undefined);
        await rm(`${path}${PART}`, { force: true });
        await removeEmpty(folderOf(taskId));
        throw error;
      }
    },

    async open(taskId, id) {
      // Opened here, and not with the first read: from now on its removal does not matter.
      const file = await open(pathOf(taskId, id)).catch((error: NodeJS.ErrnoException) => {
        throw error.code === "ENOENT" ? gone() : unavailable(error);
      });
      return Readable.toWeb(file.createReadStream()) as NodeStream<Uint8Array> as ReadableStream<Uint8Array>;
    },

    async remove(taskId, id) {
      if (id === undefined) return await rm(folderOf(taskId), { recursive: true, force: true });
      await rm(pathOf(taskId, id), { force: true });
      await removeEmpty(folderOf(taskId));
    },

    async *idle(idleMs) {
      const before = Date.now() - idleMs;
      for (const taskId of await namesIn(directory)) {
        if (!isTaskId(taskId)) continue;
        const folder = folderOf(taskId);
        let newest = (await stat(folder).catch(() => undefined))?.mtimeMs ?? 0;
        for (const name of await namesIn(folder)) {
          const changed = (await stat(join(folder, name)).catch(() => undefined))?.mtimeMs ?? 0;
          if (name.endsWith(PART) && changed < before) await rm(join(folder, name), { force: true });
          else newest = Math.max(newest, changed);
        }
        if (newest >= before) continue;
        await removeEmpty(folder);
        yield taskId;
      }
    },
  };
}

async function reached<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw unavailable(error as NodeJS.ErrnoException);
  }
}

/** A full disk, a volume that is gone, or too few file descriptors. Without the path, which the message has: it may reach a tool's caller. */
function unavailable({ code = "Error", syscall = "" }: NodeJS.ErrnoException): ParleyError {
  return new ParleyError("FILES_UNAVAILABLE", `the file store failed: ${code} ${syscall}`);
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return [];
    throw error;
  });
}
