import { writeFileSync } from "node:fs";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Log, Tool } from "@parley/core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openRulesFile, parseRules, RULES_BYTES_MAX, RulesError } from "./rules-file.ts";

const ALLOW = "default: allow\nrules: []\n";
const DENY = "default: deny\nrules: []\n";

let directory: string;
let file: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "parley-rules-"));
  file = join(directory, "rules.yaml");
});
afterEach(() => rm(directory, { recursive: true, force: true }));

/** In one step: a file that is being written may be read when it is empty. */
async function put(text: string): Promise<void> {
  await writeFile(`${file}.new`, text);
  await rename(`${file}.new`, file);
}

function problemsOf(read: () => unknown): readonly string[] {
  try {
    read();
  } catch (error) {
    if (error instanceof RulesError) return error.problems;
    throw error;
  }
  return [];
}

test("JSON is read as well, and a byte order mark is no part of it", () => {
  expect(parseRules("f", '\uFEFF{ "default": "deny", "rules": [] }').isDryRun).toBe(false);
});

test.each<[string, string, RegExp]>([
  ["half of a file", "default: allow\nrules: [{ name: a", /^is not YAML: /],
  ["an empty file", "", /^the file: /],
  ["a list", "- a", /^the file: /],
  ["a key that stands twice", "default: allow\ndefault: deny\nrules: []", /^is not YAML: .*unique/],
  ["a tag", "default: !!js/function x\nrules: []", /^is not YAML: /],
])("%s is refused with what is wrong", (_, text, problem) => {
  expect(problemsOf(() => parseRules("f", text))[0]).toMatch(problem);
});

test("a file may have as many characters as the bound, and not one more", () => {
  const padded = (length: number) => ALLOW + "#".repeat(length - ALLOW.length);
  expect(problemsOf(() => parseRules("f", padded(RULES_BYTES_MAX)))).toEqual([]);
  expect(problemsOf(() => parseRules("f", padded(RULES_BYTES_MAX + 1)))).toEqual([`has more than ${RULES_BYTES_MAX} characters`]);
});

test("a process does not start without its rules", () => {
  expect(problemsOf(() => openRulesFile(file))).toEqual(["cannot be read (ENOENT)"]);
});

test("a change takes effect; what is invalid, or gone, leaves the last valid rules in effect and is logged once", async () => {
  const logged: string[] = [];
  const log = {
    debug() {},
    info: (_: object, text: string) => void logged.push(text),
    warn() {},
    error: (_: object, text: string) => void logged.push(text),
  };
  await put(ALLOW);
  const rules = openRulesFile(file);
  const versions: string[] = [];
  const stop = rules.watch({ log: log as unknown as Log, everyMs: 10, changed: ({ version }) => void versions.push(version) });
  const verdict = () => rules.current().decide({ name: "x" } as Tool, {}, { principal: "ada" }).type;
  try {
    expect(verdict()).toBe("allow");
    await put(DENY);
    await expect.poll(verdict).toBe("deny");
    await put("default: allow\nrules: [");
    await expect.poll(() => logged.length).toBe(2);
    await rm(file);
    await expect.poll(() => logged.length).toBe(3);
    expect(verdict()).toBe("deny");
    await put(ALLOW);
    await expect.poll(verdict).toBe("allow");
    expect(logged).toEqual([
      "rules for approvals have changed",
      "rules for approvals are invalid, the last valid ones stay in effect",
      "rules for approvals are invalid, the last valid ones stay in effect",
      "rules for approvals have changed",
    ]);
    expect(versions).toEqual([DENY, ALLOW].map((text) => parseRules("f", text).version));
  } finally {
    stop();
  }
});

test("what one reading finds, and the next does not, never takes effect: half of a file may be valid", async () => {
  let parsed = 0;
  const options = {
    get askTimeoutMaxMs() {
      parsed += 1;
      // While the new file is read for the first time, it changes again.
      if (parsed > 1) writeFileSync(file, parsed % 2 === 0 ? ALLOW : DENY);
      return 86_400_000;
    },
  };
  const told: unknown[] = [];
  const log = { info: (_: object, text: string) => void told.push(text), error: (_: object, text: string) => void told.push(text) };
  await put(ALLOW);
  const rules = openRulesFile(file, options);
  const before = rules.current().version;
  const stop = rules.watch({ log: log as unknown as Log, everyMs: 5, changed: (now) => void told.push(now) });
  try {
    await put(DENY);
    await expect.poll(() => parsed).toBeGreaterThan(6);
    expect([rules.current().version, told]).toEqual([before, []]);
  } finally {
    stop();
  }
});

test("a file that stays as it is is parsed once, also if it is invalid", async () => {
  let parsed = 0;
  const options = {
    get askTimeoutMaxMs() {
      parsed += 1;
      return 86_400_000;
    },
  };
  const problems: string[] = [];
  const log = { info() {}, error: (_: object, text: string) => void problems.push(text) };
  await put(ALLOW);
  const rules = openRulesFile(file, options);
  const once = parsed;
  const stop = rules.watch({ log: log as unknown as Log, everyMs: 5 });
  try {
    await sleep(100);
    expect(parsed).toBe(once);
    await put("default: deny\nrules: [{ name: 1 }]\n");
    await expect.poll(() => problems.length).toBe(1);
    const twice = parsed;
    await sleep(100);
    expect([parsed, problems.length]).toEqual([twice, 1]);
    // Gone and back again, it is told again.
    await rm(file);
    await expect.poll(() => problems.length).toBe(2);
    await put("default: deny\nrules: [{ name: 1 }]\n");
    await expect.poll(() => problems.length).toBe(3);
    await put(DENY);
    await expect.poll(() => rules.current().version).toBe(parseRules("f", DENY).version);
  } finally {
    stop();
  }
});
