/**
 * `parley stdio` in hard cases: thousands of messages, lines that are not messages, a server that is killed during a question, a client
 * that leaves, and several clients on one data directory.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { freePorts } from "../support/free-ports.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { IN_TIME } from "../support/in-time.ts";
import { type Message, openPipe, type Pipe } from "../support/pipe.ts";
import { startFrontEnd } from "../support/processes.ts";
import { until } from "../support/until.ts";

const TOOLS = join(import.meta.dirname, "../dialects/tools.ts");
const INITIALIZE = {
  protocolVersion: "2025-11-25",
  capabilities: { elicitation: { form: {} } },
  clientInfo: { name: "pipe", version: "1" },
};

const open: Pipe[] = [];
function pipeTo(args: readonly string[], env?: Readonly<Record<string, string>>): Pipe {
  const pipe = openPipe(args, env);
  open.push(pipe);
  return pipe;
}
afterEach(async () => {
  await Promise.all(open.splice(0).map((pipe) => pipe.close()));
});

async function initialized(pipe: Pipe): Promise<void> {
  await pipe.request("initialize", INITIALIZE);
  pipe.send({ jsonrpc: "2.0", method: "notifications/initialized" });
}
const isQuestion = ({ method }: Message) => method === "elicitation/create";
const textOf = ({ result }: Message) => (result?.["content"] as { text: string }[] | undefined)?.[0]?.text;
const answer = (pipe: Pipe, { id }: Message, name: string) =>
  pipe.send({ jsonrpc: "2.0", id, result: { action: "accept", content: { name } } });

describe("in front of a server elsewhere", () => {
  let deployment: Deployment;
  beforeAll(async () => {
    deployment = await startDeployment({ frontEnds: 1, workers: 1, tools: [TOOLS], env: { PARLEY_RETRY: "50ms" } });
  });
  afterAll(() => deployment?.close());

  test("ten thousand requests at once are answered, each once", async () => {
    const pipe = pipeTo(["--url", deployment.url]);
    await initialized(pipe);
    const ids = Array.from({ length: Number(process.env["STDIO_MESSAGES"] ?? 10_000) }, (_, id) => id);
    for (const id of ids) pipe.send({ jsonrpc: "2.0", id, method: "ping" });
    await until(() => pipe.messages.length >= ids.length + 1, { timeoutMs: 200_000 });
    const answered = pipe.messages.flat().filter(({ id, result }) => typeof id === "number" && result !== undefined);
    expect(answered.map(({ id }) => Number(id)).toSorted((one, other) => one - other)).toEqual(ids);
  });

  test("lines that are not messages, or too long, are answered with errors, and the next is served", async () => {
    const pipe = pipeTo(["--url", `${deployment.frontEnds[0]?.url}/mcp`]);
    await initialized(pipe);
    pipe.send("Hello?");
    pipe.send(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"text":"${"x".repeat(10 * 1_048_576)}"}}`);
    pipe.send("y".repeat(17 * 1_048_576));
    // The server refuses ten megabytes, and the bridge knows which request that was, also when the refusal is lost with the connection.
    expect((await pipe.message(({ id }) => id === 1)).error?.message).toContain("PARLEY_BODY_BYTES_MAX");
    expect(await pipe.request("ping")).toMatchObject({ result: {} });
    const problems = pipe.messages.flat().flatMap(({ id, error }) => (error && id === undefined ? [error.message] : []));
    expect(problems).toEqual(["the line is not valid JSON", "the line is longer than 16777216 bytes"]);
  });

  test("two clients on one pipe are both served: a handshake during the other's question, and colliding ids", async () => {
    const pipe = pipeTo(["--url", deployment.url]);
    await initialized(pipe);
    pipe.send({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "greet", arguments: { marker: "shared" } } });
    const question = await pipe.message(isQuestion);

    // Another client does not know of the first: it begins anew, also with its ids.
    expect(await pipe.request("initialize", { ...INITIALIZE, capabilities: {} }, 0)).toMatchObject({
      result: { protocolVersion: "2025-11-25" },
    });
    pipe.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    pipe.send({ jsonrpc: "2.0", id: 1, method: "tools/list" });
    const refused = await pipe.message(({ error }) => error !== undefined);
    expect(refused).toMatchObject({
      id: 1,
      error: { code: -32600, message: expect.stringMatching(/^the id is in use.*start `parley stdio` for each$/) },
    });
    expect(await pipe.request("tools/list", {}, 2)).toMatchObject({ result: { tools: expect.any(Array) as unknown } });

    // The first one's call has its answer, and its result, although its session is not the last.
    answer(pipe, question, "Ann");
    expect(textOf(await pipe.message(({ id, result }) => id === 1 && result !== undefined))).toBe("Hello, Ann!");
    expect(pipe.said()).toBe("");
  });

  test("a client that has finished is released within a second, with nothing on standard error", IN_TIME, async () => {
    const pipe = pipeTo(["--url", deployment.url]);
    await initialized(pipe);
    const startedAtMs = performance.now();
    pipe.child.stdin?.end();
    expect(await pipe.ended).toBe(0);
    expect(performance.now() - startedAtMs).toBeLessThan(1_000);
    expect(pipe.said()).toBe("");
  });

  test("a script gets answers to everything that it wrote before it closed its end", async () => {
    const pipe = pipeTo(["--url", deployment.url]);
    pipe.send({ jsonrpc: "2.0", id: 1, method: "initialize", params: INITIALIZE });
    pipe.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    // The last line has no newline.
    pipe.child.stdin?.end(JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/list" }));
    expect(await pipe.ended).toBe(0);
    expect(pipe.messages.flat().map(({ id }) => id)).toEqual([1, 2]);
  });

  test("a call that still waits when the client closes its end is answered with an error", async () => {
    const pipe = pipeTo(["--url", deployment.url]);
    await initialized(pipe);
    pipe.send({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "greet", arguments: { marker: "closed" } } });
    await pipe.message(isQuestion);
    pipe.child.stdin?.end();
    expect(await pipe.ended).toBe(0);
    expect(pipe.messages.flat().find(({ id }) => id === 1)?.error).toStrictEqual({
      code: -32000,
      message: "the client closed its end before tools/call was answered. It may have been carried out: check before you retry",
    });
    expect(pipe.said()).toBe("");
  });

  test("a client that dies ends the process", async () => {
    const script = `const { spawn } = require("node:child_process");
      const child = spawn(${JSON.stringify(process.execPath)}, ["apps/cli/main.ts", "stdio", "--url", ${JSON.stringify(deployment.url)}], { stdio: ["pipe", "pipe", "inherit"] });
      console.log(child.pid); setInterval(() => {}, 1000);`;
    const client = spawn(process.execPath, ["-e", script], {
      cwd: resolve(import.meta.dirname, "../.."),
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [pid] = (await once(client.stdout, "data")) as [Buffer];
    client.kill("SIGKILL");
    await until(() => !isRunning(Number(pid)));
  });
});

test("a server that is killed in the middle of a question is found again: its answer counts, and the result arrives", async () => {
  const deployment = await startDeployment({ frontEnds: 0, workers: 1, tools: [TOOLS] });
  const [port = 0] = await freePorts(1);
  const { url, prefix } = deployment.redis;
  const env = { REDIS_URL: url, PARLEY_PREFIX: prefix, PARLEY_TOOLS: TOOLS, PARLEY_PORT: String(port), PARLEY_RETRY: "50ms" };
  let frontEnd = await startFrontEnd(env);
  try {
    const pipe = pipeTo(["--url", `${frontEnd.url}/mcp`]);
    await initialized(pipe);
    const called = pipe.request("tools/call", { name: "interview", arguments: { marker: "killed" } }, "call");
    const first = await pipe.message(isQuestion);
    await frontEnd.kill();
    // Given while no server takes it.
    answer(pipe, first, "Ann");
    frontEnd = await startFrontEnd(env);
    for (const [name, member] of [
      ["Bob", "Member 2?"],
      ["Cy", "Member 3?"],
    ] as const) {
      answer(pipe, await pipe.message((each) => isQuestion(each) && each.params?.["message"] === member), name);
    }
    expect(textOf(await called)).toBe("Ann and Bob and Cy");
    expect(pipe.messages.flat().filter(isQuestion)).toHaveLength(3);
  } finally {
    await frontEnd.kill();
    await deployment.close();
  }
});

test("what is no URL of an endpoint is refused before anything is read", async () => {
  const pipe = pipeTo(["--url", "127.0.0.1:3000/mcp"]);
  expect(await pipe.ended).toBe(1);
  expect(pipe.said()).toBe("parley: 127.0.0.1:3000/mcp is not the URL of an MCP endpoint: it must begin with http:// or https://\n");
});

describe("with a server of its own", () => {
  let dataDir: string;
  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "parley-stdio-"));
  });
  afterAll(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }));

  test("a script that closes its end before the server has started gets its answers; if the server cannot start, why", async () => {
    // Loading these tools takes longer than open requests are waited for.
    const slow = join(dataDir, "slow.mjs");
    await writeFile(
      slow,
      `await new Promise((done) => setTimeout(done, 2_000));\nexport * from ${JSON.stringify(pathToFileURL(TOOLS).href)};`,
    );
    const pipe = pipeTo(["--data-dir", join(dataDir, "slow"), "--tools", slow]);
    pipe.send({ jsonrpc: "2.0", id: 1, method: "initialize", params: INITIALIZE });
    pipe.child.stdin?.end();
    expect(await pipe.ended).toBe(0);
    expect(pipe.messages).toMatchObject([{ id: 1, result: { protocolVersion: "2025-11-25" } }]);

    const none = pipeTo(["--data-dir", join(dataDir, "none"), "--tools", join(dataDir, "none.mjs")]);
    none.send({ jsonrpc: "2.0", id: 1, method: "initialize", params: INITIALIZE });
    none.child.stdin?.end();
    expect(await none.ended).toBe(1);
    expect(none.messages).toMatchObject([
      { id: 1, error: { message: expect.stringMatching(/^tool module ".*none.mjs" cannot be loaded/) } },
    ]);
    expect(none.said()).toContain("cannot be loaded");
  });

  test("a call that waits while the server of this process breaks is answered with an error", async () => {
    const directory = join(dataDir, "broken");
    const pipe = pipeTo(["--data-dir", directory, "--tools", TOOLS]);
    await initialized(pipe);
    pipe.send({ jsonrpc: "2.0", id: "call", method: "tools/call", params: { name: "greet", arguments: { marker: "broken" } } });
    await pipe.message(isQuestion);
    const { serverPid } = JSON.parse(await readFile(join(directory, "server.json"), "utf8")) as { serverPid: number };
    process.kill(serverPid, "SIGKILL");
    expect(await pipe.ended).toBe(1);
    expect(pipe.messages.flat().find(({ id }) => id === "call")?.error?.message).toMatch(
      /^the server ended before tools\/call was answered/,
    );
    expect(pipe.said()).toContain("redis.log says why");
  });

  test(
    "two clients share it, and when the first is killed in the middle of the other's question the other continues",
    IN_TIME,
    async () => {
      const args = ["--data-dir", dataDir, "--tools", TOOLS];
      const env = { PARLEY_RETRY: "50ms", PARLEY_LEASE: "1s", PARLEY_RENEW_EVERY: "300ms" };
      const host = pipeTo(args, env);
      await initialized(host);
      const guest = pipeTo(args, env);
      await initialized(guest);
      const called = guest.request("tools/call", { name: "greet", arguments: { marker: "guest" } }, "call");
      const question = await guest.message(isQuestion);
      host.child.kill("SIGKILL");
      await host.ended;
      answer(guest, question, "Ann");
      expect(textOf(await called)).toBe("Hello, Ann!");
      expect(guest.messages.flat().filter(isQuestion)).toHaveLength(1);

      const startedAtMs = performance.now();
      guest.child.stdin?.end();
      expect(await guest.ended).toBe(0);
      expect(performance.now() - startedAtMs).toBeLessThan(1_000);
    },
  );
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
