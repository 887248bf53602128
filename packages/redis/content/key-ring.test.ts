import { randomBytes } from "node:crypto";
import { mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { aContentKey } from "../../../test/contract/content-keys.ts";
import { fileKeyRing, fixedKeyRing, parseKeys, RING_KEYS_MAX } from "./key-ring.ts";

const silent = { debug() {}, info() {}, warn() {}, error() {} };

describe("keys as text", () => {
  test("are read in base64, base64url and hex, with commas or line breaks, and comments", () => {
    const bytes = randomBytes(32);
    const same = (["base64", "base64url", "hex"] as const).map((encoding) => parseKeys(bytes.toString(encoding))[0]?.id);
    expect(new Set(same).size).toBe(1);
    expect(parseKeys(`# of May\n${aContentKey()} # the present one\n\n${aContentKey()}, ${aContentKey()}\n`)).toHaveLength(3);
  });

  const unfit = (place: number, characters: number) =>
    `key ${place} must be 32 bytes in base64 or hex, and has ${characters} characters: make one with \`openssl rand -base64 32\``;
  const hex = "0f".repeat(32);
  test.each([
    ["", "has no key: make one with `openssl rand -base64 32`"],
    [" \n,, # only a comment", "has no key: make one with `openssl rand -base64 32`"],
    [randomBytes(31).toString("base64"), unfit(1, 44)],
    [randomBytes(33).toString("base64"), unfit(1, 44)],
    [`${aContentKey()},short`, unfit(2, 5)],
    [`${hex}0`, unfit(1, 65)],
    [`x${hex}`, unfit(1, 65)],
    [hex.slice(1), unfit(1, 63)],
    [`${aContentKey()}=`, unfit(1, 45)],
    [`.${aContentKey()}`, unfit(1, 45)],
    ["x".repeat(1_000_000), unfit(1, 1_000_000)],
  ])("that are invalid are refused by their position (%#)", (text, problem) => {
    expect(() => parseKeys(text)).toThrow(new TypeError(problem));
  });

  test("have the id under which Redis refers to them, in every encoding", () => {
    const bytes = Buffer.alloc(32, 7);
    const written = [bytes.toString("hex"), bytes.toString("base64"), bytes.toString("base64url")];
    expect(written.map((text) => parseKeys(text)[0]?.id)).toEqual(["e5eSxX8a", "e5eSxX8a", "e5eSxX8a"]);
    const upper = Buffer.alloc(32, 0xab).toString("hex").toUpperCase();
    expect(parseKeys(upper)[0]?.id).toBe(parseKeys(upper.toLowerCase())[0]?.id);
  });

  test("that are invalid are never shown", () => {
    const secret = randomBytes(31).toString("base64");
    const message = () => {
      try {
        parseKeys(secret);
      } catch (error) {
        return String(error);
      }
      return undefined;
    };
    expect(message()).toContain("32 bytes");
    expect(message()).not.toContain(secret.slice(0, 8));
  });

  test("are each present once, and limited in number", () => {
    const key = aContentKey();
    expect(() => parseKeys(`${aContentKey()},${key},${key}`)).toThrow("key 3 appears twice");
    const many = Array.from({ length: RING_KEYS_MAX + 1 }, aContentKey);
    expect(parseKeys(many.slice(1).join())).toHaveLength(RING_KEYS_MAX);
    expect(() => parseKeys(many.join())).toThrow(`has ${RING_KEYS_MAX + 1} keys; a ring has at most ${RING_KEYS_MAX}`);
  });
});

describe("a key ring", () => {
  test("wraps with its first key, and unwraps with each, only in the context in which it was wrapped", async () => {
    const [older, newer] = [aContentKey(), aContentKey()];
    const dataKey = randomBytes(32);
    const wrapped = await fixedKeyRing(older).wrap(dataKey, "a tenant's");
    const ring = fixedKeyRing(`${newer},${older}`);
    expect(await ring.unwrap(wrapped, "a tenant's")).toEqual(dataKey);
    expect(await ring.unwrap(wrapped, "another's")).toBeUndefined();
    expect(await fixedKeyRing(newer).unwrap(wrapped, "a tenant's")).toBeUndefined();
    expect(await ring.unwrap({ ...wrapped, wrapped: "" }, "a tenant's")).toBeUndefined();
    for (const text of [wrapped.wrapped.slice(0, 20), `${wrapped.wrapped.slice(0, -1)}${wrapped.wrapped.endsWith("A") ? "Q" : "A"}`])
      expect(await ring.unwrap({ ...wrapped, wrapped: text }, "a tenant's")).toBeUndefined();
    expect((await ring.wrap(dataKey, "")).keyId).toBe(await fixedKeyRing(newer).currentKeyId());
  });

  test("opens what earlier versions have wrapped", async () => {
    const ring = fixedKeyRing(Buffer.alloc(32, 7).toString("hex"));
    const wrapped = "z1YgWWipGqVBcTbQ-6-XXymnsySKFPIRAgd2WoFtwT-5R-DL3w2dk38R9iJHFLcEd6lfkq_pORt334fU";
    expect(await ring.unwrap({ keyId: "e5eSxX8a", wrapped }, "parley data key abcd tenant")).toEqual(Buffer.alloc(32, 9));
  });

  test("wraps differently each time", async () => {
    const ring = fixedKeyRing(aContentKey());
    const wrapped = [await ring.wrap(randomBytes(32), ""), await ring.wrap(randomBytes(32), "")];
    expect(wrapped[0]!.wrapped.slice(0, 16)).not.toBe(wrapped[1]!.wrapped.slice(0, 16));
    expect(wrapped.map((each) => Buffer.from(each.wrapped, "base64url").length)).toEqual([60, 60]);
  });

  describe("in a file", () => {
    let folder = "";
    let file = "";
    const logged = vi.fn();
    const log = { ...silent, error: logged };
    const dataKey = Buffer.from("a data key");
    beforeEach(async () => {
      logged.mockClear();
      folder = await mkdtemp(join(tmpdir(), "parley-ring-"));
      file = join(folder, "ring");
    });
    afterEach(() => rm(folder, { recursive: true }));

    test("has a key as soon as it is written, however recently the file was read", async () => {
      const [older, newer] = [aContentKey(), aContentKey()];
      await writeFile(file, older);
      const ring = await fileKeyRing(file, log);
      const wrapped = await fixedKeyRing(newer).wrap(dataKey, "");
      expect(await ring.unwrap(wrapped, "")).toBeUndefined();
      await writeFile(file, newer);
      expect(await Promise.all([ring.unwrap(wrapped, ""), ring.unwrap(wrapped, "")])).toEqual([dataKey, dataKey]);
      expect(await ring.currentKeyId()).toBe(await fixedKeyRing(newer).currentKeyId());
    });

    test("is read again for a missing key, and before its first key is used; until then it opens what it opened", async () => {
      const [older, newer] = [aContentKey(), aContentKey()];
      await writeFile(file, older);
      const ring = await fileKeyRing(file, log);
      const wrapped = await ring.wrap(dataKey, "");
      await writeFile(file, newer);
      expect(await ring.unwrap(wrapped, "")).toEqual(dataKey);
      await ring.currentKeyId();
      expect(await ring.unwrap(wrapped, "")).toBeUndefined();
    });

    test("may be replaced by another file, as mounted secrets are", async () => {
      const keys = [aContentKey(), aContentKey()];
      for (const [index, key] of keys.entries()) await writeFile(join(folder, `version ${index}`), key);
      await symlink("version 0", file);
      const ring = await fileKeyRing(file, log);
      await symlink("version 1", `${file}.next`);
      await rename(`${file}.next`, file);
      expect(await ring.currentKeyId()).toBe(await fixedKeyRing(keys[1]!).currentKeyId());
    });

    test("stays as it was while the file is invalid or missing, which is logged once", async () => {
      const [older, newer] = [aContentKey(), aContentKey()];
      await writeFile(file, older);
      const ring = await fileKeyRing(file, log);
      const isOlder = async () => (await ring.currentKeyId()) === (await fixedKeyRing(older).currentKeyId());
      await writeFile(file, "half a k");
      expect([await isOlder(), await isOlder()]).toEqual([true, true]);
      await rm(file);
      expect([await isOlder(), await isOlder()]).toEqual([true, true]);
      expect(logged.mock.calls).toEqual([
        [{ file, problem: expect.stringContaining("key 1 must be 32 bytes") as string }, "key ring cannot be read again"],
        [{ file, problem: "ENOENT" }, "key ring cannot be read again"],
      ]);
      await writeFile(file, newer);
      expect(await isOlder()).toBe(false);
    });
  });
});
