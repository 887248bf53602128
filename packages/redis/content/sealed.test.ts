import { createSecretKey, randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { type Access, plainContent } from "./codec.ts";
import { createSealedContent } from "./sealed.ts";

const TASK = `0-abcd-${"t".repeat(22)}`;
const OTHER = `0-abcd-${"u".repeat(22)}`;
const PLAIN = `0-${"t".repeat(22)}`;

/** One key for each word. */
function sealedContent() {
  const key = createSecretKey(randomBytes(32));
  return createSealedContent({ words: async () => [], find: () => "open", key: () => key });
}

describe("the encrypting codec", () => {
  test("returns a different text each time, 28 bytes longer, and opens each", () => {
    const content = sealedContent().of(TASK);
    for (const text of ["", "a", "\ufeff☃ a\nb\u0000", "x".repeat(10_000)]) {
      const sealed = [content.seal("message", text), content.seal("message", text)];
      expect(sealed[0]).not.toBe(sealed[1]);
      expect(sealed[0]).toHaveLength(Buffer.byteLength(text) + 28);
      expect(sealed.map((each) => content.open("message", each))).toEqual([text, text]);
      const word = content.sealWord("seed", text);
      expect(word).toMatch(/^[\w-]+$/);
      expect(content.openWord("seed", word)).toBe(text);
    }
  });

  test("never uses a nonce twice, over several fetches of random bytes", () => {
    const content = sealedContent().of(TASK);
    const nonces = Array.from({ length: 2_000 }, () => content.seal("message", "a").slice(0, 12));
    expect(new Set(nonces).size).toBe(nonces.length);
  });

  test.each([
    ["another task's", OTHER, "message"],
    ["another part's", TASK, "outcome"],
  ])("opens nothing as %s", (_whose, taskId, part) => {
    const codec = sealedContent();
    const sealed = codec.of(TASK).seal("message", "a");
    expect(() => codec.of(taskId).open(part, sealed)).toThrow(/does not open/);
  });

  test("opens nothing that was sealed with another key, truncated, or not ciphertext, and its error repeats none of it", () => {
    const content = sealedContent().of(TASK);
    const sealed = content.seal("message", "a secret");
    for (const wrong of [sealedContent().of(TASK).seal("message", "a secret"), sealed.slice(0, -1), sealed.slice(0, 27), "", "a secret"]) {
      expect(() => content.open("message", wrong)).toThrow('the content "message" does not open');
    }
  });

  test("has other names for an audience, and says so, once a key opens that did not", async () => {
    const key = createSecretKey(randomBytes(32));
    let find = (): Access | Promise<Access> => "key_missing";
    const codec = createSealedContent({
      words: async () => ["old1", "new2"],
      find: (word) => (word === "old1" ? "open" : find()),
      key: () => key,
    });
    expect([(await codec.lookUps("acme")).length, await codec.lookUpsVersion("acme")]).toEqual([2, "old1"]);
    // The key service does not respond: who hears of events goes on with the names that are known.
    find = () => Promise.reject(new Error("away"));
    expect(await codec.lookUpsVersion("acme")).toBe("old1");
    find = () => "open";
    expect([(await codec.lookUps("acme")).length, await codec.lookUpsVersion("acme")]).toEqual([3, "old1 new2"]);
  });

  test("opens what earlier versions have sealed, and computes the same fingerprints and digests", () => {
    const key = createSecretKey(Buffer.alloc(32, 7));
    const codec = createSealedContent({ words: async () => [], find: () => "open", key: () => key });
    const content = codec.of(TASK);
    const sealed = Buffer.from("r0KfKNABX2qElFuFXHWTNaVVwtFAZPGIl2YOAAG1dCmeSo490A4", "base64url").toString("latin1");
    expect(content.open("message", sealed)).toBe("Almost ☃");
    expect(content.openWord("seed", "slEEiiwPy43qjMDSzHN5vLGkkhJXJHRIZP2sj015-A")).toBe("abc");
    expect(content.fingerprint("entry ask:size", "yes")).toBe("U5GrfTH3pJcRCev8vdtrXG");
    expect(codec.digest((text) => text)("Really?", TASK)).toBe("pD0N4uMGbWchIgzPMQZOq0");
  });

  test("asks for the key of the task's word, and reads text in the clear without it", () => {
    const found: string[] = [];
    const codec = createSealedContent({
      words: async () => [],
      find: (word) => {
        found.push(word);
        return "erased";
      },
      key: (word) => void found.push(word),
    });
    expect(codec.encoding).toBe("latin1");
    expect(codec.access(TASK)).toBe("erased");
    expect(codec.access(PLAIN)).toBe("open");
    const content = codec.of(TASK);
    expect(content.fromStored(content.toStored("zoë ☃"))).toBe("zoë ☃");
    expect(content.toStored("ë")).toBe("\u00c3\u00ab");
    expect(found).toEqual(["abcd"]);
    expect(() => content.seal("message", "a")).toThrow(`the key of task ${TASK} is not at hand`);
    expect(found).toEqual(["abcd", "abcd"]);
  });

  test("opens the seed that is stored now, although it keeps the last one that it opened", () => {
    const content = sealedContent().of(TASK);
    const [first, second] = [content.sealWord("seed", "abc"), content.sealWord("seed", "def")];
    const damaged = `${first.startsWith("A") ? "B" : "A"}${first.slice(1)}`;
    for (const [word, seed] of [
      [first, "abc"],
      [first, "abc"],
      [second, "def"],
      [first, "abc"],
    ] as const) {
      expect(content.openWord("seed", word)).toBe(seed);
    }
    expect(() => content.openWord("seed", damaged)).toThrow('the content "seed" does not open');
    expect(() => content.openWord("caller", first)).toThrow('the content "caller" does not open');
    expect(() => content.openWord("seed", damaged)).toThrow('the content "seed" does not open');
    expect(content.fingerprint("owner", "ann")).not.toBe(content.fingerprint("owner", "eve"));
    expect(content.fingerprint("owner", "ann")).toBe(content.fingerprint("owner", "ann"));
  });

  test.each(["entry ask:size", "owner"])("seals with another key as soon as the word has one: %s", (part) => {
    const [first, second] = [createSecretKey(Buffer.alloc(32, 1)), createSecretKey(Buffer.alloc(32, 2))];
    let key = first;
    const codec = createSealedContent({ words: async () => [], find: () => "open", key: () => key });
    const print = () => codec.of(TASK).fingerprint(part, "yes");
    const before = [print(), print()];
    key = second;
    const after = [print(), print()];
    key = first;
    expect([...before, print()]).toEqual(Array.from({ length: 3 }, () => before[0]));
    expect(after).toEqual([after[0], after[0]]);
    expect(after[0]).not.toBe(before[0]);
  });

  test("derives the keys of a task once", () => {
    const key = createSecretKey(Buffer.alloc(32, 1));
    let asked = 0;
    const codec = createSealedContent({
      words: async () => [],
      find: () => "open",
      key: () => {
        asked += 1;
        return key;
      },
    });
    const content = codec.of(TASK);
    content.open("message", content.seal("message", content.fingerprint("message", "a")));
    expect(asked).toBe(1);
  });

  test("leaves a task plain that was created before sealing was on", () => {
    const codec = sealedContent();
    expect(codec.access(PLAIN)).toBe("open");
    const content = codec.of(PLAIN);
    expect(Buffer.from(content.seal("message", "☃"), "latin1").toString()).toBe("☃");
    expect(content.open("message", Buffer.from("☃").toString("latin1"))).toBe("☃");
    expect(content.sealWord("seed", "abc")).toBe("abc");
    expect(content.fingerprint("entry ask:size", "yes")).toBe(plainContent.of(PLAIN).fingerprint("entry ask:size", "yes"));
  });
});

describe("a fingerprint", () => {
  test.each([
    ["sealed", sealedContent(), TASK, OTHER],
    ["plain", plainContent, PLAIN, `0-${"u".repeat(22)}`],
  ])("of %s content is the same for equal answers, and differs by task, question and answer", (...given) => {
    const [, codec, taskId, other] = given;
    const print = (text: string, task = taskId, key = "size") => codec.of(task).fingerprint(`entry ask:${key}`, text);
    expect(print("yes")).toBe(print("yes"));
    expect(print("yes")).toMatch(/^[\w-]{22}$/);
    expect(new Set([print("yes"), print("no"), print("yes", other), print("yes", taskId, "name")]).size).toBe(4);
  });

  test("cannot be computed without the key", () => {
    const prints = [sealedContent(), sealedContent(), plainContent].map((codec) => codec.of(TASK).fingerprint("entry ask:size", "yes"));
    expect(new Set(prints).size).toBe(3);
  });
});

test("the digest of a question is keyed if its task is sealed, differently for each task, and plain otherwise", () => {
  const digest = sealedContent().digest((text) => `plain ${text}`);
  expect(digest("Really?", TASK)).toBe(digest("Really?", TASK));
  expect(digest("Really?", TASK)).toMatch(/^[\w-]{22}$/);
  expect(new Set([digest("Really?", TASK), digest("Really?", OTHER), digest("Really!", TASK)]).size).toBe(3);
  expect(digest("Really?", PLAIN)).toBe("plain Really?");
  expect(digest("Really?")).toBe("plain Really?");
});
