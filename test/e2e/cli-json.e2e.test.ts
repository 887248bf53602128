/** Every command with --json prints JSON and nothing else on standard output. docs/cli.md describes the shapes. */
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { program } from "../../apps/cli/program.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { parley, type Ran } from "../support/parley.ts";

const TOOLS = join(import.meta.dirname, "../dialects/tools.ts");
/** They run until they are stopped, or print a script. */
const WITHOUT = ["start", "dev", "server", "worker", "stdio", "completion"];

let deployment: Deployment;
let home: string;
let env: Record<string, string>;
let waiting: string;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "parley-json-"));
  const secrets = { PARLEY_CONTENT_KEYS: randomBytes(32).toString("base64"), PARLEY_AUDIT: "true" };
  // `task` has the timeline also where there is no page.
  deployment = await startDeployment({ frontEnds: 1, workers: 1, tools: [TOOLS], env: secrets, frontEndEnv: { PARLEY_PLAYGROUND: "off" } });
  const { url, prefix } = deployment.redis;
  env = {
    REDIS_URL: url,
    PARLEY_PREFIX: prefix,
    PARLEY_TOOLS: TOOLS,
    PARLEY_URL: deployment.url,
    HOME: home,
    XDG_CONFIG_HOME: home,
    ...secrets,
  };
  const [called] = await json("call", "greet", "--marker", "waiting", "--no-wait");
  waiting = String(called?.["taskId"]);
});

afterAll(async () => {
  await deployment?.close();
  await rm(home, { recursive: true, force: true });
});

const tried = new Set<string>();
const run = (args: readonly string[]): Promise<Ran> => parley(args, { env, cwd: home });

/** The lines that it prints. `code`: how it ends. */
async function json(...args: string[]): Promise<Record<string, unknown>[]> {
  return await jsonEndingWith(0, ...args);
}

async function jsonEndingWith(code: number, ...args: string[]): Promise<Record<string, unknown>[]> {
  const ran = await run([...args, "--json"]);
  expect({ args, code: ran.code, stderr: ran.code === code ? "" : ran.stderr }).toEqual({ args, code, stderr: "" });
  const path = args.slice(0, 2).join(" ");
  tried.add(leaves(program).includes(path) ? path : (args[0] ?? ""));
  return ran.stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** `tasks get`, `audit verify`: what can be run. */
function leaves(command: typeof program, path: readonly string[] = []): string[] {
  const own = path.length > 0 && (command.commands.length === 0 || path.join(" ") === "tasks") ? [path.join(" ")] : [];
  return [...own, ...command.commands.flatMap((each) => leaves(each, [...path, each.name()]))];
}

describe("with --json", () => {
  test("a task is called, seen, listed, answered and cancelled", async () => {
    expect(await json("tools")).toEqual([{ tools: expect.arrayContaining([expect.objectContaining({ name: "greet" })]) }]);
    const ask = expect.objectContaining({ key: "who", type: "form", deadlineMs: expect.any(Number), onTimeout: expect.any(String) });
    await expect
      .poll(async () => await json("task", waiting))
      .toEqual([
        expect.objectContaining({ taskId: waiting, status: "input_required", timeline: expect.objectContaining({ asks: [ask] }) }),
      ]);
    const [shown] = await json("inbox");
    const request = expect.objectContaining({ type: "form", message: "Who are you?", schema: expect.anything() });
    const question = {
      taskId: waiting,
      key: "who",
      tool: "greet",
      state: "open",
      owner: { principal: expect.any(String), isCaller: true },
      request,
    };
    expect(shown).toEqual({ questions: [expect.objectContaining(question)], isMore: false });
    expect(await json("inbox", "--tool", "nothing", "--decline", "--yes")).toEqual([{ receipts: [] }]);
    const ofTask = expect.objectContaining({ taskId: waiting, status: "input_required" });
    expect(await json("tasks")).toEqual([{ tasks: [ofTask] }]);
    expect((await run(["tasks", "get", waiting, "--json"])).stdout).toContain(waiting);
    tried.add("tasks get");

    const [other] = await json("call", "greet", "--marker", "cancelled", "--no-wait");
    expect(await json("cancel", String(other?.["taskId"]))).toEqual([{ taskId: other?.["taskId"], status: "cancelled" }]);
    expect(await json("tasks", "cancel", String(other?.["taskId"]))).toEqual([{ taskId: other?.["taskId"], status: "cancelled" }]);
    const [answered] = await json("call", "greet", "--marker", "answered", "--no-wait");
    const id = String(answered?.["taskId"]);
    await expect.poll(async () => (await json("task", id))[0]?.["status"]).toBe("input_required");
    const about = { taskId: id, key: "who" };
    const claimedBy = { principal: expect.any(String), isCaller: true, until: expect.any(String) };
    expect(await json("claim", id, "who")).toEqual([{ ...about, receipt: "claimed", claimedBy }]);
    expect(await json("release", id)).toEqual([{ ...about, receipt: "released" }]);
    expect(await json("comment", id, "--message", "Soon")).toEqual([{ ...about, receipt: "commented" }]);
    expect(await json("snooze", id, "--for", "1 hour")).toEqual([{ ...about, receipt: "snoozed", until: expect.any(String) }]);
    expect(await json("snooze", id, "--back")).toEqual([{ ...about, receipt: "unsnoozed" }]);
    // Its tool does not allow this.
    expect(await jsonEndingWith(1, "delegate", id, "--to", "bob", "--reason", "On leave")).toEqual([]);
    expect(await jsonEndingWith(1, "ask-back", id, "--message", "Why?")).toEqual([]);
    expect(await jsonEndingWith(1, "reply", id, "--message", "Because")).toEqual([]);
    expect(await json("answer", id, "who", "--set", "name=Ann")).toEqual([{ taskId: id, key: "who", answered: true }]);
  });

  test("tasks are exported and replayed", async () => {
    expect(await json("export", waiting, "--with-content", "--out", "waiting.jsonl")).toEqual([
      { tasks: 1, unreadable: 0, more: false, file: "waiting.jsonl" },
    ]);
    const [task, counts] = await json("replay", "waiting.jsonl", "--tools", TOOLS);
    expect(task).toMatchObject({ taskId: waiting, tool: "greet", verdict: "continues" });
    expect(counts).toEqual({ tasks: 1, continues: 1, diverges: 0, fails: 0, unknown: 0 });
  });

  test("records are exported, verified and signed", async () => {
    const records = expect.any(Number);
    expect(await json("audit", "export", "--out", "audit.jsonl")).toEqual([{ records, file: "audit.jsonl" }]);
    expect(await json("audit", "verify", "audit.jsonl")).toEqual([{ records, files: 1, checkpointAt: null, problems: [] }]);
    const lines = (await readFile(join(home, "audit.jsonl"), "utf8")).split("\n");
    await writeFile(join(home, "changed.jsonl"), lines.map((line, at) => (at === 0 ? line.replace(/"n":1/, '"n":2') : line)).join("\n"));
    const [changed] = await jsonEndingWith(1, "audit", "verify", "changed.jsonl");
    expect(changed?.["problems"]).toContainEqual({ file: "changed.jsonl", line: 1, kind: "broken", says: expect.any(String) });
    const { privateKey } = generateKeyPairSync("ed25519");
    await writeFile(join(home, "key.pem"), privateKey.export({ type: "pkcs8", format: "pem" }));
    expect(await json("audit", "checkpoint", "audit.jsonl", "--key", "key.pem")).toEqual([
      expect.objectContaining({ heads: expect.anything() }),
    ]);
  });

  test("finished tasks are counted and deleted", async () => {
    const [called] = await json("call", "greet", "--marker", "purged", "--no-wait");
    await json("cancel", String(called?.["taskId"]));
    const of = ["--older-than", "0s", "--tool", "greet"];
    const [found] = await json("purge", ...of);
    const tasks = Number(found?.["tasks"]);
    expect(tasks).toBeGreaterThan(0);
    const group = { name: "tool greet", tasks, bytes: expect.any(Number) };
    expect(found).toEqual({
      deleted: false,
      tasks,
      bytes: expect.any(Number),
      tools: [group],
      callers: [expect.objectContaining({ tasks })],
    });
    expect(await json("purge", ...of, "--yes")).toEqual([{ ...found, deleted: true }]);
    expect(await json("purge", ...of)).toEqual([{ deleted: false, tasks: 0, bytes: 0, tools: [], callers: [] }]);
  });

  test("keys are made, listed, turned and revoked", async () => {
    const [made] = await json("keys", "create", "robot", "--expires", "90d");
    const { id, key } = made ?? {};
    expect(made).toEqual({
      id,
      key: expect.any(String),
      name: "robot",
      tenant: "default",
      scopes: ["tools", "tasks", "asks"],
      createdAtMs: expect.any(Number),
      expiresAtMs: expect.any(Number),
    });
    const listed = await json("keys", "list");
    expect(listed).toEqual([expect.objectContaining({ id, name: "robot" })]);
    expect(JSON.stringify(listed)).not.toContain(String(key));
    expect(await json("keys", "revoke", String(id))).toEqual([{ id, name: "robot", tenant: "default", revoked: true }]);

    const [content] = await json("content", "new-key");
    expect(Buffer.from(String(content?.["key"]), "base64")).toHaveLength(32);
    expect(await json("content", "rotate", "--data-keys")).toEqual([{ wrapped: 0, current: expect.any(Number), lacking: 0, tenants: 1 }]);
    expect(await jsonEndingWith(1, "content", "erase-tenant", "nobody", "--yes")).toEqual([{ tenant: "nobody", keys: 0, waiting: 0 }]);
  });

  test("webhooks are listed and tried, and what they did not take", async () => {
    const file = join(home, "webhooks.yaml");
    const secret = `whsec_${randomBytes(32).toString("base64")}`;
    await writeFile(file, `webhooks: { ops: { url: "http://127.0.0.1:9/hook", secret: "${secret}", private: true } }`);
    const [{ webhooks }] = (await json("webhooks", "list", "--file", file)) as [{ webhooks: unknown }];
    expect(webhooks).toEqual([
      { name: "ops", url: "http://127.0.0.1:9/hook", events: ["ask.opened", "ask.reminded", "ask.settled", "task.ended"], dead: 0 },
    ]);
    const refused = { webhook: "ops", taken: false, why: "connection_refused" };
    expect(await jsonEndingWith(1, "webhooks", "test", "ops", "--file", file)).toEqual([refused]);
    expect(await json("webhooks", "dead", "ops")).toEqual([]);
    const nothing = { webhook: "ops", taken: 0, refused: 0, left: 0, unknown: [] };
    expect(await json("webhooks", "replay", "ops", "--file", file)).toEqual([nothing]);
  });

  test("grants for later calls are listed and revoked", async () => {
    expect(await json("grants", "list")).toEqual([]);
    expect(await jsonEndingWith(1, "grants", "revoke", "--tenant", "nobody")).toEqual([{ revoked: 0 }]);
  });

  test("servers behind the gateway are listed and tried", async () => {
    const server = join(import.meta.dirname, "../../node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    const upstreams = [
      { name: "everything", command: process.execPath, args: [server, "stdio"] },
      { name: "nobody", url: "http://127.0.0.1:9/mcp" },
      { name: "broken", command: process.execPath, args: ["-e", "throw 'API_KEY is not set'"] },
    ];
    await writeFile(join(home, "upstreams.json"), JSON.stringify({ upstreams }));
    const file = ["--file", "upstreams.json"];
    const [listed] = await json("upstreams", "list", ...file);
    expect(listed?.["upstreams"]).toMatchObject([
      { name: "everything", at: `stdio ${process.execPath}` },
      { name: "nobody", at: "http://127.0.0.1:9/mcp" },
      { name: "broken", at: `stdio ${process.execPath}` },
    ]);
    const [tested] = await jsonEndingWith(1, "upstreams", "test", ...file);
    expect(tested?.["upstreams"]).toEqual([
      expect.objectContaining({ name: "everything", answers: true, tools: expect.any(Number), revision: expect.any(String) }),
      { name: "nobody", answers: false, problem: expect.any(String) },
      {
        name: "broken",
        answers: false,
        problem: expect.stringContaining("CONNECTION_CLOSED"),
        stderr: expect.arrayContaining([expect.stringContaining("API_KEY is not set")]),
      },
    ]);
    const [tools] = await json("upstreams", "tools", "everything", ...file);
    // The second one is listed only to clients that can ask.
    for (const name of ["everything_echo", "everything_trigger-elicitation-request"])
      expect(tools?.["tools"]).toContainEqual({ name, mayRepeat: expect.any(Boolean) });
  });

  test("rules for approvals are checked and explained", async () => {
    const file = join(home, "rules.yaml");
    await writeFile(file, "default: deny\nrules: [{ name: echoes, tools: [echo], action: allow }]\n");
    expect(await json("policy", "check", "--file", file)).toEqual([
      {
        file,
        valid: true,
        version: expect.any(String),
        dryRun: false,
        warnings: [expect.stringContaining('rule echoes: "echo" fits none')],
      },
    ]);
    expect(await json("policy", "explain", "echo", "--file", file)).toEqual([
      { tool: "echo", dryRun: false, type: "allow", rule: "echoes", tried: [] },
    ]);
    expect(await json("policy", "report", "--days", "3")).toEqual([
      { tenant: "default", days: 3, sinceMs: expect.any(Number), isMoreWaiting: false, rules: [] },
    ]);
    expect(await json("policy", "standing")).toEqual([{ tenant: "default", approvals: [] }]);
    expect(await jsonEndingWith(1, "policy", "revoke", "none")).toEqual([{ id: "none", tenant: "default", revoked: false }]);
  });

  test("the setup is checked, a client set up, and a login not needed", async () => {
    const [checked] = await json("doctor");
    expect(checked?.["findings"]).toContainEqual(
      expect.objectContaining({ level: "fine", about: expect.any(String), says: expect.any(String) }),
    );
    const [tried] = await json("doctor", "--client", "--for", "1s");
    expect(tried).toEqual({ format: 1, parley: expect.any(String), at: expect.any(String), clients: [], leftOut: 0 });
    const [installed] = await json("install", "inspector", "--yes");
    expect(installed).toEqual({ client: "inspector", file: expect.any(String), changed: true });
    expect(await json("login")).toEqual([{ url: deployment.url, needed: false }]);
    expect(await json("logout", "--all")).toEqual([{ forgotten: [] }]);
  });

  test("a refusal is an object on standard error, and standard output is empty", async () => {
    const { code, stdout, stderr } = await run(["task", "0-AAAAAAAAAAAAAAAAAAAAAA", "--json"]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(JSON.parse(stderr)).toEqual({ error: { message: expect.any(String), code: expect.any(Number) } });
  });

  test("none was left out", () => {
    expect([...tried].toSorted()).toEqual(
      leaves(program)
        .filter((path) => !WITHOUT.includes(path))
        .toSorted(),
    );
  });
});
