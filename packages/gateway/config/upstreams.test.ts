/** The file of upstreams: what it may contain, and the problems that are reported. */
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseUpstreams, readUpstreams, UPSTREAMS_MAX, type UpstreamsError } from "./upstreams.ts";

const parse = (upstreams: readonly object[], environment?: Record<string, string>, providers?: Record<string, readonly string[]>) =>
  parseUpstreams("up.json", JSON.stringify({ upstreams }), { ...(environment && { environment }), ...(providers && { providers }) });

function problems(
  upstreams: readonly object[],
  environment: Record<string, string> = {},
  providers?: Record<string, readonly string[]>,
): readonly string[] {
  try {
    parse(upstreams, environment, providers);
  } catch (error) {
    return (error as UpstreamsError).problems;
  }
  return [];
}

const CRM = { name: "crm", url: "https://crm.example.com/mcp" };

test("rules of access name somebody or something, and are what the file says", () => {
  const [crm] = parse([{ ...CRM, access: [{ include: ["get_*"] }, { scopes: ["crm:write"], people: ["ann"] }] }]);
  expect(crm?.access?.map(({ covers, coversAll }) => [covers("get_a"), covers("set_a"), coversAll])).toEqual([
    [true, false, false],
    [true, true, true],
  ]);
  expect(parse([CRM])[0]?.access).toBeUndefined();
  expect(problems([{ ...CRM, access: [] }])).toEqual(["upstreams[0].access: must have a rule: without one, nobody could use anything"]);
  expect(problems([{ ...CRM, access: [{ people: [] }, { group: ["a"] }] }])).toHaveLength(2);
});

test("whatever differs in an entry, it is noticed when the file is read again", () => {
  const own = { issuer: "https://auth.example.com", clientId: "parley", clientSecret: "${SECRET}" };
  const entries = [
    {},
    { headers: { a: "b" } },
    { include: ["a"] },
    { exclude: ["a"] },
    { access: [{ people: ["ann"] }] },
    { access: [{ people: ["ann"], include: ["a"] }] },
    { access: [{ people: ["ann"], include: ["b"] }] },
    { repeatable: true },
    { repeatable: ["a"] },
    { oauth: { provider: "crm", scopes: ["a"] } },
    { clientCredentials: own },
    { clientCredentials: { ...own, scopes: ["a"] } },
    { callTimeout: "6m" },
  ].map((entry) => ({ ...CRM, ...entry }));
  const prints = entries.map((entry) => parse([entry], { SECRET: "one" })[0]!.fingerprint);
  const another = parse([{ ...CRM, clientCredentials: own }], { SECRET: "two" })[0]!.fingerprint;
  expect(new Set([...prints, another]).size).toBe(entries.length + 1);
});

test("an upstream has its defaults", () => {
  const [crm] = parse([CRM]);
  expect(crm).toMatchObject({
    name: "crm",
    prefix: "crm_",
    isTaskless: false,
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
  // A command may have to be downloaded before it starts.
  expect(parse([{ name: "files", command: "npx" }])[0]).toMatchObject({ connectTimeoutMs: 60_000, concurrency: 20 });
  expect(parse([{ name: "files", command: "npx", connectTimeout: "5s" }])[0]?.connectTimeoutMs).toBe(5_000);
});

test("tools are chosen by names and prefixes, and so are those that may be repeated", () => {
  const [crm] = parse([{ ...CRM, include: ["get_*", "put"], exclude: ["get_secret"], repeatable: ["get_*"] }]);
  expect(["get_a", "put", "get_secret", "put_it"].map((tool) => crm?.offers(tool))).toEqual([true, true, false, false]);
  expect(["get_a", "put"].map((tool) => crm?.repeatable(tool))).toEqual([true, undefined]);
  const [never] = parse([{ ...CRM, repeatable: false }]);
  expect(never?.repeatable("get_a")).toBe(false);
});

test("a time that no timer can measure is refused, and so is one that no question may wait", () => {
  expect(problems([{ ...CRM, callTimeout: "40d", connectTimeout: "25d", refresh: "25d" }])).toEqual([
    "upstreams[0].connectTimeout: must be at most 24d",
    "upstreams[0].callTimeout: must be at most 24d",
    "upstreams[0].refresh: must be at most 24d",
  ]);
  expect(problems([{ ...CRM, callTimeout: "24d", questionTimeout: "90d" }])).toEqual([]);
  const text = JSON.stringify({ upstreams: [{ ...CRM, questionTimeout: "31d" }] });
  expect(() => parseUpstreams("up.json", text, { askTimeoutMaxMs: 30 * 86_400_000 })).toThrow(/questionTimeout.*PARLEY_ASK_TIMEOUT_MAX/);
});

test("the gateway's own access names a server and a client, and what is wrong with it is said without a value", () => {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
  const curve = generateKeyPairSync("ec", { namedCurve: "secp521r1" }).privateKey;
  const environment = {
    SECRET: "hidden",
    PEM: privateKey.export({ format: "pem", type: "pkcs1" }) as string,
    P521: curve.export({ format: "pem", type: "pkcs8" }) as string,
  };
  const own = { issuer: "https://auth.example.com", clientId: "parley" };
  const read = (clientCredentials: object, entry: object = CRM) => problems([{ ...entry, clientCredentials }], environment);
  const [crm] = parse([{ ...CRM, clientCredentials: { ...own, clientSecret: "${SECRET}" } }], environment);
  expect(crm?.reached).toMatchObject({ credentials: { ...own, proof: { secret: "hidden" } } });
  const [signing] = parse([{ ...CRM, clientCredentials: { ...own, privateKey: "${PEM}", algorithm: "PS256" } }], environment);
  expect(signing?.reached).toMatchObject({
    credentials: { proof: { privateKey: expect.stringMatching(/^-----BEGIN PRIVATE KEY/), algorithm: "PS256" } },
  });
  // Front ends have no variables, and need none.
  expect(parse([{ ...CRM, clientCredentials: { ...own, privateKey: "${PEM}" } }])).toHaveLength(1);
  const at = "upstreams[0].clientCredentials";
  expect([
    ...read(own),
    ...read({ ...own, clientSecret: "${SECRET}", privateKey: "${PEM}" }),
    ...read({ ...own, clientSecret: "${SECRT}" }),
    ...read({ ...own, clientSecret: "x", algorithm: "RS256" }),
    ...read({ ...own, privateKey: "${SECRET}" }),
    ...read({ ...own, privateKey: "${P521}" }),
    ...read({ ...own, privateKey: "${PEM}", algorithm: "ES256" }),
    ...read({ ...own, issuer: "http://auth.example.com", clientSecret: "x" }),
    ...read({ ...own, issuer: "${ISSUER}", clientSecret: "x" }),
    ...read({ ...own, clientSecret: "x", scopes: ["read", "${SECRET}"] }),
    ...read({ ...own, clientSecret: "x", resource: "https://crm.example.com/${SECRET}" }),
    ...read({ ...own, issuer: "https://a:b@auth.example.com", clientSecret: "x" }),
    ...read({ ...own, clientSecret: "x", scopes: ["a b"] }),
    ...read({ ...own, clientSecret: "x" }, { ...CRM, headers: { Authorization: "Bearer ${SECRET}" } }),
    ...read({ ...own, clientSecret: "x" }, { name: "crm", command: "crm" }),
  ]).toEqual([
    `${at}.clientSecret (crm): give either \`clientSecret\` or \`privateKey\``,
    `${at}.clientSecret (crm): give either \`clientSecret\` or \`privateKey\``,
    `${at}.clientSecret (crm): \${SECRT} is not set in the environment`,
    `${at}.algorithm (crm): can only be used with \`privateKey\``,
    `${at}.privateKey (crm): must be a private key as PEM, without a password`,
    `${at}.privateKey (crm): must be a key of type RSA, or EC with the curve P-256 or P-384`,
    `${at}.privateKey (crm): is not a key for ES256`,
    `${at}.issuer (crm): must be https, or http to this machine`,
    `${at}.issuer (crm): has \`\${\`, which is not filled in here`,
    `${at}.scopes (crm): has \`\${\`, which is not filled in here`,
    `${at}.resource (crm): has \`\${\`, which is not filled in here`,
    `${at}.issuer (crm): must not contain credentials`,
    `${at}.scopes[0]: must be a scope, which has no spaces`,
    "upstreams[0].headers.authorization (crm): cannot be combined with `clientCredentials`: both are the Authorization header",
    "upstreams[0].clientCredentials (crm): can only be used with `url`: a command has no Authorization header",
  ]);
});

describe("access in the caller's name", () => {
  const oauth = { provider: "crm", scopes: ["write", "read", "read"] };
  const providers = { crm: ["read", "write"], calendar: ["read"] };

  test("names a provider and scopes that are set up", () => {
    expect(parse([{ ...CRM, oauth }], {}, providers)[0]?.oauth).toEqual({ provider: "crm", scopes: ["read", "write"] });
    expect(parse([CRM], {}, providers)[0]?.oauth).toBeUndefined();
    // A command that only reads the file knows of no providers.
    expect(parse([{ ...CRM, oauth: { provider: "any", scopes: ["x"] } }])[0]?.oauth?.provider).toBe("any");
  });

  test("is refused with unknown providers and scopes, and with settings that exclude it", () => {
    expect(problems([{ ...CRM, oauth: { provider: "toString", scopes: ["read"] } }], {}, providers)).toEqual([
      "upstreams[0].oauth.provider (crm): must be one of the providers in PARLEY_OAUTH: crm, calendar",
    ]);
    expect(problems([{ ...CRM, oauth }], {}, {})).toEqual([
      "upstreams[0].oauth.provider (crm): must be one of the providers in PARLEY_OAUTH: none",
    ]);
    expect(problems([{ ...CRM, oauth: { provider: "calendar", scopes: ["read", "write"] } }], {}, providers)).toEqual([
      "upstreams[0].oauth.scopes (crm): write is not among the scopes of calendar in PARLEY_OAUTH: read",
    ]);
    expect(problems([{ ...CRM, oauth, taskless: true }], {}, providers)).toEqual([
      "upstreams[0].taskless (crm): cannot be combined with `oauth`: only a task can ask its caller for access",
    ]);
    expect(problems([{ ...CRM, oauth, reuseSessions: true }], {}, providers)).toEqual([
      "upstreams[0].reuseSessions (crm): cannot be combined with `oauth`: a session would outlive the token that it was opened with",
    ]);
    expect(problems([{ name: "files", command: "x", oauth }], {}, providers)).toEqual([
      "upstreams[0].oauth (files): can only be used with `url`: a command has no Authorization header",
    ]);
    expect(problems([{ ...CRM, oauth: { provider: "crm", scopes: [] } }], {}, providers)).toHaveLength(1);
  });

  test("is kept for one task, or for a minute to a year after its last use", () => {
    const kept = (keep?: unknown) => parse([{ ...CRM, oauth: { ...oauth, keep } }])[0]?.oauth?.keepMs;
    expect([undefined, "task", "1m", "90d", "366d"].map(kept)).toEqual([undefined, undefined, 60_000, 7_776_000_000, 31_622_400_000]);
    for (const keep of ["59s", "367d", "0d", "forever", 90])
      expect(problems([{ ...CRM, oauth: { ...oauth, keep } }])).toEqual([
        'upstreams[0].oauth.keep: must be "task", or a duration from 1m to 366d',
      ]);
  });
});

test("the file may be in YAML, whose mistakes are named by their line and not quoted", () => {
  const yaml = "upstreams:\n  - name: crm\n    url: https://crm.example.com/mcp\n    headers: { authorization: 'Bearer ${TOKEN}' }\n";
  expect(parseUpstreams("up.yaml", yaml, { environment: { TOKEN: "t0ken" } })).toEqual(
    parse([{ ...CRM, headers: { authorization: "Bearer ${TOKEN}" } }], { TOKEN: "t0ken" }).map((upstream) => ({
      ...upstream,
      offers: expect.any(Function),
      repeatable: expect.any(Function),
    })),
  );
  const wrong = (text: string) => {
    try {
      return parseUpstreams("up.yml", text);
    } catch (error) {
      return (error as UpstreamsError).problems;
    }
  };
  expect(wrong("upstreams:\n  - name: crm\n  headers: [s3cret")).toEqual([expect.stringMatching(/^is not YAML: [A-Z_]+ in line 3$/)]);
  expect(wrong("upstreams: []\nupstreams: []")).toEqual(["has a key twice, in line 2: only one of the two would count"]);
  // A tag of another tool, which would be ignored.
  expect(wrong("upstreams:\n  - name: crm\n    url: !secret s3cret")).toEqual(["is not YAML: TAG_RESOLVE_FAILED in line 3"]);
  expect(wrong(`a: &a [1]\nb: [${"*a,".repeat(101)}]`)).toEqual([expect.stringMatching(/^is not YAML: /)]);
  expect(wrong("- a")).toEqual([expect.stringMatching(/^the file: /)]);
});

describe("a mistake that a file is likely to have is named", () => {
  const wrong = (text: string) => {
    try {
      return parseUpstreams("up.json", text);
    } catch (error) {
      return (error as UpstreamsError).problems;
    }
  };
  const OTHER_FORMAT =
    'the file: has `mcpServers`, as the files of MCP clients have: write each server as { "name": …, "url": … } or { "name": …, "command": … } in a list `upstreams`';

  test("a key that is there twice", () => {
    const text = '{ "upstreams": [{ "name": "a", "url": "https://a.example.com",\n "url": "https://s3cret.example.com" }] }';
    expect(wrong(text)).toEqual(["has a key twice, in line 2: only one of the two would count"]);
  });

  test.each([
    ['{ "mcpServers": { "crm": { "command": "npx" } } }', OTHER_FORMAT],
    ['{ "servers": { "crm": { "command": "npx" } } }', OTHER_FORMAT.replace("mcpServers", "servers")],
  ])("the format of a client's file: %s", (text, problem) => {
    expect(wrong(text)).toEqual([problem]);
  });

  test("a variable where none is filled in, or one that is written like another program's", () => {
    const url = "https://crm.example.com/${KEY}";
    const command = { name: "crm", command: "npx", args: ["--token=${TOKEN}"], cwd: "${HOME}/x", env: { A: "$TOKEN" } };
    expect(problems([{ name: "crm", url, headers: { authorization: "Bearer $TOKEN" } }])).toEqual([
      "upstreams[0].url (crm): has `${`, but only `headers`, `env` and `clientCredentials` may name variables",
      "upstreams[0].headers.authorization (crm): has $TOKEN, which stays as it is: write ${TOKEN} for the variable",
    ]);
    expect(problems([command])).toEqual([
      "upstreams[0].env.A (crm): has $TOKEN, which stays as it is: write ${TOKEN} for the variable",
      "upstreams[0].args (crm): has `${`, but only `headers`, `env` and `clientCredentials` may name variables",
      "upstreams[0].cwd (crm): has `${`, but only `headers`, `env` and `clientCredentials` may name variables",
    ]);
    // Programs have such texts of their own, and keys may contain the sign.
    const script = { name: "crm", command: "sh", args: ["-c", "exec server --key ${KEY}"], env: { A: "pa$$word", B: "a$B" } };
    expect(problems([script])).toEqual([]);
  });

  test("but not the mark that some editors put in front of a file", () => {
    expect(wrong(`\ufeff${JSON.stringify({ upstreams: [CRM] })}`)).toMatchObject([{ name: "crm" }]);
    expect(parseUpstreams("up.yaml", "\ufeffupstreams: [{ name: crm, url: https://crm.example.com }]")).toMatchObject([{ name: "crm" }]);
  });
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

  test("that cannot be filled in are named, and no value is ever shown", () => {
    const headers = { a: "secret ${NONE}", b: "${file:/no/such}", c: "${1}", d: "${X}", e: "secret ${X" };
    const told = problems([{ ...CRM, headers }], { X: "se\ncret" });
    expect(told).toEqual([
      "upstreams[0].headers.a (crm): ${NONE} is not set in the environment",
      "upstreams[0].headers.b (crm): ${file:/no/such} cannot be read (ENOENT)",
      "upstreams[0].headers.c (crm): ${1} must be a variable, ${NAME}, or a file, ${file:/path}",
      "upstreams[0].headers.e (crm): has `${` without `}`",
      "upstreams[0].headers.d (crm): has characters that a header may not contain, such as a line break",
    ]);
    expect(told.join()).not.toContain("secret ");
  });
});

describe("problems are reported, all at once", () => {
  test.each([
    ["an unknown key", [{ ...CRM, timeout: "1s" }], "upstreams[0]: Unrecognized key"],
    ["a bad name", [{ ...CRM, name: "C R M" }], "upstreams[0].name: must be 1 to 32"],
    ["two of one name", [CRM, { ...CRM, prefix: "other_" }], "two are named crm"],
    ["no address", [{ name: "crm" }], "give either `url` or `command`"],
    ["both", [{ ...CRM, command: "x" }], "give either `url` or `command`"],
    ["no url", [{ ...CRM, url: "crm" }], "must be a URL"],
    ["http to elsewhere", [{ ...CRM, url: "http://crm" }], "must be https"],
    ["credentials in the url", [{ ...CRM, url: "https://a:b@crm" }], "must not contain credentials"],
    ["env of a url", [{ ...CRM, env: {} }], "can only be used with `command`"],
    ["a bad duration", [{ ...CRM, callTimeout: "soon" }], "upstreams[0].callTimeout"],
    ["no time", [{ ...CRM, callTimeout: "0s" }], "must be longer than 0"],
    ["prefixes that overlap", [CRM, { ...CRM, name: "crm2", prefix: "crm_b_" }], "overlap"],
    ["a bad pattern", [{ ...CRM, include: ["a*b"] }], "upstreams[0].include[0]"],
  ])("%s", (_what, upstreams, problem) => {
    expect(problems(upstreams).join("\n")).toContain(problem);
  });

  test("http is allowed where the file says so, and on this machine", () => {
    expect(problems([{ ...CRM, url: "http://crm:3000", allowHttp: true }])).toEqual([]);
    expect(problems([{ ...CRM, url: "http://localhost:3000" }])).toEqual([]);
  });

  test("a file that is missing or not JSON is named with the setting", () => {
    expect(() => readUpstreams("/no/such.json")).toThrow("/no/such.json (PARLEY_UPSTREAMS):\n  cannot be read (ENOENT)");
    expect(() => parseUpstreams("up.json", "{")).toThrow("up.json (PARLEY_UPSTREAMS):\n  is not JSON");
  });

  test("the mistakes of a file in JSON are named by their line and not quoted", () => {
    const long = '{ "upstreams": [\n  { "name": "crm",\n    "headers": { "authorization": s3cret-of-the-crm } } ] }';
    for (const [text, problem] of [
      [long, "Unexpected token 's' in line 3"],
      ["s3cret", "Unexpected token 's' in line 1"],
      [`{ "s3cret": [,] }`, "Unexpected token ',' in line 1"],
      ["undefined", "Unexpected text in line 1"],
      ["{\n  's3cret': 1 }", "Expected property name or '}' in JSON at position 4 (line 2 column 3)"],
    ] as const) {
      expect(() => parseUpstreams("up.json", text)).toThrow(`up.json (PARLEY_UPSTREAMS):\n  is not JSON: ${problem}`);
      expect(() => parseUpstreams("up.json", text)).not.toThrow("s3cret");
    }
  });

  test("a file may have the maximum number of upstreams and no more", () => {
    const many = (count: number) => Array.from({ length: count }, (_, index) => ({ ...CRM, name: `crm${index}x` }));
    expect(problems(many(UPSTREAMS_MAX))).toEqual([]);
    expect(problems(many(UPSTREAMS_MAX + 1))).toHaveLength(1);
  });
});
