/**
 * A foreign server of 2026-07-28 that answers calls with tasks of its own, in one file without a library, because no library has the
 * extension yet.
 *
 *   node tasks.ts [port]     prints its address
 *
 *   work      a task that ends after as many polls as its text says
 *   review    a task that asks two questions, one after the other, and ends with the answers
 *   break     a task that fails
 *   drop      a task that the server cancels
 *   form      a task that asks once, with a form; page: with a page to visit
 *   plain     no task
 *
 * Each effect is a line in the file MARKS. Tasks are stored in the file TASKS, so that they outlive the process.
 */
import { randomUUID } from "node:crypto";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

const EXTENSION = "io.modelcontextprotocol/tasks";
const FORM = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] };
const QUESTIONS: Readonly<Record<string, readonly string[]>> = { review: ["first", "second"], form: ["only"], page: ["only"] };

interface Kept {
  readonly tool: string;
  readonly text: string;
  looks: number;
  status: string;
  answers: Record<string, unknown>;
}

interface Params {
  readonly name?: string;
  readonly arguments?: { readonly text?: string };
  readonly taskId?: string;
  readonly inputResponses?: Readonly<Record<string, unknown>>;
  readonly _meta?: { readonly "io.modelcontextprotocol/clientCapabilities"?: { readonly extensions?: object } };
}

const mark = (line: string) => process.env["MARKS"] && appendFileSync(process.env["MARKS"], `${line}\n`);
const file = process.env["TASKS"] ?? "";
const tasks = new Map<string, Kept>(existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as [string, Kept][]) : []);
const keep = () => file !== "" && writeFileSync(file, JSON.stringify([...tasks]));
const content = (said: unknown) => ({ resultType: "complete", content: [{ type: "text", text: JSON.stringify(said) }] });

function shown(taskId: string, task: Kept): object {
  const { tool, text, answers } = task;
  const createdAt = "2026-07-28T10:00:00Z";
  const questions = QUESTIONS[tool];
  const open = questions?.find((key) => answers[key] === undefined);
  if (task.status === "working" && tool === "work" && task.looks >= Number(text)) task.status = "completed";
  if (task.status === "working" && tool === "break" && task.looks > 0) task.status = "failed";
  if (task.status === "working" && tool === "drop" && task.looks > 0) task.status = "cancelled";
  if (questions && task.status !== "cancelled") task.status = open === undefined ? "completed" : "input_required";
  const message = `${open} of ${text}?`;
  const params =
    tool === "page" ? { mode: "url", message, url: `https://example.com/${text}` } : { mode: "form", message, requestedSchema: FORM };
  return {
    resultType: "complete",
    taskId,
    status: task.status,
    ...(tool === "work" && { statusMessage: `Working on ${text}` }),
    createdAt,
    lastUpdatedAt: createdAt,
    ttlMs: 3_600_000,
    pollIntervalMs: 100,
    ...(task.status === "input_required" && open !== undefined && { inputRequests: { [open]: { method: "elicitation/create", params } } }),
    ...(task.status === "completed" && {
      result: content(tool === "review" || tool === "work" ? { text, answers } : { said: text, ...(answers["only"] as object) }),
    }),
    ...(task.status === "failed" && { error: { code: -32099, message: "it broke", data: { part: "axle" } } }),
  };
}

function handle(method: string, params: Params): object | undefined {
  const { name = "", taskId = "" } = params;
  switch (method) {
    case "server/discover": {
      const capabilities = { tools: {}, extensions: { [EXTENSION]: {} } };
      const _meta = { "io.modelcontextprotocol/serverInfo": { name: "tasks", version: "1" } };
      return { resultType: "complete", supportedVersions: ["2026-07-28"], capabilities, _meta, ttlMs: 0, cacheScope: "public" };
    }
    case "tools/list": {
      const inputSchema = { type: "object", properties: { text: { type: "string" } } };
      const names = ["work", "review", "break", "drop", "form", "page", "plain"];
      return { resultType: "complete", tools: names.map((each) => ({ name: each, inputSchema })), ttlMs: 0, cacheScope: "public" };
    }
    case "tools/call": {
      const text = params.arguments?.text ?? "";
      mark(`called ${name} ${text}`);
      const { extensions = {} } = params._meta?.["io.modelcontextprotocol/clientCapabilities"] ?? {};
      if (name === "plain" || !(EXTENSION in extensions)) return content({ text, capable: EXTENSION in extensions });
      const created: Kept = { tool: name, text, looks: 0, status: "working", answers: {} };
      const id = randomUUID();
      tasks.set(id, created);
      const { inputRequests: _, ...first } = shown(id, created) as Record<string, unknown>;
      return { ...first, status: "working", resultType: "task" };
    }
    case "tasks/get": {
      const task = tasks.get(taskId);
      if (!task) return undefined;
      task.looks += 1;
      return shown(taskId, task);
    }
    case "tasks/update": {
      const task = tasks.get(taskId);
      for (const [key, answer] of Object.entries(params.inputResponses ?? {})) {
        if (!task || task.answers[key] !== undefined) continue;
        task.answers[key] = answer;
        mark(key === "only" ? `outcome ${task.text}` : `answered ${key} ${task.text}`);
      }
      return { resultType: "complete" };
    }
    case "tasks/cancel": {
      const task = tasks.get(taskId);
      if (task && ["working", "input_required"].includes(task.status)) {
        task.status = "cancelled";
        mark(`cancelled ${task.tool} ${task.text}`);
      }
      return { resultType: "complete" };
    }
  }
  return undefined;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

const http = createServer((request, response) => {
  void (async () => {
    if (request.method !== "POST") return void response.writeHead(405).end();
    const { id, method, params = {} } = JSON.parse(await bodyOf(request)) as { id?: unknown; method: string; params?: Params };
    const result = handle(method, params);
    keep();
    if (id === undefined) return void response.writeHead(202).end();
    response.writeHead(result ? 200 : 404, { "content-type": "application/json" });
    const error = { code: method.startsWith("tasks/") ? -32602 : -32601, message: "unknown" };
    response.end(JSON.stringify({ jsonrpc: "2.0", id, ...(result ? { result } : { error }) }));
  })();
});
http.listen(Number(process.argv[2] ?? 0), "127.0.0.1", () => console.log(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`));
