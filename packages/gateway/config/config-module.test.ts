/** A file of upstreams that is code: what it may export, and what happens when it throws, hangs, or misbehaves. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { until } from "../../../test/support/until.ts";
import { CONFIG_BYTES_MAX, loadConfig, loadConfigNow } from "./config-module.ts";
import { readUpstreams, type Upstream, type UpstreamsConfig, type UpstreamsError } from "./upstreams.ts";
import { type OpenUpstreamsFile, openUpstreamsFile } from "./upstreams-file.ts";

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "parley-config-"));
});
afterEach(() => {
  rmSync(directory, { recursive: true });
});

function written(text: string, name = "parley.config.ts"): string {
  const file = join(directory, name);
  writeFileSync(file, text);
  return file;
}

const CRM: UpstreamsConfig = { upstreams: [{ name: "crm", url: "https://crm.example.com/mcp" }] };
const EXPORT = `export default ${JSON.stringify(CRM)};`;

function problemsOf(file: string): readonly string[] {
  try {
    readUpstreams(file);
    return [];
  } catch (error) {
    return (error as UpstreamsError).problems;
  }
}

describe("a module", () => {
  test.each([
    [
      "an object, in TypeScript",
      "parley.config.ts",
      `interface Crm { name: string }\nconst crm: Crm = ${JSON.stringify(CRM)} as never;\nexport default crm;`,
    ],
    ["an object, in JavaScript", "parley.config.js", EXPORT],
    ["an object, in a module by name", "parley.config.mjs", EXPORT],
    ["a function", "parley.config.mts", `export default () => (${JSON.stringify(CRM)});`],
    ["a function that takes its time", "parley.config.ts", `export default async () => { await 0; return ${JSON.stringify(CRM)}; };`],
  ])("may export %s", (_what, name, text) => {
    expect(readUpstreams(written(text, name)).map((upstream) => upstream.name)).toEqual(["crm"]);
  });

  test("may import others, and build its upstreams with code", () => {
    written("export const names: string[] = ['a', 'b'];", "names.ts");
    const text = `import { names } from "./names.ts";\nexport default { upstreams: names.map((name) => ({ name, url: \`https://\${name}.example.com\` })) };`;
    expect(readUpstreams(written(text)).map(({ name }) => name)).toEqual(["a", "b"]);
  });

  test("is checked like any other file, and its variables are filled in by the process that connects", () => {
    const file = written('export default { upstreams: [{ name: "C R M", colour: "red" }] };');
    expect(problemsOf(file)).toEqual([
      "upstreams[0].name: must be 1 to 32 of a-z 0-9 - and must not begin with a hyphen",
      'upstreams[0]: Unrecognized key: "colour"',
    ]);
    const crm = { ...CRM.upstreams[0], headers: { authorization: "Bearer ${TOKEN}" } };
    const [upstream] = readUpstreams(written(`export default ${JSON.stringify({ upstreams: [crm] })};`), {
      environment: { TOKEN: "t0ken" },
    });
    expect(upstream?.reached).toMatchObject({ headers: { authorization: "Bearer t0ken" } });
  });

  test("leaves no traces in this process", () => {
    const file = written(`globalThis.leaked = 1; process.env.LEAKED = "1"; ${EXPORT}`);
    readUpstreams(file);
    expect(["leaked" in globalThis, process.env["LEAKED"]]).toEqual([false, undefined]);
  });
});

describe.each([
  ["at the start", async (file: string, loadMs: number) => loadConfigNow(file, loadMs)],
  ["beside other work", (file: string, loadMs: number) => loadConfig(file, { loadMs })],
])("its problem is reported in one sentence, %s", (_when, load) => {
  test.each([
    ["it throws", 'throw new TypeError("no crm\\n  today");', "cannot be loaded: TypeError: no crm today"],
    ["its function throws", 'export default () => { throw "nothing"; };', "cannot be loaded: nothing"],
    ["it has no default export", "export const upstreams = [];", "has no default export"],
    [
      "it is not plain data",
      "export default { upstreams: [{ concurrency: 1n }] };",
      /^cannot be loaded: TypeError: Do not know how to serialize a BigInt/,
    ],
    ["it waits for nothing", "await new Promise(() => undefined);", "never finishes loading"],
    ["it ends the process", "process.exit(3);", "ended its process while loading (exit code 3)"],
    [
      "it exports too much",
      `export default "x".repeat(${CONFIG_BYTES_MAX - 11});`,
      `has a default export of more than ${CONFIG_BYTES_MAX} bytes as JSON`,
    ],
  ])("%s", async (_what, text, problem) => {
    expect(await load(written(text), 10_000)).toEqual({ problem: typeof problem === "string" ? problem : expect.stringMatching(problem) });
  });

  test("it is missing, or not JavaScript", async () => {
    expect(await load(join(directory, "none.ts"), 10_000)).toEqual({ problem: "cannot be read (ENOENT)" });
    expect(await load(written("export default {"), 10_000)).toEqual({ problem: expect.stringContaining("SyntaxError") });
    expect(await load(written("enum Colour { Red }\nexport default {};"), 10_000)).toEqual({
      problem: expect.stringMatching(/^cannot be loaded: .*enum/i),
    });
  });

  test.each([
    ["in a loop without an await", "for (;;) {}"],
    ["behind a timer", "setInterval(() => undefined, 1_000); await new Promise(() => undefined);"],
  ])("it hangs %s", async (_how, text) => {
    expect(await load(written(text), 700)).toEqual({ problem: "did not load within 0.7 s" });
  });

  test("it keeps something open after loading, which is not waited for", async () => {
    expect(await load(written(`setInterval(() => undefined, 1_000);\n${EXPORT}`), 10_000)).toEqual({ value: CRM });
  });

  test("it has the maximum size", async () => {
    const { value } = (await load(written(`export default "x".repeat(${CONFIG_BYTES_MAX - 12});`), 10_000)) as { value: string };
    expect(value).toHaveLength(CONFIG_BYTES_MAX - 12);
  });
});

describe("a module that changes under a process", () => {
  let seen: (readonly Upstream[])[];
  let logged: { readonly problems?: readonly string[] }[];
  let stop: () => void = () => undefined;
  afterEach(() => stop());

  function watching(text: string, options: OpenUpstreamsFile = {}): string {
    const file = written(text);
    [seen, logged] = [[], []];
    const keep = (fields: object) => void logged.push(fields);
    const log = { debug: () => undefined, info: () => undefined, warn: keep, error: keep };
    const opened = openUpstreamsFile(file, options);
    stop = opened.watch({ log, everyMs: 5, onChange: (changed) => void seen.push(changed) });
    return file;
  }

  const named = (name: string) => `export default { upstreams: [{ name: "${name}", url: "https://a.example.com" }] };`;

  test("is loaded again, with what it imports", async () => {
    written('export const name = "one";', "name.ts");
    const text = 'import { name } from "./name.ts";\nexport default { upstreams: [{ name, url: "https://a.example.com" }] };';
    watching(text);
    written('export const name = "two";', "name.ts");
    written(`${text}\n`);
    await until(() => seen.length === 1);
    expect(seen[0]?.map(({ name }) => name)).toEqual(["two"]);
    written(named("three"));
    await until(() => seen.length === 2);
    expect(logged).toEqual([]);
  });

  test.each([
    ["throws", 'throw new Error("no");', "cannot be loaded: Error: no"],
    ["hangs", "await new Promise(() => setInterval(() => undefined, 1_000));", "did not load within 10 s"],
    ["is gone", undefined, "cannot be read (ENOENT)"],
    ["does not fit", "export default {};", /^upstreams: /],
  ])("and %s changes nothing, is reported once, and is used again once it is valid", async (_what, text, problem) => {
    const file = watching(named("one"), { loadMs: 10_000 });
    if (text === undefined) rmSync(file);
    else writeFileSync(file, text);
    await until(() => logged.length > 0);
    expect(logged[0]?.problems).toEqual([typeof problem === "string" ? problem : expect.stringMatching(problem)]);
    expect(seen).toEqual([]);
    written(named("two"));
    await until(() => seen.length === 1);
    expect([seen[0]?.[0]?.name, logged.length]).toEqual(["two", 1]);
  });

  test("is not loaded again while its file stays unchanged", async () => {
    const runs = join(directory, "runs");
    const upstream = { name: "one", url: "https://a.example.com", headers: { authorization: "${TOKEN}" } };
    const text = `appendFileSync(${JSON.stringify(runs)}, "x");\nexport default ${JSON.stringify({ upstreams: [upstream] })};`;
    // The variables are filled in again each time, which shows that the watch goes round.
    let rounds = 0;
    const environment = {
      get TOKEN() {
        rounds += 1;
        return "t0ken";
      },
    };
    watching(`import { appendFileSync } from "node:fs";\n${text}`, { environment });
    await until(() => rounds > 10);
    expect(readFileSync(runs, "utf8")).toBe("x");
  });
});
