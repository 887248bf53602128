import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { checkUp, nodeVersion, redisFindings } from "./run.ts";

const HEALTHY = {
  version: "Redis 7.0.15",
  recent: true,
  readOnly: false,
  maxmemoryPolicy: "noeviction",
  appendOnly: true,
  appendFsync: "everysec",
  missingRights: [],
  isCluster: false,
  mode: "fits",
  replicas: 0,
  usedMemoryBytes: 1,
  maxmemoryBytes: 100,
} as const;

describe("the doctor", () => {
  test.each([
    ["20.20.2", "problem"],
    ["22.21.0", "problem"],
    ["22.22.0", "fine"],
    ["24.0.0", "fine"],
  ] as const)("takes Node.js %s as %s", (version, level) => {
    expect(nodeVersion(version).level).toBe(level);
  });

  test("reports no problem for a healthy Redis", () => {
    expect(redisFindings(HEALTHY)).toEqual([{ level: "fine", about: "Redis", says: "Redis 7.0.15" }]);
  });

  test.each([
    [{ recent: false, version: "Redis 5.0.7" }, "problem", "too old"],
    [{ readOnly: true }, "problem", "a replica"],
    [{ missingRights: ["+evalsha", "+zrank"] }, "problem", "its user lacks rights: +evalsha +zrank"],
    [{ maxmemoryPolicy: "allkeys-lru" }, "problem", "may drop tasks"],
    [{ appendOnly: false }, "advice", "no append-only file"],
    [{ appendFsync: "no" }, "advice", "up to half a minute"],
    [{ maxmemoryBytes: 0 }, "advice", "no maxmemory"],
    [{ usedMemoryBytes: 90 }, "advice", "90 % of maxmemory"],
    [{ mode: "no cluster" }, "problem", "it is not a Cluster, and REDIS_URL names one"],
    [{ mode: "node" }, "advice", "it is a node of a Cluster"],
  ] as const)("says what is wrong with a Redis of %j, and what to do", (facts, level, says) => {
    const findings = redisFindings({ ...HEALTHY, ...facts });
    expect(findings).toContainEqual({ level, about: "Redis", says: expect.stringContaining(says), cure: expect.stringMatching(/\S/) });
  });

  test("says nothing of memory up to 80 % of it, and not that it has no limit where a limit is nearly reached", () => {
    const says = (facts: object) =>
      redisFindings({ ...HEALTHY, ...facts }).flatMap(({ says: each }) => (/memory/.test(each) ? [each] : []));
    expect(says({ usedMemoryBytes: 80 })).toEqual([]);
    expect(says({ usedMemoryBytes: 81 })).toEqual([expect.stringMatching(/^81 % of maxmemory is used/)]);
    expect(says({ maxmemoryBytes: 0, usedMemoryBytes: 81 })).toEqual([expect.stringMatching(/^no maxmemory/)]);
  });

  test("says that nothing would be acknowledged by as many replicas as the settings require", () => {
    const findings = (replicas: number, facts: object = {}) => redisFindings({ ...HEALTHY, ...facts }, { replicas }).slice(1);
    expect(findings(1, { replicas: 1 })).toEqual([]);
    expect(findings(2, { replicas: 1 })).toMatchObject([
      { level: "problem", says: "PARLEY_REDIS_REPLICAS is 2, and 1 replica is connected: no call or answer would be acknowledged" },
    ]);
    expect(findings(1, { isCluster: true })).toMatchObject([{ level: "problem", says: "PARLEY_REDIS_REPLICAS is not for a Cluster" }]);
  });

  test("reports all problems at once: settings, an unreachable Redis, a port in use, tools that do not load", async () => {
    const taken = createServer();
    await new Promise<void>((done) => taken.listen(0, "127.0.0.1", done));
    onTestFinished(() => void taken.close());
    const { port } = taken.address() as AddressInfo;
    const findings = await checkUp({
      PARLEY_LEASE: "soon",
      PARLEY_ASK_TIMEOUT: "3600",
      PARLEY_CONCURRENCY: "0",
      PARLEY_WAIT_MAX: "10",
      REDIS_URL: "redis://:secret@127.0.0.1:1",
      PARLEY_PORT: String(port),
      PARLEY_TOOLS: "./nowhere.ts",
    });
    const of = (about: string) => findings.filter((finding) => finding.about === about);
    expect(of("settings").map(({ says }) => says)).toEqual([
      expect.stringContaining("PARLEY_LEASE"),
      'PARLEY_ASK_TIMEOUT: "3600" has no unit: write 3600s for seconds, or 3600 with ms, m, h or d',
      expect.stringContaining("PARLEY_CONCURRENCY"),
      "PARLEY_WAIT_MAX is not a setting, and is ignored",
    ]);
    expect(of("Redis")).toMatchObject([{ level: "problem", says: expect.stringContaining("ECONNREFUSED") }]);
    expect(of("port")).toMatchObject([{ level: "advice", says: expect.stringContaining("EADDRINUSE") }]);
    expect(of("tools")).toMatchObject([{ level: "problem", says: expect.stringContaining("nowhere.ts") }]);
    expect(JSON.stringify(findings)).not.toContain("secret");
  });

  test("reports what is wrong with the files of upstreams and providers", async () => {
    const directory = await mkdtemp(join(tmpdir(), "parley-doctor-"));
    onTestFinished(() => rm(directory, { recursive: true }));
    const upstreams = join(directory, "upstreams.json");
    await writeFile(upstreams, '{ "upstreams": [{ "name": "crm" }] }');
    const settingsOf = async (environment: NodeJS.ProcessEnv) =>
      (await checkUp({ PARLEY_TOOLS: "./nowhere.ts", ...environment })).filter(({ about }) => about === "settings");
    expect(await settingsOf({ PARLEY_UPSTREAMS: upstreams })).toMatchObject([
      {
        level: "problem",
        says: `PARLEY_UPSTREAMS: ${upstreams}: upstreams[0].url (crm): give either \`url\` or \`command\``,
        cure: "docs/gateway.md describes the file.",
      },
    ]);
    await writeFile(upstreams, '{ "upstreams": [{ "name": "crm", "url": "https://crm.example.com/mcp" }] }');
    expect(await checkUp({ PARLEY_TOOLS: "./nowhere.ts", PARLEY_UPSTREAMS: upstreams })).toContainEqual({
      level: "fine",
      about: "upstreams",
      says: `1 in ${upstreams}; \`parley upstreams test\` connects to them`,
    });
    // Nobody listens there.
    const own = { issuer: "http://127.0.0.1:1", clientId: "parley", clientSecret: "${CRM_SECRET}" };
    const url = "http://127.0.0.1:2/mcp";
    await writeFile(upstreams, JSON.stringify({ upstreams: [{ name: "crm", url, clientCredentials: own }] }));
    const found = async (environment: NodeJS.ProcessEnv) =>
      (await checkUp({ PARLEY_TOOLS: "./nowhere.ts", PARLEY_UPSTREAMS: upstreams, ...environment })).filter(({ about }) =>
        about.startsWith("upstream"),
      );
    expect(await found({})).toMatchObject([
      { level: "fine" },
      {
        level: "advice",
        says: "no token was requested: upstreams[0].clientCredentials.clientSecret (crm): ${CRM_SECRET} is not set in the environment",
      },
    ]);
    expect(await found({ CRM_SECRET: "hidden" })).toMatchObject([
      { level: "fine" },
      {
        level: "problem",
        about: "upstream crm",
        says: "its metadata cannot be read: it refuses connections (ECONNREFUSED)",
        cure: expect.stringContaining("clientCredentials"),
      },
    ]);
    const oauth = { PARLEY_OAUTH: join(directory, "nothing.json"), PARLEY_PUBLIC_URL: "https://parley.example.com" };
    expect(await settingsOf({ ...oauth, PARLEY_SECRET: "s".repeat(32) })).toMatchObject([
      { level: "problem", says: `PARLEY_OAUTH: ${join(directory, "nothing.json")}: cannot be read (ENOENT)` },
    ]);
  });

  test("advises about names in rules that fit no tool", async () => {
    const directory = await mkdtemp(join(tmpdir(), "parley-doctor-"));
    onTestFinished(() => rm(directory, { recursive: true }));
    const rules = join(directory, "rules.yaml");
    const found = async (tool: string) => {
      await writeFile(rules, `default: allow\nrules: [{ name: a, tools: [${tool}], action: deny }]\n`);
      return (await checkUp({ PARLEY_TOOLS: "@parley/gallery", PARLEY_RULES: rules })).filter(({ about }) => about === "rules");
    };
    expect(await found("book_dinner")).toEqual([{ level: "fine", about: "rules", says: rules }]);
    expect(await found("book_diner")).toMatchObject([{ level: "advice", says: expect.stringContaining('rule a: "book_diner" fits none') }]);
  });

  test("reads settings from files, and names the files that cannot be read", async () => {
    const directory = await mkdtemp(join(tmpdir(), "parley-doctor-"));
    onTestFinished(() => rm(directory, { recursive: true }));
    const file = join(directory, "redis-url");
    await writeFile(file, "redis://:secret@127.0.0.1:1\n");
    const found = await checkUp({ REDIS_URL_FILE: file });
    expect(found.filter(({ about }) => about === "settings")).toEqual([{ level: "fine", about: "settings", says: "all valid" }]);
    expect(found).toContainEqual(
      expect.objectContaining({ about: "Redis", level: "problem", says: expect.stringContaining("127.0.0.1:1") }),
    );
    const unread = await checkUp({ REDIS_URL_FILE: join(directory, "nothing") });
    expect(unread).toContainEqual(
      expect.objectContaining({
        about: "settings",
        level: "problem",
        says: expect.stringMatching(/^REDIS_URL_FILE: .*nothing cannot be read \(ENOENT\)$/),
      }),
    );
    expect(unread.filter(({ about }) => about === "Redis")).toEqual([]);
  });
});
