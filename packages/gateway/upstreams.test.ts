/** The file of upstreams: what it may say, and what it is told. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseUpstreams, readUpstreams, UPSTREAMS_MAX, type UpstreamsError } from "./upstreams.ts";

const parse = (upstreams: readonly object[], environment?: Record<string, string>) =>
  parseUpstreams("up.json", JSON.stringify({ upstreams }), environment ? { environment } : {});

function problems(upstreams: readonly object[], environment: Record<string, string> = {}): readonly string[] {
  try {
    parse(upstreams, environment);
  } catch (error) {
    return (error as UpstreamsError).problems;
  }
  return [];
}

const CRM = { name: "crm", url: "https://crm.example.com/mcp" };

test("an upstream has its defaults", () => {
  const [crm] = parse([CRM]);
  expect(crm).toMatchObject({
    name: "crm",
    prefix: "crm_",
    reached: { by: "url", url: CRM.url, headers: {} },
    connectTimeoutMs: 10_000,
    callTimeoutMs: 300_000,
    questionTimeoutMs: undefined,
    concurrency: 1_000,
    refreshMs: 60_000,
    revisions: "auto",
  });
  expect(crm?.offers("anything")).toBe(true);
  expect(crm?.repeatable("anything")).toBeUndefined();
});

test("tools are chosen by their names and the beginnings of them, and so are those that may be repeated", () => {
  const [crm] = parse([{ ...CRM, include: ["get_*", "put"], exclude: ["get_secret"], repeatable: ["get_*"] }]);
  expect(["get_a", "put", "get_secret", "put_it"].map((tool) => crm?.offers(tool))).toEqual([true, true, false, false]);
  expect(["get_a", "put"].map((tool) => crm?.repeatable(tool))).toEqual([true, undefined]);
  const [never] = parse([{ ...CRM, repeatable: false }]);
  expect(never?.repeatable("get_a")).toBe(false);
});

describe("values", () => {
  test("of headers and env come from the environment and from files, for processes that connect", () => {
    const directory = mkdtempSync(join(tmpdir(), "parley-upstreams-"));
    const file = join(directory, "token");
    writeFileSync(file, "from a file\n");
    try {
      const given = [{ ...CRM, headers: { authorization: "Bearer ${TOKEN}", "x-key": `\${file:${file}}` } }];
      expect(parse(given, { TOKEN: "t0ken" })[0]?.reached).toMatchObject({
        headers: { authorization: "Bearer t0ken", "x-key": "from a file" },
      });
      expect(parse(given)[0]?.reached).toMatchObject({ headers: { authorization: "Bearer ${TOKEN}" } });
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  test("that cannot be filled in are named, and no value is ever told", () => {
    const told = problems([{ ...CRM, headers: { a: "secret ${NONE}", b: "${file:/no/such}", c: "${1}", d: "${X}" } }], { X: "se\ncret" });
    expect(told).toEqual([
      "upstreams[0].headers.a (crm): ${NONE} is not set in the environment",
      "upstreams[0].headers.b (crm): ${file:/no/such} cannot be read (ENOENT)",
      "upstreams[0].headers.c (crm): ${1} must be a variable, ${NAME}, or a file, ${file:/path}",
      "upstreams[0].headers.d (crm): has a value with characters that no header may have, such as a line break",
    ]);
    expect(told.join()).not.toContain("secret ");
  });
});

describe("what does not fit is told, all at once", () => {
  test.each([
    ["an unknown key", [{ ...CRM, timeout: "1s" }], "upstreams[0]: Unrecognized key"],
    ["a bad name", [{ ...CRM, name: "C R M" }], "upstreams[0].name: must be 1 to 32"],
    ["two of one name", [CRM, { ...CRM, prefix: "other_" }], "two are named crm"],
    ["no address", [{ name: "crm" }], "give either `url` or `command`"],
    ["both", [{ ...CRM, command: "x" }], "give either `url` or `command`"],
    ["no url", [{ ...CRM, url: "crm" }], "must be an address"],
    ["http to elsewhere", [{ ...CRM, url: "http://crm" }], "must be https"],
    ["credentials in the url", [{ ...CRM, url: "https://a:b@crm" }], "must not hold credentials"],
    ["env of a url", [{ ...CRM, env: {} }], "goes with `command`"],
    ["a bad duration", [{ ...CRM, callTimeout: "soon" }], "upstreams[0].callTimeout"],
    ["no time", [{ ...CRM, callTimeout: "0s" }], "must be longer than 0"],
    ["prefixes that begin alike", [CRM, { ...CRM, name: "crm2", prefix: "crm_b_" }], "begin alike"],
    ["a bad pattern", [{ ...CRM, include: ["a*b"] }], "upstreams[0].include[0]"],
  ])("%s", (_what, upstreams, problem) => {
    expect(problems(upstreams).join("\n")).toContain(problem);
  });

  test("http is allowed where the file says so, and on this machine", () => {
    expect(problems([{ ...CRM, url: "http://crm:3000", allowHttp: true }])).toEqual([]);
    expect(problems([{ ...CRM, url: "http://localhost:3000" }])).toEqual([]);
  });

  test("a file that is not there, or not JSON, is named with the setting", () => {
    expect(() => readUpstreams("/no/such.json")).toThrow("/no/such.json (PARLEY_UPSTREAMS):\n  cannot be read (ENOENT)");
    expect(() => parseUpstreams("up.json", "{")).toThrow("up.json (PARLEY_UPSTREAMS):\n  is not JSON");
  });

  test("there are as many upstreams as there may be, and no more", () => {
    const many = (count: number) => Array.from({ length: count }, (_, index) => ({ ...CRM, name: `crm${index}x` }));
    expect(problems(many(UPSTREAMS_MAX))).toEqual([]);
    expect(problems(many(UPSTREAMS_MAX + 1))).toHaveLength(1);
  });
});
