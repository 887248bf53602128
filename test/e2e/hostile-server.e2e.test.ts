/** The command line at a hostile server: every text that the server sends contains control characters that a terminal would obey. */
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { parley } from "../support/parley.ts";
import { hasTerminal, openTerminal, type Terminal } from "../support/terminal.ts";

/** Writes to the clipboard, clears the screen, hides what follows (by two ways to begin a sequence), turns text around, and draws over the line. */
const EVIL = "\u001B]52;c;ZXZpbA==\u0007\u001B[2J\u001B[8m\u009B8m\u202E\b\r";
// oxlint-disable-next-line no-control-regex -- finds the control characters that a terminal obeys
const OBEYED = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u200E\u200F\u202A-\u202E\u2066-\u2069]/;

const SCHEMA = {
  type: "object",
  properties: {
    [e("field")]: {
      type: "string",
      title: e("title"),
      description: e("description"),
      pattern: "^ok\u001B\\]52\u009B$",
      default: e("preset"),
    },
    pick: { type: "string", title: e("pick"), enum: [e("a"), e("b")] },
  },
  required: [e("field")],
};
const FORM = { method: "elicitation/create", params: { mode: "form", message: e("message"), requestedSchema: SCHEMA } };
const VISIT = { method: "elicitation/create", params: { mode: "url", message: e("visit"), url: `https://example.com/${EVIL}` } };
const WAITING = {
  resultType: "complete",
  taskId: e("task"),
  status: "input_required",
  statusMessage: e("status"),
  createdAt: "2026-11-20T10:00:00Z",
  lastUpdatedAt: "2026-11-20T10:00:00Z",
  _meta: { "parley/toolVersion": e("version") },
  inputRequests: { [e("form")]: FORM, [e("visit")]: VISIT, [e("sample")]: { method: e("sampling"), params: {} } },
};
const ENDED = {
  ...WAITING,
  status: "completed",
  inputRequests: undefined,
  result: { content: [{ type: e("kind") }, { type: "text", text: e("result") }, { type: "resource_link", uri: e("uri") }] },
  error: { code: 1, message: e("error"), data: { [e("name")]: e("value") } },
};
const TIMELINE = {
  task: { name: e("tool"), run: e("1"), generation: 1, parent: e("parent") },
  nowMs: 2,
  asks: [
    {
      key: e("key"),
      askedAtMs: 1,
      deadlineMs: 2,
      onTimeout: e("fail"),
      isPutToOthers: true,
      refusals: e("3"),
      accepted: e("1"),
      quorum: e("2"),
    },
  ],
  calls: [{ key: e("call"), tool: e("tool"), child: e("child"), askedAtMs: 1, deadlineMs: 2 }],
  journal: {
    entries: e("3"),
    settled: e("2"),
    lines: [{ kind: e("step"), name: e("name"), place: e("1"), state: e("done"), child: e("child") }],
  },
};

const PERSON = { principal: e("person"), isCaller: false };
const SUMMARY = {
  taskId: e("task"),
  key: e("form"),
  kind: "form",
  message: e("message"),
  tool: e("tool"),
  owner: PERSON,
  askedAt: "2026-11-20T10:00:00Z",
  deadline: "2026-11-21T10:00:00Z",
  due: "2026-11-20T11:00:00Z",
  priority: e("high"),
  onTimeout: e("fail"),
  audience: { to: { people: [e("people")], groups: [e("group")] }, quorum: e("2") },
  accepted: e("1"),
};
const CONTEXT = [
  { type: "text", title: e("title"), text: e("text") },
  { type: "table", title: e("title"), columns: [e("column")], rows: [[e("cell")]] },
  { type: "link", title: e("title"), url: `https://example.com/${EVIL}` },
  { type: "diff", title: e("title"), before: e("before"), after: e("after") },
];
const OPEN = {
  ...SUMMARY,
  state: "open",
  digest: e("digest"),
  request: { type: "form", message: e("message"), schema: SCHEMA },
  context: CONTEXT,
};
const VISITED = {
  ...OPEN,
  key: e("visit"),
  kind: "url",
  request: { type: "url", message: e("visit"), url: `https://example.com/${EVIL}` },
};
const SETTLED = { state: "settled", taskId: "x", key: "x", tool: e("tool"), owner: PERSON, end: "accepted", by: PERSON };

const TASK = {
  taskId: e("task"),
  tool: e("tool"),
  status: "input_required",
  statusMessage: e("status"),
  owner: PERSON,
  createdAt: "2026-11-20T10:00:00Z",
  updatedAt: "2026-11-20T10:00:00Z",
  asks: [SUMMARY],
  asksOfOthers: 1,
};

/** /api/v1. */
function replyTo(path: string, isAnswer: boolean): readonly [number, object] {
  const [kind, , key = ""] = path.split("/").map(decodeURIComponent);
  const problem = { detail: e("refused"), hint: e("hint"), code: e("code") };
  if (mode === "refused")
    return [422, { ...problem, status: 422, violations: [{ path: `/content/${e("field")}`, message: e("wrong"), label: e("label") }] }];
  if (path === "asks/batch")
    return [200, { receipts: [{ taskId: e("task"), key: e("form"), receipt: "refused", code: e("code"), violations: [] }] }];
  if (path.endsWith("/claim")) return [200, { receipt: e("claimed"), claimedBy: { ...PERSON, until: e("2026") } }];
  if (path.endsWith("/release")) return [409, { ...problem, status: 409, receipt: "taken" }];
  if (isAnswer) return [409, { ...problem, status: 409, ask: SETTLED }];
  if (path === "asks")
    return [200, { asks: [SUMMARY, { ...SUMMARY, key: e("visit") }, { ...SUMMARY, key: e("gone") }], nextCursor: undefined }];
  if (path === "tasks") return [200, { tasks: [TASK, { ...TASK, status: e("ended"), asks: [], createdAt: e("2026") }] }];
  if (kind === "tasks") return [200, { ...SUMMARY, asks: [SUMMARY, { ...SUMMARY, key: e("visit") }] }];
  if (key === e("gone")) return [200, SETTLED];
  if (key === e("theirs")) return [200, { ...OPEN, state: "of-others" }];
  const given = { what: "delegated", by: { ...PERSON, isCaller: true }, to: { people: [e("person")] }, reason: e("reason") };
  if (key === e("given")) return [200, { ...OPEN, state: "of-others", history: [given], claimedBy: { ...PERSON, name: e("name") } }];
  if (key === e("form")) return [200, OPEN];
  if (key === e("visit")) return [200, VISITED];
  return [404, { ...problem, status: 404 }];
}

function e(text: string): string {
  return EVIL + text;
}

/** What becomes of the task: it waits, has ended, is in no state that there is, or everything about it is refused. */
let mode: "waits" | "ended" | "odd" | "immediate" | "refused";
let server: Server;
let url: string;
let home: string;

interface Sent {
  readonly id?: number;
  readonly method: string;
  readonly params: { readonly taskId?: string; readonly _meta?: { readonly progressToken?: string } };
}

function answer({ id, method, params }: Sent, response: ServerResponse): void {
  const send = (body: object, headers = {}) => {
    response.writeHead(200, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify({ jsonrpc: "2.0", id, ...body }));
  };
  const refusal = {
    error: { code: -32602, message: e("refused"), data: { violations: [{ path: `/x/content/${e("field")}`, message: e("wrong") }] } },
  };
  switch (method) {
    case "server/discover":
      return send({ result: { supportedVersions: ["2026-07-28"], capabilities: {} } });
    case "initialize":
      return send({ result: { protocolVersion: "2025-11-25", capabilities: { tasks: { list: {} } } } }, { "mcp-session-id": "session" });
    case "tools/list":
      return send({
        result: {
          tools: [
            { name: e("tool"), description: e("does"), inputSchema: SCHEMA },
            { name: "go", inputSchema: { type: "object" } },
          ],
        },
      });
    case "tools/call":
      if (mode === "refused") return send(refusal);
      return send({
        result: mode === "immediate" ? { resultType: "complete", ...ENDED.result } : { resultType: "task", taskId: e("task") },
      });
    case "tasks/get":
      return send(
        mode === "refused" ? refusal : { result: mode === "waits" ? WAITING : { ...ENDED, ...(mode === "odd" && { status: e("odd") }) } },
      );
    case "tasks/update":
      return send(mode === "refused" ? refusal : { result: { _meta: { "parley/receipts": { [e("form")]: "late" } } } });
    case "tasks/cancel":
      return send({ result: {} });
    case "tasks/result": {
      const related = { "io.modelcontextprotocol/related-task": { taskId: params.taskId } };
      const progress = { progressToken: params._meta?.progressToken, progress: e("1"), message: e("progress") };
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const said of [
        { method: "notifications/progress", params: progress },
        { method: "notifications/message", params: { level: e("info"), data: e("log"), _meta: related } },
        { method: "notifications/message", params: { level: "info", data: { [e("name")]: e("log") }, _meta: related } },
      ])
        response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", ...said })}\n\n`);
      return;
    }
    default:
      response.writeHead(202).end();
  }
}

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "parley-hostile-"));
  server = createServer((request, response) => {
    void text(request).then((body) => {
      const at = new URL(request.url ?? "/", "http://localhost").pathname;
      if (at.startsWith("/play/")) response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(TIMELINE));
      else if (at.startsWith("/api/v1/")) {
        const [status, reply] = replyTo(at.slice("/api/v1/".length), request.method === "POST");
        response
          .writeHead(status, { "content-type": status < 400 ? "application/json" : "application/problem+json" })
          .end(JSON.stringify(reply));
      } else if (at !== "/mcp" || body === "") response.writeHead(404).end();
      else answer(JSON.parse(body) as Sent, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
});

afterAll(async () => {
  server?.close();
  server?.closeAllConnections();
  if (home) await rm(home, { recursive: true });
});

const form = e("form");

test.each([
  ["waits", "tools"],
  ["waits", "tools", "--json"],
  ["waits", "call", "go", "--no-wait"],
  ["waits", "call", "go", "--no-wait", "--json"],
  ["waits", "call", "nothing", "--x", "1"],
  ["waits", "call", e("tool"), "--x", "1"],
  ["ended", "call", "go"],
  ["ended", "call", "go", "--json"],
  ["immediate", "call", "go"],
  ["refused", "call", "go"],
  ["refused", "call", "go", "--json"],
  ["waits", "tasks"],
  ["waits", "tasks", "--json"],
  ["waits", "tasks", "get", "x"],
  ["waits", "tasks", "get", "x", "--json"],
  ["ended", "tasks", "get", "x"],
  ["odd", "tasks", "get", "x"],
  ["odd", "task", "x"],
  ["waits", "task", "x"],
  ["waits", "task", "x", "--json"],
  ["ended", "task", "x"],
  ["refused", "task", "x"],
  ["waits", "inbox", "--list"],
  ["waits", "inbox", "--json"],
  ["refused", "inbox", "--list"],
  ["waits", "inbox", "--decline", "--yes"],
  ["waits", "inbox", "--set", "q=1", "--yes"],
  ["waits", "answer", "x"],
  ["waits", "answer", "x", e("gone")],
  ["waits", "answer", "x", e("theirs")],
  ["waits", "answer", "x", e("given")],
  ["waits", "answer", "x", "nothing"],
  ["waits", "answer", "x", form, "--accept"],
  ["waits", "answer", "x", form, "--set", "q=1"],
  ["waits", "answer", "x", e("sample"), "--accept"],
  ["refused", "answer", "x", form, "--accept"],
  ["waits", "claim", "x"],
  ["waits", "claim", "x", form],
  ["waits", "claim", "x", form, "--json"],
  ["waits", "release", "x", e("given")],
  ["waits", "comment", "x", e("gone"), "-m", "Soon"],
  ["waits", "delegate", "x", form, "--to", "bob", "--reason", "On leave"],
  ["refused", "delegate", "x", form, "--to", "bob", "--reason", "On leave", "--json"],
  ["waits", "ask-back", "x", form, "-m", "Which?"],
  ["refused", "reply", "x", form, "-m", "This"],
  ["waits", "snooze", "x", form, "--for", "1 hour"],
  ["refused", "snooze", "x", form, "--back"],
  ["waits", "cancel", "x"],
  ["ended", "cancel", "x"],
] as const)("%#: nothing that is printed is obeyed by a terminal (%s)", async (server, ...command) => {
  mode = server;
  const { stdout, stderr } = await parley([...command, "--url", url], { env: { HOME: home, XDG_CONFIG_HOME: home } });
  expect(stdout + stderr).not.toBe("");
  expect([stdout, stderr].map((text) => OBEYED.exec(text)?.[0])).toEqual([undefined, undefined]);
  if (command.at(-1) === "--json") expect(() => JSON.parse(stdout || stderr) as unknown).not.toThrow();
});

test("a question's key and fields are printed as words that a shell takes as they are", async () => {
  const { showAsk } = await import("../../apps/cli/questions/show.ts");
  const schema = { type: "object", properties: { "a`b": { type: "string" } } };
  const asked = { method: "elicitation/create", params: { message: "?", requestedSchema: schema } };
  expect(showAsk("$(id)", "it's; rm -rf ~", asked)).toContain(`parley answer '$(id)' 'it'\\''s; rm -rf ~' --accept [--set 'a\`b'=<text>]`);
});

describe.runIf(hasTerminal)("in a terminal", () => {
  const open: Terminal[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((terminal) => terminal.close()));
  });

  /** The marks of what is hidden in each text; a terminal's own sequences are others. */
  async function expectUntouched(on: Terminal, says: string): Promise<void> {
    const written = await on.written();
    expect(written).toContain(says);
    for (const mark of ["\u001B]52", "\u001B\\", "\u001B[8m", "\u00C2\u009B", "\u00E2\u0080\u00AE"])
      expect(written.includes(mark), JSON.stringify(mark)).toBe(false);
  }

  test("a question, its fields, violations of an answer and progress reports leave the terminal alone", async () => {
    mode = "waits";
    const on = await openTerminal(["call", "go", "--url", url], { HOME: home, XDG_CONFIG_HOME: home });
    open.push(on);
    await on.shows("Answer?");
    await on.press("Enter");
    await on.shows("title");
    await on.type("no");
    await on.press("Enter");
    await on.shows(/is not written as expected/);
    await expectUntouched(on, "A tool asks");
  });

  test("the choice among questions, and a page to visit, leave the terminal alone", async () => {
    mode = "waits";
    const on = await openTerminal(["answer", "x", "--url", url], { HOME: home, XDG_CONFIG_HOME: home });
    open.push(on);
    await on.shows("Which question?");
    await on.press("Down", "Enter");
    await on.shows("Visit it?");
    await expectUntouched(on, "you to visit a page");
  });
});
