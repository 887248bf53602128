import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { aContentKey } from "../../../test/contract/content-keys.ts";
import { fixedKeyRing } from "./key-ring.ts";
import { notInstalled, ringOf } from "./open-content.ts";

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const KMS = { contentKmsRegion: "us-east-1" };
const contentKeys = aContentKey();

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "parley-ring-"));
});
afterAll(() => rm(folder, { recursive: true }));

describe("the key ring that settings name", () => {
  test("is absent if they name none", async () => {
    expect(await ringOf(KMS, silent)).toBeUndefined();
  });

  test("comes from the environment, or from a file", async () => {
    const { keyId } = await fixedKeyRing(contentKeys).wrap(Buffer.alloc(32), "");
    const contentRing = join(folder, "ring");
    await writeFile(contentRing, contentKeys);
    expect(await (await ringOf({ ...KMS, contentKeys }, silent))?.currentKeyId()).toBe(keyId);
    expect(await (await ringOf({ ...KMS, contentRing }, silent))?.currentKeyId()).toBe(keyId);
  });

  test("can be a key management service, which opens what the earlier ring has wrapped", async () => {
    const wrapped = await fixedKeyRing(contentKeys).wrap(Buffer.alloc(32, 9), "bound");
    const ring = await ringOf({ ...KMS, contentKeys, contentKms: "alias/parley", contentKmsEndpoint: "http://127.0.0.1:1" }, silent);
    expect(await ring?.unwrap(wrapped, "bound")).toEqual(Buffer.alloc(32, 9));
    await expect(ring?.currentKeyId()).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });

  test("may come from only one of the two", async () => {
    await expect(ringOf({ ...KMS, contentKeys, contentRing: "/ring" }, silent)).rejects.toThrow(
      new TypeError("PARLEY_CONTENT_KEYS and PARLEY_CONTENT_RING are both set: remove one of them"),
    );
  });

  test("must have valid keys, in a readable file", async () => {
    const unfit = join(folder, "unfit");
    await writeFile(unfit, "");
    for (const [contentRing, problem] of [
      [unfit, "has no key: make one with `openssl rand -base64 32`"],
      [join(folder, "nowhere"), "cannot be read (ENOENT)"],
      [folder, "cannot be read (EISDIR)"],
    ] as const) {
      const refused = ringOf({ ...KMS, contentRing }, silent);
      await expect(refused).rejects.toThrow(new TypeError(`PARLEY_CONTENT_RING: ${contentRing} ${problem}`));
      await expect(refused).rejects.toHaveProperty("cause.message");
    }
  });

  test("names the package to install if the key management service's is missing, and reports any other failure as it is", async () => {
    const name = "@aws-sdk/not-here";
    const missing: unknown = await import(name).catch((error: unknown) => error);
    expect(notInstalled(missing)).toStrictEqual(
      new TypeError("PARLEY_CONTENT_KMS needs a package that is not here: npm install @aws-sdk/client-kms", { cause: missing }),
    );
    const other = new SyntaxError("a module that does not parse");
    expect(notInstalled(other)).toBe(other);
  });
});
