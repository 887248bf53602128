import { spawnSync } from "node:child_process";
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

test("on a full disk is a file store that failed, keeps nothing of the file, and takes the next one when there is room", async () => {
  const script = `
    import { readdirSync } from "node:fs";
    import { directoryFiles } from ${JSON.stringify(new URL("directory.ts", import.meta.url).href)};
    process.on("SIGXFSZ", () => undefined);
    const [directory, taskId] = process.argv.slice(1);
    const files = directoryFiles(directory);
    async function* bytes(count) {
      for (let sent = 0; sent < count; sent += 1_024) yield Buffer.alloc(1_024);
    }
    for (const size of [65_536, 8_192]) {
      const id = crypto.randomUUID();
      await files.put(taskId, id, bytes(size)).then(() => console.log("kept"), ({ code, message }) => console.log(code, message));
      console.log(readdirSync(directory, { recursive: true }).some((name) => name.includes(id)));
    }
  `;
  const options = { encoding: "utf8", timeout: 60_000 } as const;
  const command = ["-c", 'ulimit -f 32; exec "$0" "$@"', process.execPath, "--input-type=module", "-e", script, directory, newTaskId()];
  const { stdout } = spawnSync("bash", command, options);
  expect(stdout.trimEnd().split("\n")).toEqual(["FILES_UNAVAILABLE the file store failed: EFBIG write", "false", "kept", "true"]);
});

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
