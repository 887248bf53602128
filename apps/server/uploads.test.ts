/** Uploads into a directory. */
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type FileStore, sweepFiles } from "@parley/core";
import { fileStore } from "@parley/files";
import { afterEach, beforeEach, expect, test } from "vitest";
import { describeUploads } from "../../test/contract/uploads-contract.ts";

let directory: string;
let files: FileStore;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "parley-files-"));
  const store = await fileStore({ PARLEY_FILES: `dir:${directory}` }, "parley");
  if (!store) throw new Error("there is no store");
  files = store;
});
afterEach(() => rm(directory, { recursive: true }));

const left = async () =>
  (await readdir(directory, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile()).map(({ name }) => name);

describeUploads("a directory", () => ({ files, left }));

test("what a process left of an upload is taken away when it is old, and its task may stay", async () => {
  const folder = join(directory, "parley", `0-${"a".repeat(22)}`);
  const store = { load: async () => ({}) as never } as unknown as Parameters<typeof sweepFiles>[0]["store"];
  const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "x.part"), "half");
  await sweepFiles({ store, files, log });
  expect(await left()).toEqual(["x.part"]);
  const longAgo = new Date(Date.now() - 2 * 60 * 60_000);
  await utimes(join(folder, "x.part"), longAgo, longAgo);
  await utimes(folder, longAgo, longAgo);
  await sweepFiles({ store, files, log });
  expect(await left()).toEqual([]);
});
