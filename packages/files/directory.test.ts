import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { describeFileStore } from "../../test/contract/files-contract.ts";
import { directoryFiles } from "./directory.ts";

const directory = mkdtempSync(join(tmpdir(), "parley-directory-"));

afterAll(() => rmSync(directory, { recursive: true }));

describeFileStore("a directory", () => ({
  files: directoryFiles(directory),
  left: async () => readdirSync(directory, { recursive: true }).map(String),
}));
