/** What every store of files promises. Run by packages/files/directory.test.ts and packages/files/s3.e2e.test.ts. */
import { randomBytes, randomUUID } from "node:crypto";
import type { FileStore } from "@parley/core";
import { describe, expect, test } from "vitest";

export interface OpenedFiles {
  readonly files: FileStore;
  /** Names of what is kept, unfinished ones included. */
  left(): Promise<readonly string[]>;
}

async function* chunks(...parts: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield typeof part === "string" ? Buffer.from(part) : part;
}

async function* failing(error: Error, ...parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts;
  throw error;
}

export async function collected<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

export function describeFileStore(name: string, open: () => OpenedFiles): void {
  const task = () => `0-${randomBytes(16).toString("base64url")}`;
  const textOf = async (files: FileStore, taskId: string, id: string) => await new Response(await files.open(taskId, id)).text();

  describe(`files in ${name}`, () => {
    test("are read as they were kept, also if they are empty or have several parts", async () => {
      const { files } = open();
      const taskId = task();
      const large = randomBytes(12 * 1_024 * 1_024 + 7);
      const pieces = Array.from({ length: Math.ceil(large.length / 65_536) }, (_, n) => large.subarray(n * 65_536, (n + 1) * 65_536));
      const [empty, small, big] = [randomUUID(), randomUUID(), randomUUID()];
      await files.put(taskId, empty, chunks());
      await files.put(taskId, small, chunks("grüß ", "☃"));
      await files.put(taskId, big, chunks(...pieces));
      expect([await textOf(files, taskId, empty), await textOf(files, taskId, small)]).toEqual(["", "grüß ☃"]);
      const read = Buffer.from(await new Response(await files.open(taskId, big)).arrayBuffer());
      expect([read.length, Buffer.compare(read, large)]).toEqual([large.length, 0]);
      await files.remove(taskId);
    });

    test("belong to their task only, and no name leads elsewhere", async () => {
      const { files } = open();
      const [mine, other] = [task(), task()];
      const id = randomUUID();
      await files.put(mine, id, chunks("mine"));
      for (const [taskId, name] of [
        [other, id],
        [mine, randomUUID()],
        [mine, `../${mine}/${id}`],
        [mine, "../../../etc/passwd"],
        [mine, ""],
      ] as const) {
        await expect(files.open(taskId, name)).rejects.toMatchObject({ code: "FILE_GONE" });
      }
      for (const taskId of ["..", "../x", "", "a/b", "x".repeat(65)]) {
        await expect(files.put(taskId, id, chunks("x"))).rejects.toThrow("not a task id");
        await expect(files.remove(taskId)).rejects.toThrow("not a task id");
      }
      await expect(files.put(mine, "../x", chunks("x"))).rejects.toMatchObject({ code: "FILE_GONE" });
      await files.remove(mine);
    });

    test("that are cut, early or in a later part, leave nothing behind, and the error is the cutter's", async () => {
      const { files, left } = open();
      const before = await left();
      const cut = new Error("cut");
      const part = Buffer.alloc(1_024 * 1_024, "a");
      for (const parts of [[], [part], Array.from({ length: 12 }, () => part)]) {
        await expect(files.put(task(), randomUUID(), failing(cut, ...parts))).rejects.toBe(cut);
      }
      expect(await left()).toEqual(before);
    });

    test("are removed one by one or with their task, and a repetition changes nothing", async () => {
      const { files, left } = open();
      const before = await left();
      const taskId = task();
      const ids = [randomUUID(), randomUUID(), randomUUID()];
      for (const id of ids) await files.put(taskId, id, chunks(id));
      const [first = "", second = ""] = ids;
      await files.remove(taskId, first);
      await files.remove(taskId, first);
      await expect(files.open(taskId, first)).rejects.toMatchObject({ code: "FILE_GONE" });
      expect(await textOf(files, taskId, second)).toBe(second);
      await files.remove(taskId);
      await files.remove(taskId);
      expect(await left()).toEqual(before);
    });

    test("are listed as idle by task, once nothing was kept for it for long enough", async () => {
      const { files } = open();
      const tasks = [task(), task()];
      for (const taskId of tasks) for (let file = 0; file < 3; file += 1) await files.put(taskId, randomUUID(), chunks("x"));
      const idle = async (ms: number) => (await collected(files.idle(ms))).filter((taskId) => tasks.includes(taskId)).toSorted();
      expect(await idle(60_000)).toEqual([]);
      expect(await idle(-60_000)).toEqual(tasks.toSorted());
      for (const taskId of tasks) await files.remove(taskId);
      expect(await idle(-60_000)).toEqual([]);
    });
  });
}
