import { randomUUID } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { newTaskId } from "../../test/contract/builders.ts";
import { describeFileStore } from "../../test/contract/files-contract.ts";
import { directoryFiles } from "./directory.ts";

const directory = mkdtempSync(join(tmpdir(), "parley-directory-"));

afterAll(() => rmSync(directory, { recursive: true }));

describeFileStore("a directory", () => ({
  files: directoryFiles(directory),
  left: async () => readdirSync(directory, { recursive: true }).map(String),
}));

test("an upload that fails does not remove the folder of one that begins at that moment", async () => {
  const files = directoryFiles(directory);
  const taskId = newTaskId();
  async function* cut() {
    yield Buffer.from("a");
    throw new Error("the connection is gone");
  }
  async function* whole() {
    yield Buffer.from("a");
  }
  const rounds = async (round: () => Promise<void>) => {
    for (let count = 0; count < 100; count += 1) await round();
  };
  const inVain = () => rounds(() => expect(files.put(taskId, randomUUID(), cut())).rejects.toThrow("the connection is gone"));
  const kept = () =>
    rounds(async () => {
      const id = randomUUID();
      await files.put(taskId, id, whole());
      await files.remove(taskId, id);
    });
  await Promise.all([inVain(), kept(), inVain(), kept()]);
});
