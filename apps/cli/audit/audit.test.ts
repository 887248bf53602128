/** Files of audit records: exported from a trail, verified offline, and anchored by a signature. */
import { spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { appendFile, mkdtemp, readFile, rename, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { canonicalJson } from "@parley/core";
import type { StoredRecord } from "@parley/redis";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { type Head, hashOf } from "./chain.ts";
import { readCheckpoint, signCheckpoint } from "./checkpoint.ts";
import { FileChanged, openExport } from "./export.ts";
import { LINE_MAX, PROBLEMS_MAX, verifyFiles } from "./verify.ts";

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "parley-audit-"));
  file = join(folder, "audit.jsonl");
});
afterEach(() => rm(folder, { recursive: true }));

/** The records in Redis, by partition. */
function aTrail(...counts: readonly number[]) {
  const streams = counts.map((count) => Array.from({ length: count }, (_, i) => aRecord(i + 1)));
  return {
    streams,
    read: async (partition: number, after: number, count: number) =>
      (streams[partition] ?? []).filter(({ number }) => number > after).slice(0, count),
  };
}

function aRecord(number: number): StoredRecord {
  return { number, atMs: 1_000 + number, verdict: "accepted", fact: { action: "answer", principal: "zoë ☃", ask: `q${number}` } };
}

async function take(trail: ReturnType<typeof aTrail>, { to = file, after = [] as string[] } = {}): Promise<number> {
  const exporter = await openExport({ trail, partitions: trail.streams.map((_, p) => p), file: to, after, now: () => 9_999 });
  try {
    return await exporter.take();
  } finally {
    await exporter.close();
  }
}

/** Two exports by a process that may write 64 kB to a file: the second one meets a file that is as full as it was. */
const FILLS_ITS_DISK = `
  import { text } from "node:stream/consumers";
  import { openExport } from ${JSON.stringify(new URL("export.ts", import.meta.url).href)};
  process.on("SIGXFSZ", () => undefined);
  const { file, records } = JSON.parse(await text(process.stdin));
  const read = async (_, after, count) => records.filter(({ number }) => number > after && number <= after + 50).slice(0, count);
  const exporter = await openExport({ trail: { read }, partitions: [0], file, after: [], now: () => 9_999 });
  for (let take = 0; take < 10; take += 1) {
    await exporter.take().catch(({ code }) => process.stderr.write(code + "\\n"));
  }
`;

const lines = async () => (await readFile(file, "utf8")).trimEnd().split("\n");
const rewrite = (changed: readonly string[]) => writeFile(file, changed.map((line) => `${line}\n`).join(""));
const problems = async (...files: string[]) =>
  (await verifyFiles(files.length > 0 ? files : [file])).problems.map(({ line, says }) => `${line}: ${says}`);

describe("an export", () => {
  test("is intact, and continues where the file ends, however often it is started", async () => {
    const trail = aTrail(3, 2);
    expect(await take(trail)).toBe(5);
    expect(await take(trail)).toBe(0);
    trail.streams[0]?.push(aRecord(4));
    expect(await take(trail)).toBe(1);
    expect(await verifyFiles([file])).toMatchObject({ records: 6, problems: [] });
    expect(JSON.parse((await lines())[0] ?? "")).toMatchObject({
      p: 0,
      n: 1,
      at: 1_001,
      verdict: "accepted",
      principal: "zoë ☃",
      ask: "q1",
    });
  });

  test("is intact with any characters in a record", async () => {
    const trail = aTrail(2);
    trail.streams[0]?.push({ ...aRecord(3), fact: { action: "call", toolVersion: "2\u2028\u2029\u0085\r\n3" } });
    await take(trail);
    trail.streams[0]?.push(aRecord(4));
    expect(await take(trail)).toBe(1);
    expect(await verifyFiles([file])).toMatchObject({ records: 4, problems: [] });
  });

  test("exports more than one batch", async () => {
    expect(await take(aTrail(2_001))).toBe(2_001);
    expect(await verifyFiles([file])).toMatchObject({ records: 2_001, problems: [] });
  });

  test("cuts off a line that a crash left unfinished, and exports it again", async () => {
    const trail = aTrail(3);
    await take(trail);
    const whole = await readFile(file, "utf8");
    await writeFile(file, whole.slice(0, -20));
    expect(await take(trail)).toBe(1);
    expect(await readFile(file, "utf8")).toBe(whole);
    await writeFile(file, whole.slice(0, 20));
    expect(await take(trail)).toBe(3);
    expect(await readFile(file, "utf8")).toBe(whole);
  });

  test("continues the chains of the files before it", async () => {
    const trail = aTrail(2);
    await take(trail);
    trail.streams[0]?.push(aRecord(3));
    const next = join(folder, "next.jsonl");
    expect(await take(trail, { to: next, after: [file] })).toBe(1);
    expect(await problems(file, next)).toEqual([]);
    expect(await problems(next, file)).not.toEqual([]);
    expect(await problems(next)).toEqual(["1: record 3 of partition 0 does not follow the beginning: records 1 to 2 are missing here"]);
  });

  test("reports records that were deleted before it could export them, and a deleted stream", async () => {
    const trail = aTrail(2);
    await take(trail);
    trail.streams[0]?.splice(0, 2, aRecord(5), aRecord(6));
    expect(await take(trail)).toBe(2);
    trail.streams[0]?.splice(0, 2, aRecord(1));
    expect(await take(trail)).toBe(1);
    expect(await problems()).toEqual([
      "3: records 3 to 4 of partition 0 were lost before they were exported",
      "6: the stream of partition 0 restarted after record 6: it was deleted in Redis, or lost its newest records",
    ]);
  });

  test.each([
    ["as many", 3],
    ["more", 4],
    ["fewer", 1],
  ])("says that a stream lost its newest records, as by a failover, and takes those that came instead: %s", async (_, count) => {
    const trail = aTrail(5);
    await take(trail);
    const instead = Array.from({ length: count }, (__, i) => ({ ...aRecord(3 + i), atMs: 2_000 + i }));
    trail.streams[0]?.splice(2, 3, ...instead);
    expect(await take(trail)).toBe(2 + count);
    expect(await take(trail)).toBe(0);
    expect(await problems()).toEqual([
      "6: the stream of partition 0 restarted after record 5: it was deleted in Redis, or lost its newest records",
    ]);
    const taken = (await lines()).map((line) => (JSON.parse(line) as { at: number }).at);
    expect(taken).toEqual(expect.arrayContaining(instead.map(({ atMs }) => atMs)));
  });

  test("cuts off a line that a full disk took only partly, and exports it again when there is room", async () => {
    const trail = aTrail(400);
    const child = spawn("bash", ["-c", 'ulimit -f 64; exec "$0" "$@"', process.execPath, "--input-type=module", "-e", FILLS_ITS_DISK]);
    const said: string[] = [];
    child.stderr.on("data", (chunk: Buffer) => said.push(chunk.toString()));
    child.stdin.end(JSON.stringify({ file, records: trail.streams[0] }));
    await once(child, "close");
    expect(said.join("")).toMatch(/^EFBIG[^]*EFBIG/);
    expect(await problems()).toEqual([]);
    const whole = (await verifyFiles([file])).records;
    expect(await take(trail)).toBe(400 - whole);
    expect(await verifyFiles([file])).toMatchObject({ records: 400, problems: [] });
  });

  describe("stops", () => {
    async function running() {
      const trail = aTrail(3);
      const exporter = await openExport({ trail, partitions: [0], file, after: [], now: () => 9_999 });
      onTestFinished(() => exporter.close());
      await exporter.take();
      trail.streams[0]?.push(aRecord(4));
      return { trail, exporter };
    }

    test.each([
      ["moved", () => rename(file, join(folder, "audit.jsonl.1")), /was moved or removed/],
      ["removed", () => rm(file), /was moved or removed/],
      ["replaced", async () => (await rm(file), await writeFile(file, "")), /was moved or removed/],
      ["truncated", () => truncate(file), /was truncated/],
      ["written by a second exporter", () => appendFile(file, "{}\n"), /another process writes to .*: run one exporter/],
    ])("when its file was %s, and writes nothing", async (_, change, says) => {
      const { exporter } = await running();
      await change();
      const before = await readFile(file, "utf8").catch(() => undefined);
      await expect(exporter.take()).rejects.toThrow(says);
      await expect(exporter.take()).rejects.toThrow(FileChanged);
      expect(await readFile(file, "utf8").catch(() => undefined)).toBe(before);
    });

    test("where a second exporter has exported the same, and the file stays intact", async () => {
      const { trail, exporter } = await running();
      await take(trail);
      await expect(exporter.take()).rejects.toThrow(/another process writes to/);
      expect(await verifyFiles([file])).toMatchObject({ records: 4, problems: [] });
    });
  });

  test("refuses to continue after a broken record", async () => {
    const trail = aTrail(3);
    await take(trail);
    const [first = "", , third = ""] = await lines();
    await rewrite([first, third]);
    await expect(take(trail)).rejects.toThrow(/audit.jsonl:2: record 3 of partition 0 does not follow record 1.*Export to a new file/);
  });
});

describe("verification finds", () => {
  beforeEach(async () => {
    await take(aTrail(5, 3));
  });
  const changing = (change: (all: string[]) => string[]) => async () => rewrite(change(await lines()));
  const forged = (line: string, change: object) => {
    const { hash: _, ...rest } = { ...(JSON.parse(line) as object), ...change } as Record<string, never>;
    return canonicalJson({ ...rest, hash: hashOf(rest) });
  };

  test.each([
    [
      "a record that was changed",
      (all: string[]) => all.with(1, all[1]?.replace("accepted", "declined") ?? ""),
      ["2: record 2 of partition 0 was changed: its hash does not match"],
    ],
    [
      "one that was changed and given a new hash",
      (all: string[]) => all.with(1, forged(all[1] ?? "", { verdict: "late" })),
      ["3: record 3 of partition 0 does not follow record 2: the record before it was changed or replaced"],
    ],
    [
      "one that was dropped",
      (all: string[]) => all.toSpliced(2, 1),
      ["3: record 4 of partition 0 does not follow record 2: records 3 to 3 are missing here"],
    ],
    [
      "the first, dropped",
      (all: string[]) => all.toSpliced(0, 1),
      ["1: record 2 of partition 0 does not follow the beginning: records 1 to 1 are missing here"],
    ],
    [
      "one that was there twice",
      (all: string[]) => all.toSpliced(2, 0, all[1] ?? ""),
      ["3: record 2 of partition 0 does not follow record 2: records were reordered or inserted"],
    ],
    [
      "a member that was written twice",
      (all: string[]) => all.with(0, all[0]?.replace('"n":1', '"n":7,"n":1') ?? ""),
      ["1: record 1 of partition 0 was changed: its hash does not match"],
    ],
    ["a line that is no JSON", (all: string[]) => all.with(4, "{"), ["5: is not JSON: the line was changed, or cut off"]],
    ["a line that is no record", (all: string[]) => [...all, "null"], ["9: is not an audit record: it lacks p, n, prev or hash"]],
    [
      "a line that is longer than any record",
      (all: string[]) => [...all, "x".repeat(LINE_MAX + 1)],
      [`9: is not an audit record: it has ${LINE_MAX + 1} characters, and none has more than ${LINE_MAX}`],
    ],
  ])("%s, and says where", async (_what, change, expected) => {
    await changing(change)();
    expect(await problems()).toEqual(expected);
  });

  test("two records that changed places", async () => {
    await changing((all) => all.with(1, all[2] ?? "").with(2, all[1] ?? ""))();
    expect((await problems()).map((says) => says.slice(0, 2))).toEqual(["2:", "3:", "4:"]);
  });

  test("every single byte that is changed, anywhere", async () => {
    await rm(file);
    await take(aTrail(2));
    const whole = await readFile(file);
    for (let at = 0; at < whole.length; at += 1) {
      const changed = Buffer.from(whole);
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
      await writeFile(file, changed);
      expect(await problems(), `byte ${at}`).not.toEqual([]);
    }
  });

  test("reports problems up to the limit, and none beyond it", async () => {
    for (const count of [PROBLEMS_MAX, PROBLEMS_MAX + 1]) {
      await rewrite(Array.from({ length: count }, () => "{"));
      expect(await problems()).toHaveLength(PROBLEMS_MAX);
    }
  });
});

describe("a checkpoint", () => {
  const pem = async () => {
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    const [priv, pub] = [join(folder, "private.pem"), join(folder, "public.pem")];
    await writeFile(priv, privateKey.export({ type: "pkcs8", format: "pem" }));
    await writeFile(pub, publicKey.export({ type: "spki", format: "pem" }));
    return { priv, pub };
  };

  test("is read with its public key, and refused with another key or after a change", async () => {
    const heads = new Map<number, Head>([[0, { n: 5, hash: "h" }]]);
    const { priv, pub } = await pem();
    const signed = join(folder, "checkpoint.json");
    const checkpoint = await signCheckpoint(heads, priv, new Date(0));
    await writeFile(signed, JSON.stringify(checkpoint));
    expect(await readCheckpoint(signed, pub)).toMatchObject({ heads: { 0: { n: 5, hash: "h" } }, at: "1970-01-01T00:00:00.000Z" });

    await writeFile(signed, JSON.stringify({ ...checkpoint, heads: { 0: { n: 4, hash: "h" } } }));
    await expect(readCheckpoint(signed, pub)).rejects.toThrow(/was not signed by the key/);
    await writeFile(signed, JSON.stringify(checkpoint));
    const other = await pem();
    await expect(readCheckpoint(signed, other.pub)).rejects.toThrow(/was not signed by the key/);
    // Another file, or one that was cut off.
    for (const text of ["{}", "null", "-----BEGIN PUBLIC KEY-----", JSON.stringify(checkpoint).slice(0, -9)]) {
      await writeFile(signed, text);
      await expect(readCheckpoint(signed, pub)).rejects.toThrow(`${signed} is not an audit checkpoint`);
    }
  });

  test("requires an Ed25519 key", async () => {
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const key = join(folder, "rsa.pem");
    await writeFile(key, privateKey.export({ type: "pkcs8", format: "pem" }));
    await expect(signCheckpoint(new Map(), key, new Date())).rejects.toThrow(/must hold an Ed25519 key/);
  });

  test("finds an end that was cut off, and a chain that was rewritten from the beginning", async () => {
    await take(aTrail(5));
    const { heads } = await verifyFiles([file]);
    const wanted = new Set(["0 5"]);
    const signed = heads.get(0)?.hash;
    const isFound = async () => (await verifyFiles([file], wanted)).found.get("0 5")?.has(String(signed));
    expect(await isFound()).toBe(true);

    const whole = await lines();
    await rewrite(whole.slice(0, 4));
    expect(await verifyFiles([file], wanted)).toMatchObject({ problems: [], found: new Map() });
    await rm(file);
    const other = aTrail(5);
    other.streams[0]?.splice(0, 1, { ...aRecord(1), verdict: "declined" });
    await take(other);
    expect(await problems()).toEqual([]);
    expect(await isFound()).toBe(false);
  });

  test("still holds for a chain in which its record comes again, since Redis lost newer ones", async () => {
    const trail = aTrail(5);
    await take(trail);
    const { heads } = await verifyFiles([file]);
    trail.streams[0]?.push(aRecord(6));
    await take(trail);
    trail.streams[0]?.pop();
    await take(trail);
    const { found } = await verifyFiles([file], new Set(["0 5"]));
    expect(found.get("0 5")?.size).toBe(2);
    expect(found.get("0 5")).toContain(heads.get(0)?.hash);
  });
});

test("a file that was appended to manually is distinguished from an exported one", async () => {
  await take(aTrail(1));
  await appendFile(file, `${canonicalJson({ action: "answer", n: 2, p: 0, prev: "x", hash: "y" })}\n`);
  expect(await problems()).toHaveLength(2);
});
