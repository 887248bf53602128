import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Catalogue } from "@parley/core";
import { afterEach, describe, expect, test, vi } from "vitest";
import { cpuMs } from "../../test/support/cpu-ms.ts";
import { until } from "../../test/support/until.ts";
import { openGate } from "./every-process.ts";
import { readRules, type Rules } from "./rules.ts";
import { unfittingNames, unfittingText } from "./unfitting.ts";

function rulesOf(names: { readonly tools?: readonly string[]; readonly prompts?: readonly string[] }): Rules {
  const content = { default: "allow", rules: [{ name: "a", action: "deny", ...names }] };
  const read = readRules(content);
  if ("problems" in read) throw new Error(read.problems.join("\n"));
  return read;
}

const KNOWN = { tools: ["files_delete", "files_read", "refund"], prompts: ["brief"], unlisted: [] };

describe("a name in a rule that fits nothing is found, and one that fits is not", () => {
  test.each<[string, boolean]>([
    ["refund", true],
    ["refunds", false],
    ["Refund", false],
    ["refun", false],
    ["brief", false],
    ["files_*", true],
    ["files_delet*", true],
    ["files_delete_*", false],
    ["a*", false],
    ["z*", false],
    ["*_read", true],
    ["*fund", true],
    ["*_rea", false],
    ["*", true],
  ])("%s", (name, fits) => {
    const found = unfittingNames(rulesOf({ tools: [name] }), KNOWN);
    expect(found).toEqual(fits ? [] : [{ rule: "a", kind: "tool", name, known: 3 }]);
  });

  test("of prompts as well, and of a rule without names nothing", () => {
    const found = unfittingNames(rulesOf({ prompts: ["brief", "breif", "refund"] }), KNOWN);
    expect(found.map(unfittingText)).toEqual([
      'rule a: "breif" fits none of the known prompts (1)',
      'rule a: "refund" fits none of the known prompts (1)',
    ]);
    expect(unfittingNames(rulesOf({}), { ...KNOWN, tools: [] })).toEqual([]);
  });
});

describe("a name that could be a server's that has listed nothing yet is not judged", () => {
  test.each<[string, boolean]>([
    ["mail_send", false],
    ["mail_*", false],
    ["ma*", false],
    ["*_send", false],
    ["files_wipe", true],
    ["mai", true],
    ["files_wipe*", true],
  ])("%s", (name, isFound) => {
    expect(unfittingNames(rulesOf({ tools: [name] }), { ...KNOWN, unlisted: ["mail_"] })).toHaveLength(isFound ? 1 : 0);
  });
});

test("many names are compared with many tools at once", async () => {
  const tools = Array.from({ length: 10_000 }, (_, index) => `tool-${index}-of-many`);
  const rulesFor = (count: number) =>
    rulesOf({ tools: Array.from({ length: count }, (_, index) => (index % 2 === 0 ? `tool-x${index}*` : `*x${index}`)) });
  const [one, many] = [rulesFor(1), rulesFor(1_000)];
  const known = { tools, prompts: [], unlisted: [] };
  const compare = (rules: Rules) => void unfittingNames(rules, known);
  expect(unfittingNames(many, known)).toHaveLength(1_000);
  // Sorting the tools takes the time. Each name with each tool would be ten million comparisons more.
  const oneMs = await cpuMs(() => compare(one));
  expect(await cpuMs(() => compare(many))).toBeLessThan(2 * oneMs + 50);
});

describe("a worker", () => {
  afterEach(() => vi.useRealTimers());

  test("says which names fit nothing when it starts, and which further ones when more is known, each once", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const directory = mkdtempSync(join(tmpdir(), "parley-names-"));
    const file = join(directory, "rules.yaml");
    writeFileSync(
      file,
      JSON.stringify({ default: "allow", rules: [{ name: "a", tools: ["refunds", "mail_sent", "mail_send"], action: "deny" }] }),
    );
    const warned: unknown[] = [];
    const quiet = () => undefined;
    const log = { debug: quiet, info: quiet, error: quiet, warn: (fields: unknown, text: unknown) => warned.push([text, fields]) };
    const gate = await openGate({ file, askTimeoutMaxMs: Infinity, log: log as never });
    const catalogue = (...tools: string[]) =>
      ({
        tools: new Map(tools.map((name) => [name, {}])),
        prompts: new Map(),
        resources: new Map(),
        templates: [],
      }) as unknown as Catalogue;
    let [now, unlisted] = [catalogue("refund"), ["mail_"]];
    gate.watchNames(
      () => now,
      () => unlisted,
    );
    const text = "rules have names that fit no tool or prompt";
    const first = [text, { names: ['rule a: "refunds" fits none of the known tools (1)'], count: 1 }];
    expect(warned).toEqual([first]);
    vi.advanceTimersByTime(60_000);
    expect(warned).toEqual([first]);
    [now, unlisted] = [catalogue("refund", "mail_send"), []];
    vi.advanceTimersByTime(60_000);
    const second = [text, { names: ['rule a: "mail_sent" fits none of the known tools (2)'], count: 1 }];
    expect(warned).toEqual([first, second]);
    // The server calls it something else, and then every other time.
    const third = [text, { names: ['rule a: "mail_send" fits none of the known tools (2)'], count: 1 }];
    for (const tool of ["mail_post", "mail_send", "mail_post", "mail_send"]) {
      now = catalogue("refund", tool);
      vi.advanceTimersByTime(15_000);
    }
    expect(warned).toEqual([first, second, third]);
    // Of another file everything is said.
    writeFileSync(file, JSON.stringify({ default: "allow", rules: [{ name: "a", tools: ["refunds"], action: "deny" }] }));
    await until(() => {
      vi.advanceTimersByTime(15_000);
      return warned.length === 4;
    });
    gate.close();
    now = catalogue();
    vi.advanceTimersByTime(60_000);
    expect(warned).toHaveLength(4);
    rmSync(directory, { recursive: true });
  });
});
