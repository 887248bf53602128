/**
 * `parley stdio`: lines of a misbehaving client on one pipe. In every case, standard output holds only JSON-RPC, each request is answered
 * once, each line that is not a message is refused once, and the next request is answered normally.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import fc from "fast-check";
import { MAIN } from "../../support/pipe.ts";
import { until } from "../../support/until.ts";
import type { Door } from "../door.ts";
import {
  CONTENT,
  type Drawn,
  expand,
  isObject,
  type Json,
  type JsonObject,
  largeJson,
  oddNames,
  type Path,
  someJson,
  withValue,
} from "../draw/json.ts";
import { leakIn } from "../leaks.ts";
import { LIST_BYTES_MAX, REPLY_TIMEOUT_MS } from "../limits.ts";
import { Broken, type ReplyRule } from "../rules.ts";
import { statelessDraft } from "../wire/stateless.ts";

type Line =
  | { readonly kind: "request"; readonly method: string; readonly params: Drawn; readonly changes: readonly Change[] }
  | { readonly kind: "batch"; readonly of: readonly Drawn[] }
  | { readonly kind: "text"; readonly text: string }
  /** In base64. */
  | { readonly kind: "bytes"; readonly bytes: string };

interface Change {
  readonly path: Path;
  /** Absent: the member is taken away. */
  readonly to?: Drawn;
}

/** What must come back for a line. */
interface Due {
  /** Requests, as JSON texts of their ids. */
  readonly ids: readonly string[];
  /** Errors without an id; undefined where the server has a say in it. */
  readonly refusals: number | undefined;
}

const NONE: Due = { ids: [], refusals: 0 };
const ID_CHARS_MAX = 1_024;
/** As the server, the process ends within this. */
const END_MS = 10_000;

export const stdio: Door<readonly Line[]> = {
  name: "stdio",
  cost: 2,
  open(system) {
    let pipe = openPipe(`${system.url}/mcp`);
    let requests = 0;
    const freshId = () => `fuzz-${(requests += 1)}`;

    async function send(lines: readonly Line[]): Promise<void> {
      if (pipe.hasEnded()) pipe = openPipe(`${system.url}/mcp`);
      const rendered = lines.map((line) => render(line, freshId));
      const probe = freshId();
      const due = [...rendered.map(dueFor), { ids: [JSON.stringify(probe)], refusals: 0 }];
      const kinds = [...new Set(lines.map(({ kind }) => kind))].toSorted().join(" + ");
      const sent = rendered.map((line) => line.toString().slice(0, 300)).join("\n           ");
      const broken = (rule: ReplyRule, what: string) => new Broken(rule, { kind: kinds, changes: [], what: `${what}\n  sent     ${sent}` });

      const output = pipe.begin();
      for (const line of rendered) pipe.write(line);
      pipe.write(Buffer.from(JSON.stringify({ ...(statelessDraft({ method: "fuzz/probe", params: {} }).body as object), id: probe })));
      const wanted = due.flatMap(({ ids }) => ids);
      const missing = () => wanted.filter((id) => !output.some((line) => line.startsWith("{") && line.includes(`"id":${id}`)));
      await until(() => missing().length === 0 || pipe.hasEnded(), { timeoutMs: REPLY_TIMEOUT_MS, everyMs: 2 }).catch(() => undefined);
      if (pipe.hasEnded()) throw broken("dropped", `the process ended: ${pipe.said().slice(-500)}`);
      if (missing().length > 0) throw broken("hang", `no answer to ${missing().join(", ")} within ${REPLY_TIMEOUT_MS} ms`);
      judge(output, due, broken);
      if (pipe.said().includes(CONTENT)) throw broken("leak", `content on standard error: ${pipe.said().slice(-500)}`);
    }

    return Promise.resolve({ cases: fc.array(aLine(), { minLength: 1, maxLength: 4 }), send, close: () => pipe.close() });
  },
};

function judge(output: readonly string[], due: readonly Due[], broken: (rule: ReplyRule, what: string) => Broken): void {
  const wanted = due.flatMap(({ ids }) => ids);
  const refusals = due.every((each) => each.refusals !== undefined)
    ? due.reduce((sum, { refusals: count = 0 }) => sum + count, 0)
    : undefined;
  const answered: string[] = [];
  let refused = 0;
  for (const line of output) {
    if (line.length > LIST_BYTES_MAX) throw broken("size", `${line.length} characters: ${line.slice(0, 300)}`);
    const leak = leakIn(line);
    if (leak !== undefined) throw broken("leak", leak);
    for (const message of messagesIn(line, broken)) {
      if (typeof message["method"] === "string") {
        if ("id" in message) throw broken("effect", `a question that nothing led to: ${line.slice(0, 300)}`);
        continue;
      }
      const error = message["error"];
      if (error !== undefined && !(isObject(error) && Number.isInteger(error["code"]) && typeof error["message"] === "string"))
        throw broken("shape", `an error without a code or a text: ${line.slice(0, 300)}`);
      if (isObject(error) && error["code"] === -32_603) throw broken("server-error", line.slice(0, 300));
      if (message["id"] === undefined || message["id"] === null) refused += 1;
      else answered.push(JSON.stringify(message["id"]));
    }
  }
  for (const id of new Set(answered)) {
    const times = answered.filter((each) => each === id).length;
    const most = wanted.filter((each) => each === id).length;
    if (times > most)
      throw broken(
        "effect",
        `${times} answers to ${id}, which ${most} requests have: ${output.find((line) => line.includes(id))?.slice(0, 500)}`,
      );
  }
  if (refusals !== undefined && refused !== refusals)
    throw broken(refused < refusals ? "hang" : "wrongly-refused", `${refused} refusals without an id, and ${refusals} are due`);
}

function messagesIn(line: string, broken: (rule: ReplyRule, what: string) => Broken): readonly { readonly [key: string]: Json }[] {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw broken("shape", `standard output holds what is no JSON: ${line.slice(0, 300)}`);
  }
  const messages = (Array.isArray(value) ? value : [value]) as unknown[];
  return messages.map((message) => {
    if (isObject(message) && message["jsonrpc"] === "2.0") return message;
    throw broken("shape", `standard output holds what is no JSON-RPC: ${line.slice(0, 300)}`);
  });
}

// ── what is sent ─────────────────────────────────────────────────────────────────────────────────────────────────

/** Requests that neither ask nor open anything; a handshake would make later lines wait for its end, as they should. */
const REQUESTS: readonly (readonly [method: string, params: Drawn])[] = [
  ["tools/list", {}],
  ["prompts/list", {}],
  ["server/discover", {}],
  ["tools/call", { name: "echo", arguments: { text: CONTENT } }],
  ["tasks/get", { taskId: "0-AAAAAAAAAAAAAAAAAAAAAA" }],
  ["tasks/cancel", { taskId: "0-AAAAAAAAAAAAAAAAAAAAAA" }],
  ["fuzz/unknown", { text: CONTENT }],
];

const PATHS: readonly Path[] = [
  ["jsonrpc"],
  ["id"],
  ["method"],
  ["params"],
  ["params", "_meta"],
  ["params", "name"],
  ["params", "arguments"],
  ["params", "taskId"],
  ["params", "cursor"],
  ["result"],
  ["error"],
];

function aLine(): fc.Arbitrary<Line> {
  const values: fc.Arbitrary<Drawn> = fc.oneof(
    { weight: 12, arbitrary: someJson() },
    { weight: 4, arbitrary: oddNames() },
    { weight: 1, arbitrary: largeJson() },
  );
  const change: fc.Arbitrary<Change> = fc.oneof(
    fc.record({ path: fc.constantFrom(...PATHS), to: values }),
    fc.constantFrom(...PATHS).map((path) => ({ path })),
  );
  const request = fc
    .tuple(
      fc.constantFrom(...REQUESTS),
      fc.oneof({ weight: 1, arbitrary: fc.constant([]) }, { weight: 3, arbitrary: fc.array(change, { maxLength: 3 }) }),
    )
    .map(([[method, params], changes]): Line => ({ kind: "request", method, params, changes }));
  // A newline ends the line, and an empty one is none.
  const text = fc
    .oneof(
      oddNames(),
      fc.constantFrom("{", "}{", "[", "nul", '"', "[1,]", "{'a':1}", '{"jsonrpc":"2.0"', "\u0000", "\ufeff{}", "Content-Length: 2"),
    )
    .filter((drawn) => !drawn.includes("\n") && drawn.trim() !== "" && drawn.isWellFormed())
    .map((drawn): Line => ({ kind: "text", text: drawn }));
  const batch = fc.array(values, { maxLength: 4 }).map((of): Line => ({ kind: "batch", of }));
  const bytes = fc
    .constantFrom([0xff], [0xc3], [0xed, 0xa0, 0x80], [0x22, 0xfe, 0x22], [0xf8, 0x88, 0x80, 0x80, 0x80])
    .map((drawn): Line => ({ kind: "bytes", bytes: Buffer.from(drawn).toString("base64") }));
  return fc.oneof(
    { weight: 6, arbitrary: request },
    { weight: 2, arbitrary: text },
    { weight: 1, arbitrary: batch },
    { weight: 1, arbitrary: bytes },
  );
}

function render(line: Line, freshId: () => string): Buffer {
  switch (line.kind) {
    case "text":
      return Buffer.from(line.text);
    case "bytes":
      return Buffer.from(line.bytes, "base64");
    case "batch":
      return Buffer.from(JSON.stringify(line.of.map(expand)));
    case "request": {
      const { method, params, changes } = line;
      const { body } = statelessDraft({ method, params: expand(params) as JsonObject, id: freshId() });
      const value = ({ to }: Change) => (to === undefined ? undefined : expand(to));
      return Buffer.from(
        JSON.stringify(changes.reduce<Json>((changed, change) => withValue(changed, change.path, value(change)), expand(body))),
      );
    }
  }
}

/** By the rules of JSON-RPC and MCP, and not by what the bridge makes of the line. */
function dueFor(line: Buffer): Due {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(line));
  } catch {
    return { ids: [], refusals: 1 };
  }
  if (!Array.isArray(value)) return dueForMessage(value);
  // Of 2025-03-26. What is in it is the server's to judge.
  const all = value.map(dueForMessage);
  return { ids: all.flatMap(({ ids }) => ids), refusals: value.length === 0 ? 1 : undefined };
}

function dueForMessage(message: unknown): Due {
  if (!isObject(message)) return { ids: [], refusals: 1 };
  const has = (key: string) => Object.hasOwn(message, key);
  const id = has("id") ? message["id"] : undefined;
  const hasId = (typeof id === "string" && id.length <= ID_CHARS_MAX) || Number.isSafeInteger(id);
  const answer: Due = hasId ? { ids: [JSON.stringify(id)], refusals: 0 } : { ids: [], refusals: 1 };
  if (message["jsonrpc"] !== "2.0") return answer;
  const isResponse = !has("method") && (has("result") || has("error"));
  if (isResponse) return hasId ? NONE : answer;
  const isMessage = typeof message["method"] === "string" && (!has("params") || isObject(message["params"]));
  return isMessage && !has("id") ? NONE : answer;
}

// ── the pipe ─────────────────────────────────────────────────────────────────────────────────────────────────────

function openPipe(url: string) {
  const child = spawn(process.execPath, [MAIN, "stdio", "--url", url], {
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"] },
    stdio: ["pipe", "pipe", "pipe"],
  });
  let output: string[] = [];
  let said = "";
  createInterface({ input: child.stdout }).on("line", (line) => output.push(line));
  child.stderr.on("data", (chunk: Buffer) => (said = (said + chunk.toString()).slice(-16_384)));
  child.stdin.on("error", () => undefined);
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  return {
    /** The lines of standard output from now on. */
    begin: (): readonly string[] => (output = []),
    write: (line: Buffer) => void child.stdin.write(Buffer.concat([line, Buffer.from("\n")])),
    /** What standard error holds, the end of it. */
    said: () => said,
    hasEnded,
    async close() {
      if (hasEnded()) return;
      const ended = once(child, "exit");
      child.stdin.end();
      const timeout = setTimeout(() => child.kill("SIGKILL"), END_MS);
      await ended;
      clearTimeout(timeout);
    },
  };
}
