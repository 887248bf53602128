import { expect, test } from "vitest";
import type { FileStore } from "../ports/files.ts";
import { inMemory } from "./in-memory.fixture.ts";
import { sweepFiles } from "./sweep-files.ts";

/** Files of these tasks, none of them recent. */
function kept(...taskIds: string[]) {
  const asked: number[] = [];
  const removed: string[] = [];
  const files: Pick<FileStore, "idle" | "remove"> = {
    async *idle(idleMs) {
      asked.push(idleMs);
      yield* taskIds;
    },
    remove: async (taskId) => void removed.push(taskId),
  };
  return { files: files as FileStore, asked, removed };
}

test("files of tasks that no longer exist are removed, and others stay", async () => {
  const { files, asked, removed } = kept("0-gone", "0-put-1", "0-gone-too");
  const { services, put, logged } = inMemory({ files });
  await put([]);
  expect(await sweepFiles(services)).toBe(2);
  expect(await sweepFiles({ ...services, files: kept("0-put-1").files })).toBe(0);
  expect(removed).toStrictEqual(["0-gone", "0-gone-too"]);
  expect(asked).toStrictEqual([3_600_000]);
  expect(logged).toStrictEqual([["info", "files of ended tasks removed", { tasks: 2 }]]);
});

test("recent files are skipped, for as long as the caller says", async () => {
  const { files, asked } = kept();
  await sweepFiles(inMemory({ files }).services, 5);
  expect(asked).toStrictEqual([5]);
});

test("a deployment without files has none to remove", async () => {
  expect(await sweepFiles(inMemory().services)).toBe(0);
});
