/** Files in a bucket of a real S3 server, on loopback. */
import { randomUUID } from "node:crypto";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { CreateMultipartUploadCommand } from "@aws-sdk/client-s3";
import type { FileStore } from "@parley/core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { collected, describeFileStore } from "../../test/contract/files-contract.ts";
import { CREDENTIALS, type LocalS3, startS3 } from "../../test/support/s3.ts";
import { PART_BYTES, s3Files } from "./s3.ts";
import { fileStore, filesEnvironment } from "./settings.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const started = await startS3();
const missing = "missing" in started ? started.missing : undefined;
const s3 = started as LocalS3;

let files: FileStore;

beforeAll(async () => {
  for (const [name, value] of Object.entries(CREDENTIALS)) vi.stubEnv(name, value);
  if (missing !== undefined) return;
  files = (await fileStore({ PARLEY_FILES: `s3://${s3.bucket}/some/prefix`, PARLEY_FILES_ENDPOINT: s3.url }, "a:deployment"))!;
});

afterAll(async () => {
  vi.unstubAllEnvs();
  if (missing === undefined) await s3.close();
});

describe.skipIf(missing !== undefined)("a bucket", () => {
  describeFileStore("a bucket", () => ({ files, left: s3.keys }));

  test("holds files below its prefix and the deployment's, and another deployment cannot see them", async () => {
    const [taskId, id] = [`0-${"a".repeat(22)}`, randomUUID()];
    await files.put(taskId, id, chunks(1));
    expect(await s3.keys()).toContain(`some/prefix/a_deployment/${taskId}/${id}`);
    const other = (await fileStore({ PARLEY_FILES: `s3://${s3.bucket}/some/prefix`, PARLEY_FILES_ENDPOINT: s3.url }, "other"))!;
    await expect(other.open(taskId, id)).rejects.toMatchObject({ code: "FILE_GONE" });
    expect(await collected(other.idle(-60_000))).toEqual([]);
    await files.remove(taskId);
  });

  test("is freed of old uploads whose process died, and of no others", async () => {
    const key = `some/prefix/a_deployment/0-${"b".repeat(22)}/${randomUUID()}`;
    const elsewhere = `elsewhere/${randomUUID()}`;
    for (const Key of [key, elsewhere]) await s3.client.send(new CreateMultipartUploadCommand({ Bucket: s3.bucket, Key }));
    // The server dates all uploads to 2010.
    await collected(files.idle(30 * 365 * 24 * 60 * 60_000));
    expect(await s3.keys()).toEqual(expect.arrayContaining([`${key}.part`, `${elsewhere}.part`]));
    await collected(files.idle(-60_000));
    expect((await s3.keys()).filter((each) => each.endsWith(".part"))).toEqual([`${elsewhere}.part`]);
  });

  test("stores a file much larger than a part with only a few parts in memory", async () => {
    const taskId = `0-${"c".repeat(22)}`;
    const bytes = 40 * PART_BYTES;
    const limit = heldBytes() + 6 * PART_BYTES;
    async function* measured() {
      for (let sent = 0; sent < bytes; sent += 65_536) {
        // Buffers that the garbage collector has not freed yet do not count: their number depends on the machine.
        if (process.memoryUsage().arrayBuffers > limit) expect(heldBytes()).toBeLessThan(limit);
        yield new Uint8Array(65_536);
      }
    }
    await files.put(taskId, randomUUID(), measured());
    await files.remove(taskId);
  });

  test("that does not exist or is unreachable is reported as unavailable, without credentials", async () => {
    const settings = { bucket: "nobodys", prefix: "", endpoint: s3.url, region: "us-east-1" };
    const [taskId, id] = [`0-${"d".repeat(22)}`, randomUUID()];
    for (const store of [s3Files(settings), s3Files({ ...settings, endpoint: "http://127.0.0.1:9" })]) {
      const asked = [
        () => store.put(taskId, id, chunks(1)),
        () => store.open(taskId, id),
        () => store.remove(taskId),
        () => collected(store.idle(0)),
      ];
      for (const ask of asked) {
        const error: unknown = await ask().then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
        expect(error).toMatchObject({ code: "FILES_UNAVAILABLE", message: expect.not.stringContaining(CREDENTIALS.AWS_SECRET_ACCESS_KEY) });
      }
    }
  });
});

describe("PARLEY_FILES", () => {
  const accepts = (value: string) => filesEnvironment.PARLEY_FILES.safeParse(value).success;

  test.each([
    ["dir:/var/lib/parley", true],
    ["dir:relative", false],
    ["s3://bucket", true],
    ["s3://bucket/a/prefix", true],
    ["s3://Bucket", false],
    ["s3://a", false],
    ["s3://bucket/a?b", false],
    ["https://bucket", false],
  ])("accepts %s: %s", (value, isFit) => {
    expect(accepts(value)).toBe(isFit);
  });
});

/** Size of all buffers that are still referenced, in bytes. */
function heldBytes(): number {
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
}

async function* chunks(count: number): AsyncGenerator<Uint8Array> {
  for (let n = 0; n < count; n += 1) yield Buffer.from("chunk");
}
