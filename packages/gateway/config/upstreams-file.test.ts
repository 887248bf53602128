/** The file of upstreams when it changes while a process is running. */
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { until } from "../../../test/support/until.ts";
import type { Upstream } from "./upstreams.ts";
import { openUpstreamsFile } from "./upstreams-file.ts";

let directory: string;
let file: string;
let seen: (readonly Upstream[])[];
let logged: { readonly problems?: readonly string[] }[];
let stop: () => void;

const write = (upstreams: readonly object[]) => writeFileSync(file, JSON.stringify({ upstreams }));
const a = (rest: object = {}) => ({ name: "a", url: "https://a.example.com", ...rest });

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "parley-upstreams-"));
  file = join(directory, "up.json");
  [seen, logged] = [[], []];
});
afterEach(() => {
  stop();
  rmSync(directory, { recursive: true });
});

function watching(upstreams: readonly object[], path = file): readonly Upstream[] {
  write(upstreams);
  const opened = openUpstreamsFile(path, { environment: {} });
  const keep = (fields: object) => void logged.push(fields);
  const log = { debug: () => undefined, info: () => undefined, warn: keep, error: keep };
  stop = opened.watch({ log, everyMs: 5, onChange: (changed) => void seen.push(changed) });
  return opened.upstreams;
}

test("a change is reported with all upstreams of the file, and unchanged ones keep their fingerprint", async () => {
  const [before] = watching([a()]);
  write([a(), { name: "b", url: "https://b.example.com" }]);
  await until(() => seen.length === 1);
  expect(seen[0]?.map(({ name }) => name)).toEqual(["a", "b"]);
  expect(seen[0]?.[0]?.fingerprint).toBe(before?.fingerprint);
  write([a({ callTimeout: "1m" })]);
  await until(() => seen.length === 2);
  expect(seen[1]?.[0]?.fingerprint).not.toBe(before?.fingerprint);
});

test("another credential in a file that it refers to is a change", async () => {
  const secret = join(directory, "secret");
  writeFileSync(secret, "one");
  watching([a({ headers: { "x-key": `\${file:${secret}}` } })]);
  writeFileSync(secret, "two");
  await until(() => seen.length === 1);
  expect(seen[0]?.[0]?.reached).toMatchObject({ headers: { "x-key": "two" } });
});

test("invalid content changes nothing, and its problems are reported once", async () => {
  watching([a()]);
  write([a({ colour: "red" }), a()]);
  await until(() => logged.length > 0);
  expect(logged[0]?.problems?.join()).toContain("colour");
  // The next valid change is seen, so the file was read again in between.
  write([a({ callTimeout: "1m" })]);
  await until(() => seen.length === 1);
  expect(logged).toHaveLength(1);
});

test("a file that is replaced by renaming, and one that is reached by links that are exchanged, are read like one that is written", async () => {
  const [versions, linked] = [join(directory, "versions"), join(directory, "linked.json")];
  for (const name of ["one", "two"]) mkdirSync(join(versions, name), { recursive: true });
  // As Kubernetes mounts a ConfigMap.
  writeFileSync(join(versions, "one/up.json"), JSON.stringify({ upstreams: [a()] }));
  writeFileSync(join(versions, "two/up.json"), JSON.stringify({ upstreams: [a({ callTimeout: "1m" })] }));
  symlinkSync("one", join(versions, "data"));
  symlinkSync("versions/data/up.json", linked);
  watching([a()], linked);
  symlinkSync("two", join(versions, "next"));
  renameSync(join(versions, "next"), join(versions, "data"));
  await until(() => seen.length === 1);
  expect(seen[0]).toMatchObject([{ callTimeoutMs: 60_000 }]);
  stop();

  seen = [];
  watching([a()]);
  writeFileSync(`${file}~`, JSON.stringify({ upstreams: [a({ callTimeout: "2m" })] }));
  renameSync(`${file}~`, file);
  await until(() => seen.length === 1);
  expect(seen[0]).toMatchObject([{ callTimeoutMs: 120_000 }]);
  expect(logged).toEqual([]);
});

test("a file that is read while it is written changes nothing until it is whole", async () => {
  vi.useFakeTimers();
  try {
    file = join(directory, "up.yaml");
    const half = "upstreams:\n  - name: a\n    url: https://a.example.co";
    watching([a()]);
    writeFileSync(file, half);
    await vi.advanceTimersByTimeAsync(5);
    writeFileSync(file, `${half}m/mcp\n`);
    await vi.advanceTimersByTimeAsync(15);
    expect(seen).toMatchObject([[{ reached: { url: "https://a.example.com/mcp" } }]]);
  } finally {
    vi.useRealTimers();
  }
});

test("a file that is missing for a moment changes nothing", async () => {
  watching([a()]);
  rmSync(file);
  await until(() => logged.length > 0);
  expect(logged).toEqual([{ file, problems: ["cannot be read (ENOENT)"] }]);
  expect(seen).toEqual([]);
});
