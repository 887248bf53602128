/** The file and the commands of docs/approvals.md, as they stand there. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, expect, test, vi } from "vitest";
import { checkPolicy, explainPolicy } from "./run.ts";

const page = readFileSync(new URL("../../../docs/approvals.md", import.meta.url), "utf8");
const shown = /```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
const directory = mkdtempSync(join(tmpdir(), "parley-policy-"));
const file = join(directory, "parley.rules.yaml");
writeFileSync(file, shown.replaceAll(/^ {3}/gm, ""));
afterAll(() => rmSync(directory, { recursive: true }));

let printed = "";
beforeEach(() => {
  printed = "";
  vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    printed += String(text);
    return true;
  });
});
afterEach(() => vi.restoreAllMocks());

const COMMON = { file, args: "{}", caller: "ada" };

test("the page's file is valid", async () => {
  await checkPolicy({ file });
  expect(printed).toMatch(/parley\.rules\.yaml is valid, version [\w-]{16}\n$/);
});

test("names that fit no tool are said where it is known which tools there are, as warnings", async () => {
  const misspelt = join(directory, "misspelt.yaml");
  writeFileSync(
    misspelt,
    "default: allow\nrules: [{ name: a, tools: [book_diner, book_*, files_reed], prompts: [breif], action: deny }]\n",
  );
  const checked = async (environment: Readonly<Record<string, string>>) => {
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
    printed = "";
    await checkPolicy({ file: misspelt, json: true });
    vi.unstubAllEnvs();
    return (JSON.parse(printed) as { warnings: string[] }).warnings;
  };
  const upstreams = join(directory, "upstreams.json");
  writeFileSync(upstreams, JSON.stringify({ upstreams: [{ name: "files", command: "true" }] }));
  const own = [
    expect.stringMatching(/^rule a: "book_diner" fits none of the known tools \(\d+\)$/),
    expect.stringMatching(/^rule a: "breif" fits none of the known prompts \(\d+\)$/),
  ];
  const reed = expect.stringContaining('"files_reed" fits none');
  expect(await checked({ PARLEY_TOOLS: "", PARLEY_UPSTREAMS: "" })).toEqual([]);
  expect(await checked({ PARLEY_TOOLS: "@parley/gallery", PARLEY_UPSTREAMS: "" })).toEqual([own[0], reed, own[1]]);
  expect(await checked({ PARLEY_TOOLS: "@parley/gallery", PARLEY_UPSTREAMS: upstreams })).toEqual(own);
  expect(await checked({ PARLEY_TOOLS: "./nowhere.ts", PARLEY_UPSTREAMS: "" })).toEqual([
    expect.stringMatching(/^names of tools are not checked: .*nowhere/),
  ]);
});

test("the page's command prints what the page says", async () => {
  const args = /--args '([^']+)'/.exec(page)?.[1] ?? "";
  const said = /```text\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
  await explainPolicy("files_write_file", { ...COMMON, args });
  expect(printed).toBe(said.replaceAll(/^ {3}/gm, ""));
});

test.each<[string, string, object, RegExp]>([
  [
    "files_delete_all",
    "{}",
    {},
    /^waits for approval: rule deletes-need-a-colleague \(Deleting files\)\n.*groups operations, but not the caller\n.*172800 s/s,
  ],
  // What the page's condition is there for.
  ...["/tmp/x", "/srv/../etc/passwd", "//etc/passwd", "srv/x", "/srv"].map((path): [string, string, object, RegExp] => [
    "files_write_file",
    JSON.stringify({ path }),
    {},
    /^is refused: rule write-below-srv-only\n/,
  ]),
  [
    "files_write_file",
    '{"path":"/srv/x"}',
    {},
    /^runs at once: no rule fits, and the default allows it\n {2}its condition is false: rule write-below-srv-only\n$/,
  ],
  ["files_write_file", "{}", { json: true }, /"type":"deny"/],
])("%s %s", async (tool, args, more, said) => {
  await explainPolicy(tool, { ...COMMON, args, ...more });
  expect(printed).toMatch(said);
});

test("it is said which conditions did not hold, which one failed and why, also for a prompt", async () => {
  const several = join(directory, "several.yaml");
  writeFileSync(
    several,
    `default: deny
rules:
  - { name: other-tool, tools: [z], when: "args.a == 1", action: allow }
  - { name: first, prompts: [x], tools: [x], when: "args.a == '1'", action: allow }
  - { name: second, prompts: [x], tools: [x], when: "args.b == '2'", action: allow }
`,
  );
  const of = { ...COMMON, file: several };
  await explainPolicy("x", { ...of, args: '{"a":"2","b":"2"}' });
  await explainPolicy("x", { ...of, args: '{"a":"2"}', prompt: true });
  await explainPolicy("x", { ...of, args: '{"a":"2"}', prompt: true, json: true });
  const lines = printed.trimEnd().split("\n");
  expect(lines.slice(0, -1)).toEqual([
    "runs at once: rule second",
    "  its condition is false: rule first",
    "is refused: rule second",
    "  The condition of a rule could not be evaluated for these arguments.",
    "  its condition is false: rule first",
    expect.stringMatching(/^  its condition failed: rule second: .*b/),
  ]);
  expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({
    prompt: "x",
    type: "deny",
    tried: [
      { rule: "first", held: false },
      { rule: "second", problem: expect.stringContaining("b") },
    ],
  });
});

test("it is said what else happens while a call waits", async () => {
  const waits = join(directory, "waits.yaml");
  writeFileSync(
    waits,
    `default: deny
rules:
  - { name: a, action: approve, by: { groups: [ops] }, edit: [to], diff: anyone, tests: { share: 0.025, change: [{ to: x }] }, allow: [delegate], remind: 1h, escalate: { after: 2h, to: { groups: [leads] } } }
`,
  );
  await explainPolicy("x", { ...COMMON, file: waits });
  expect(printed.split("\n").slice(3, -1)).toEqual([
    "  reminded: after 3600 s",
    "  later:    after 7200 s also groups leads",
    "  handed on: those who are asked may hand it on to others",
    "  edit:     the approver may change to",
    "  diff:     beside the last approved call, by anyone",
    "  tests:    2.5 % of its calls are followed by one",
  ]);
});

test("the page's other rules are valid, and depend on the caller's groups as it says", async () => {
  const others = [...page.matchAll(/```yaml\n(rules:[\s\S]*?)```/g)].map(([, text]) => text);
  const [rules = ""] = others;
  expect(others).toHaveLength(3);
  const members = join(directory, "members.yaml");
  writeFileSync(members, `default: deny\n${rules}`);
  const edits = join(directory, "edits.yaml");
  writeFileSync(edits, `default: deny\n${others[1]}`);
  await checkPolicy({ file: edits });
  printed = "";
  await explainPolicy("refund", { ...COMMON, file: members, groups: "staff, finance" });
  await explainPolicy("refund", { ...COMMON, file: members, roles: "finance" });
  expect(printed).toMatch(/^runs at once: rule finance-refunds\nwaits for approval: rule refunds /);
});

test("what is wrong with the options is said", async () => {
  await expect(explainPolicy("x", { ...COMMON, args: "{" })).rejects.toThrow("--args is not JSON: {");
  await expect(explainPolicy("x", { ...COMMON, args: "[]" })).rejects.toThrow("--args must be an object");
  vi.stubEnv("PARLEY_RULES", "");
  await expect(checkPolicy({})).rejects.toThrow("no file with rules: give one with --file, or set PARLEY_RULES");
  vi.unstubAllEnvs();
});
