/** The command line: invalid options and settings. Each case starts a process, so there are few of them. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import fc from "fast-check";
import type { Door } from "../door.ts";
import { CONTENT, oddNames } from "../draw/json.ts";
import { leakIn } from "../leaks.ts";
import { Broken, type ReplyRule } from "../rules.ts";

interface Command {
  readonly kind: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Which exit codes it may have. */
  readonly codes: readonly number[];
}

const MAIN = resolve(import.meta.dirname, "../../../apps/cli/main.ts");
/** Filled in with the endpoint behind the proxy. */
const URL_OF_MCP = "{{url}}";
/** Node itself takes a second of it on a busy machine. */
const TIMEOUT_MS = 30_000;
const SAID_CHARS_MAX = 16_384;

export const cli: Door<Command> = {
  name: "cli",
  cost: 100,
  open(system) {
    async function send({ kind, args, env, codes }: Command): Promise<void> {
      const url = `${system.url}/mcp`;
      const child = spawn(process.execPath, [MAIN, ...args.map((arg) => arg.replaceAll(URL_OF_MCP, url))], {
        env: { PATH: process.env["PATH"], HOME: process.env["HOME"], PARLEY_URL: url, ...env },
        stdio: ["ignore", "pipe", "pipe"],
      });
      let said = "";
      for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (said += chunk.toString()));
      const timeout = setTimeout(() => child.kill("SIGKILL"), TIMEOUT_MS);
      const [code, signal] = (await once(child, "close")) as [number | null, string | null];
      clearTimeout(timeout);
      const broken = (rule: ReplyRule, what: string) =>
        new Broken(rule, { kind, changes: [], what: `${what}\n  said     ${said.slice(0, 1_000)}` });
      if (signal !== null) throw broken("hang", `did not end within ${TIMEOUT_MS} ms`);
      if (code === null || !codes.includes(code)) throw broken(code === 0 ? "wrongly-accepted" : "wrongly-refused", `exit code ${code}`);
      if (code !== 0 && said.trim() === "") throw broken("shape", "it failed and says nothing");
      if (said.length > SAID_CHARS_MAX) throw broken("size", `${said.length} characters`);
      const leak = leakIn(said, args.join(" "));
      if (leak !== undefined) throw broken("leak", leak);
    }
    return Promise.resolve({ cases: commands(), send, close: () => undefined });
  },
};

function commands(): fc.Arbitrary<Command> {
  // Arguments of processes hold no NUL, and those that begin with a dash are options.
  const odd = oddNames().filter((text) => !text.includes("\u0000") && !text.startsWith("-"));
  const command = (
    kind: string,
    codes: readonly number[],
    args: fc.Arbitrary<readonly string[]>,
    env: fc.Arbitrary<Record<string, string>> = fc.constant({}),
  ) => fc.record({ kind: fc.constant(kind), codes: fc.constant(codes), args, env }) as fc.Arbitrary<Command>;
  const url = ["--url", URL_OF_MCP];
  return fc.oneof(
    command("help", [0], fc.constantFrom(["--help"], ["call", "--help"], ["tasks", "get", "-h"], ["help"])),
    command(
      "no such command",
      [1],
      fc
        .oneof(
          odd.filter((text) => text !== "help"),
          fc.constantFrom("__proto__", "constructor"),
        )
        .map((text) => [text]),
    ),
    command(
      "no such option",
      [1],
      fc.constantFrom(["call", "echo", "--nope"], ["tasks", "get"], ["answer"], ["call"], ["--port", "1"], ["doctor", "surplus"]),
    ),
    command(
      "call",
      [0],
      fc.constantFrom(["call", "echo", "-a", `text=${CONTENT}`, ...url], ["call", "echo", "-j", `{"text":"${CONTENT}"}`, ...url]),
    ),
    command(
      "call of nobody",
      [1],
      odd.map((name) => ["call", name, ...url]),
    ),
    command(
      "call with wrong arguments",
      [1],
      fc.constantFrom("times=9", "text", "=x").map((arg) => ["call", "echo", "-a", arg, ...url]),
    ),
    command(
      "call with wrong JSON",
      [1],
      fc.oneof(odd, fc.constantFrom("{", "[]", "1", "null", '{"text":1}')).map((json) => ["call", "echo", "-j", json, ...url]),
    ),
    command(
      "a wrong url",
      [1],
      fc
        .oneof(odd, fc.constantFrom("http://127.0.0.1:1/mcp", "file:///etc/passwd", "ftp://x", "http://", "javascript:1"))
        .map((each) => ["call", "echo", "-a", "text=x", "--url", each]),
    ),
    command(
      "a task that is not there",
      [1],
      fc.tuple(fc.constantFrom("get", "cancel"), odd).map(([verb, id]) => ["tasks", verb, id, ...url]),
    ),
    command(
      "an answer to nothing",
      [1],
      fc.tuple(odd, odd).map(([id, key]) => ["answer", id, key, "--accept", ...url]),
    ),
    command("a wrong setting", [1], fc.constantFrom(["server"], ["worker"]), wrongSetting()),
    command("doctor with wrong settings", [1], fc.constant(["doctor"]), wrongSetting()),
  );
}

/** Both kinds of process read these. */
function wrongSetting(): fc.Arbitrary<Record<string, string>> {
  const wrong = fc.constantFrom(
    ["PARLEY_LEASE", "soon"],
    ["PARLEY_LEASE", "-1s"],
    ["PARLEY_LOG_LEVEL", "loud"],
    ["PARLEY_METRICS_PORT", "99999"],
    ["PARLEY_JOURNAL_ENTRIES_MAX", "many"],
    ["PARLEY_STORED_VALUE_MAX", "1e400"],
    ["PARLEY_REDIS_TIMEOUT", "5"],
    ["PARLEY_ALLOW_EVICTION", "perhaps"],
    ["REDIS_URL", "http://localhost"],
    ["REDIS_URL", "redis://user:c4n4ry-password@127.0.0.1:1"],
  );
  return wrong.map(([name = "", value = ""]) => ({ REDIS_URL: "redis://127.0.0.1:1", PARLEY_REDIS_START_TIMEOUT: "100ms", [name]: value }));
}
