/** A global that does not exist fails a script where it is read, which may be a path that is seldom taken. Here each script is looked through as Lua compiles it. */
import { globSync } from "node:fs";
import { dirname } from "node:path";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { openTestRedis } from "../../../test/support/redis.ts";
import { loadScripts } from "./load-scripts.ts";
import { SHARED_BY_TASKS } from "./scripts.ts";

/** What Lua and Redis give to all scripts, of what these use. */
const GIVEN = new Set("KEYS ARGV redis cjson string table math ipairs next pairs pcall tonumber tostring type unpack".split(" "));

/** By folder: what its scripts are loaded behind. */
const SHARED: Readonly<Record<string, readonly string[]>> = { "": SHARED_BY_TASKS, "limit/": ["limit"], "session/": ["session"] };

const shared = new Set(Object.entries(SHARED).flatMap(([folder, parts]) => parts.map((part) => folder + part)));
const scripts = globSync("**/*.lua", { cwd: import.meta.dirname })
  .map((path) => path.slice(0, -".lua".length))
  .filter((path) => !shared.has(path));

const redis = openTestRedis();
afterAll(() => redis.close());

/** The text of a script with what it is loaded behind. */
function textOf(path: string): string {
  const folder = dirname(path) === "." ? "" : `${dirname(path)}/`;
  const define = vi.spyOn(redis.redis, "defineCommand");
  onTestFinished(() => define.mockRestore());
  loadScripts(redis.redis, { names: [path.slice(folder.length)], folder, shared: SHARED[folder] ?? [], keyCount: () => 1 });
  return String(define.mock.lastCall?.[1].lua);
}

/** Names of the globals that the script reads or writes, also in functions that are never called. */
async function globalsOf(text: string): Promise<Set<string>> {
  const load =
    "local script, problem = loadstring(ARGV[1]) if not script then return redis.error_reply(problem) end return string.dump(script)";
  const dumped = await redis.redis.callBuffer("EVAL", load, "0", text);
  return globalsIn(dumped as Buffer);
}

/** Reads what `string.dump` of Lua 5.1 writes for a machine with words of eight bytes (ldump.c). */
function globalsIn(dump: Buffer): Set<string> {
  const HEADER = [0x1b, ...Buffer.from("Lua"), 0x51, 0, 1, 4, 8, 4, 8, 0];
  const [GETGLOBAL, SETGLOBAL] = [5, 7];
  expect([...dump.subarray(0, HEADER.length)]).toEqual(HEADER);
  const globals = new Set<string>();
  let at = HEADER.length;
  const skip = (bytes: number) => (at += bytes);
  const int = () => dump.readInt32LE(skip(4) - 4);
  const word = () => {
    const length = Number(dump.readBigUInt64LE(skip(8) - 8));
    return dump.toString("latin1", at, skip(length) - Math.min(length, 1));
  };
  const times = <T>(read: () => T): T[] => Array.from({ length: int() }, read);
  /** nil, false or true, a number, a text. */
  const constant = () => {
    const type = dump[skip(1) - 1];
    if (type === 4) return word();
    skip(type === 3 ? 8 : (type ?? 0));
    return "";
  };
  const fun = (): void => {
    word();
    skip(4 + 4 + 4);
    const code = times(() => dump.readUInt32LE(skip(4) - 4));
    const constants = times(constant);
    for (const instruction of code)
      if ([GETGLOBAL, SETGLOBAL].includes(instruction & 0x3f)) globals.add(constants[instruction >>> 14] ?? "");
    times(fun);
    times(int);
    times(() => [word(), int(), int()]);
    times(word);
  };
  fun();
  expect(at).toBe(dump.length);
  return globals;
}

test("globals are found in functions that are never called, and are told from names of the parts around them", async () => {
  const text =
    "local known local function never() if known then missing = other(known, 'text', 1.5, nil, true) end end return (function() return type(never) end)()";
  expect([...(await globalsOf(text))].toSorted()).toEqual(["missing", "other", "type"]);
});

test.each(scripts)("%s.lua uses only what is declared before it, or is Lua's or Redis' own", async (path) => {
  expect([...(await globalsOf(textOf(path)))].filter((name) => !GIVEN.has(name))).toEqual([]);
});
