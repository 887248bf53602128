/** Uploads into a bucket of a real S3 server, on loopback. */
import type { FileStore } from "@parley/core";
import { fileStore } from "@parley/files";
import { afterAll, beforeEach, describe, vi } from "vitest";
import { CREDENTIALS, type LocalS3, startS3 } from "../../test/support/s3.ts";
import { describeUploads } from "../../test/contract/uploads-contract.ts";

const started = await startS3();
const missing = "missing" in started ? started.missing : undefined;
const s3 = started as LocalS3;

let files: FileStore;
let deployments = 0;

describe.skipIf(missing !== undefined)("uploads", () => {
  beforeEach(async () => {
    for (const [name, value] of Object.entries(CREDENTIALS)) vi.stubEnv(name, value);
    const settings = { PARLEY_FILES: `s3://${s3.bucket}`, PARLEY_FILES_ENDPOINT: s3.url };
    files = (await fileStore(settings, `deployment-${(deployments += 1)}`))!;
  });

  afterAll(async () => {
    vi.unstubAllEnvs();
    await s3.close();
  });

  describeUploads("a bucket", () => ({
    files,
    left: async () =>
      (await s3.keys()).filter((key) => key.startsWith(`deployment-${deployments}/`)).map((key) => key.split("/").at(-1) ?? ""),
  }));
});
