/** POST /mcp of the revisions with sessions: every method of each, notifications, replies to unknown requests, batches, initialize. */
import fc from "fast-check";
import type { Door } from "../door.ts";
import { type AnyChange, type Draft, type Due, finish } from "../draw/changes.ts";
import { type Json, type JsonObject, type Drawn, type DrawnObject, largeJson, longText, oddNames, someJson } from "../draw/json.ts";
import { drop, type Field, fieldChanges, header, messageChanges, oddMember, set, several, textChanges } from "../draw/rpc.ts";
import { type Expected, judge } from "../judge.ts";
import { BATCH_MAX, LIST_BYTES_MAX, REPLY_BYTES_MAX, REPLY_TIMEOUT_MS } from "../limits.ts";
import { Broken } from "../rules.ts";
import type { System } from "../system.ts";
import { Caller } from "../wire/caller.ts";
import { Entrance } from "../wire/entrance.ts";
import type { Response } from "../wire/http.ts";
import { sessionPool } from "../wire/session-pool.ts";
import { initializeDraft, type InSession, REVISIONS, type Revision, sessionHeaders } from "../wire/sessions.ts";
import { ASKABLE } from "../wire/stateless.ts";
import { callTool, COMPLETE, dueOfTool, getPrompt, INVALID_PARAMS, LIST, nobody, type Params, readResource } from "./params.ts";

interface Sent {
  readonly revision: Revision;
  /** Tells findings apart. */
  readonly kind: string;
  readonly body: Drawn;
  readonly changes: readonly AnyChange[];
  readonly due: Due;
}

/** Filled in with the id of a task that is there, and with one that no other request of the session has. */
const TASK = "{{task}}";
const ID = "{{id}}";
const TASKS_KEPT = 40;
const SESSION_USES = 60;

export const sessions: Door<Sent> = {
  name: "sessions",
  async open(system) {
    const entrance = new Entrance(system);
    const caller = new Caller(system.url);
    const pool = sessionPool(caller, SESSION_USES);
    const tasks: string[] = [];
    let turn = 0;

    async function taskOf(session: InSession): Promise<string> {
      if (tasks.length === 0) adopt(await caller.inSession(session, "tools/call", { name: "several", arguments: {}, task: {} }));
      return tasks[turn % tasks.length] ?? "";
    }

    function adopt(result: unknown): void {
      const { taskId } = (result ?? {}) as { taskId?: unknown };
      if (typeof taskId !== "string" || tasks.includes(taskId)) return;
      tasks.push(taskId);
      if (tasks.length > TASKS_KEPT) tasks.shift();
    }

    async function send({ revision, kind, body, changes, due }: Sent): Promise<void> {
      turn += 1;
      // The task first: asking for its session may end the one before it.
      const task = JSON.stringify(body).includes(TASK) ? await taskOf(await pool.of("2025-11-25")) : "";
      const session = await pool.of(revision);
      const finished = finish(draftOf(session, kind, body), changes, {
        due,
        fill: (text) => text.replaceAll(TASK, task).replaceAll(ID, String(turn)),
      });
      const parsed = parse(finished.body);
      const response = await entrance.send(
        { method: "POST", path: "/mcp", headers: finished.headers, body: finished.body },
        {
          timeoutMs: REPLY_TIMEOUT_MS,
          // A batch may hold as many lists as messages.
          bytesMax: kind === "batch" ? BATCH_MAX * REPLY_BYTES_MAX : kind.includes("/list") ? LIST_BYTES_MAX : REPLY_BYTES_MAX,
          // Asked, answered, or on its way.
          enough: (messages) => kind !== "batch" && messages.some(({ method, result, error }) => method ?? result ?? error),
          lingerMs: kind === "batch" ? REPLY_TIMEOUT_MS : 60,
        },
      );
      const expected: Expected = {
        ...finished,
        kind: `${kind} ${revision}`,
        said: finished.body.toString(),
        id: (parsed as { id?: unknown })?.id,
      };
      // It waits for the task's end, and a client that takes no stream sees nothing of that.
      const waits = kind === "tasks/result" && finished.headers["accept"] === "application/json";
      if (waits && response.outcome === "timed out") return;
      judge(response, expected);
      if (kind === "batch" && finished.due === "accepted") eachAnswered(response, parsed, expected);
      adopt(response.messages[0]?.result);
      const opened = response.headers["mcp-session-id"];
      if (typeof opened === "string") await caller.end({ sessionId: opened, revision });
      if (response.outcome === "left") await leave(session, parsed);
    }

    /** A session's call continues when its stream is left: it is cancelled, as a client would. */
    async function leave(session: InSession, body: unknown): Promise<void> {
      const { id, method } = (body ?? {}) as { id?: Json; method?: unknown };
      if (method !== "tools/call" && method !== "prompts/get") return;
      if (id === undefined) return;
      await caller.post({
        headers: sessionHeaders(session),
        body: { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } },
      });
    }

    return {
      cases: everything(system),
      send,
      async close() {
        await pool.close();
        entrance.close();
        caller.close();
      },
    };
  },
};

function draftOf(session: InSession, kind: string, body: Drawn): Draft {
  if (kind === "initialize") return { headers: initializeDraft("", {}).headers, body };
  return { headers: sessionHeaders(session), body };
}

/** Every request of a batch has one answer of its own, and nothing else is answered. */
function eachAnswered({ messages }: Response, body: unknown, { kind, changes }: Expected): void {
  const idsOf = (of: readonly { readonly id?: unknown }[]) => of.flatMap(({ id }) => (id === undefined ? [] : [JSON.stringify(id)]));
  const requests = idsOf(body as readonly { readonly id?: unknown }[]).join();
  const answers = idsOf(messages.filter(({ method }) => method === undefined))
    .toSorted(byNumber)
    .join();
  if (requests === answers) return;
  throw new Broken("effect", { kind, changes, what: `of the requests ${requests} these were answered: ${answers}` });
}

function byNumber(one: string, other: string): number {
  return Number(one) - Number(other);
}

function everything({ tools }: System): fc.Arbitrary<Sent> {
  // Made once: an arbitrary that is made anew for each case costs more than the case.
  const ofEach = (make: (revision: Revision) => fc.Arbitrary<Sent>) => fc.oneof(...REVISIONS.map(make));
  return fc.oneof(
    { weight: 9, arbitrary: ofEach((revision) => fc.oneof(...methodsOf(revision, tools))) },
    { weight: 5, arbitrary: fc.oneof(...[...tools].map(([name, schema]) => taskCall(name, schema))) },
    { weight: 1, arbitrary: ofEach(notServed) },
    { weight: 2, arbitrary: ofEach(notification) },
    { weight: 1, arbitrary: ofEach(replyToNothing) },
    { weight: 2, arbitrary: batch() },
    { weight: 1, arbitrary: initialize() },
  );
}

interface Method extends Params {
  readonly due?: Due;
}

function methodsOf(revision: Revision, tools: ReadonlyMap<string, JsonObject>): fc.Arbitrary<Sent>[] {
  const has = (method: string) => !method.startsWith("tasks/") || revision === "2025-11-25";
  const methods = Object.entries(METHODS).filter(([method]) => has(method));
  // What a tool takes two seconds for is called as a task.
  const called = [...tools].filter(([name]) => name !== "research");
  return [
    ...methods.map(([method, described]) => requestOf(revision, method, described)),
    fc.oneof(...called.map(([name, schema]) => requestOf(revision, "tools/call", toolCall(revision, name, schema)))),
  ];
}

function requestOf(revision: Revision, method: string, { params, fields, changes, due = "accepted" }: Method): fc.Arbitrary<Sent> {
  const inParams = fieldChanges(fields);
  const change = fc.oneof(
    ...(inParams ? [{ weight: 4, arbitrary: inParams }] : []),
    ...(changes ? [{ weight: 5, arbitrary: changes }] : []),
    { weight: 3, arbitrary: common(revision) },
    { weight: 1, arbitrary: textChanges() },
  );
  return fc.tuple(params, several(change)).map(([drawn, changed]) => ({
    revision,
    kind: method,
    body: { jsonrpc: "2.0", id: ID, method, params: drawn },
    changes: changed,
    due,
  }));
}

function common(revision: Revision): fc.Arbitrary<AnyChange> {
  const changes = [messageChanges(), metaChanges(), headerChanges(revision)];
  return fc.oneof(...changes.map((arbitrary) => ({ weight: 1, arbitrary })));
}

function metaChanges(): fc.Arbitrary<AnyChange> {
  return fc.oneof(
    set("_meta of another type", ["params", "_meta"], fc.constantFrom<Json>(1, "x", [], true), {
      due: "refused",
      codes: INVALID_PARAMS,
    }),
    set("_meta", ["params", "_meta"], fc.constantFrom<Json>({}, { odd: 1 }, JSON.parse('{"__proto__":{"polluted":"yes"}}') as Json), {
      due: "accepted",
    }),
    set(
      "a progress token",
      ["params", "_meta"],
      fc.oneof(fc.maxSafeInteger(), oddNames()).map((progressToken) => ({ progressToken })),
      { due: "accepted" },
    ),
    set(
      "a large progress token",
      ["params", "_meta"],
      longText(2_000, 100_000, "p").map((progressToken) => ({ progressToken })),
      { due: "any" },
    ),
    oddMember(["params"]),
  );
}

function headerChanges(revision: Revision): fc.Arbitrary<AnyChange> {
  const others = REVISIONS.filter((other) => other !== revision);
  return fc.oneof(
    header("no session", "mcp-session-id", fc.constant(undefined), "refused"),
    header(
      "another session",
      "mcp-session-id",
      fc.constantFrom("x", "00000000-0000-4000-8000-000000000000", "*", "a,b", "__proto__", "0".repeat(4_000)),
      "refused",
    ),
    header("no version header", "mcp-protocol-version", fc.constant(undefined), "accepted"),
    header("the header of another session's version", "mcp-protocol-version", fc.constantFrom(...others), "any"),
    header("a version that is not served", "mcp-protocol-version", fc.constantFrom("1999-01-01", "2026-07-28", "x", ""), "refused"),
    header("another media type", "content-type", fc.constantFrom("text/plain", "application/xml", "x"), "refused"),
    header("an odd accept", "accept", fc.constantFrom("*/*", "application/json", "text/event-stream", "a/b", ""), "any"),
    header("headers of the other family", "mcp-method", fc.constantFrom("x", "tools/list"), "accepted"),
  );
}

/** Members of sessions' params are repeated in no header. */
const renamed = (what: string, member: string, to: fc.Arbitrary<string>, codes: readonly number[]): fc.Arbitrary<AnyChange> =>
  set(what, ["params", member], to, { due: "refused", codes });

const TASK_ID: Field = { path: ["params", "taskId"], is: "string", required: true };
const otherTask = () =>
  renamed("another task", "taskId", fc.oneof(nobody(), fc.constantFrom("0-AAAAAAAAAAAAAAAAAAAAAA", "../x", "0-")), INVALID_PARAMS);
const URI: Field = { path: ["params", "uri"], is: "string", required: true };
const LONG_URI = set("a long uri", ["params", "uri"], longText(10_000, 900_000, "u"), {
  due: "any",
});

const METHODS: { readonly [method: string]: Method } = {
  ping: { params: fc.constant({}), fields: [] },
  "tools/list": LIST,
  "prompts/list": LIST,
  "resources/list": LIST,
  "resources/templates/list": LIST,
  "prompts/get": getPrompt(renamed),
  "resources/read": readResource(renamed),
  "resources/subscribe": { params: oddNames().map((uri) => ({ uri })), fields: [URI], changes: LONG_URI },
  "resources/unsubscribe": { params: oddNames().map((uri) => ({ uri })), fields: [URI], changes: LONG_URI },
  "completion/complete": COMPLETE,
  "logging/setLevel": {
    params: fc.constantFrom("debug", "info", "emergency").map((level) => ({ level })),
    fields: [{ path: ["params", "level"], is: "string", required: true }],
    changes: set("a level that is none", ["params", "level"], fc.constantFrom("loud", "", "__proto__", "DEBUG"), {
      due: "refused",
      codes: INVALID_PARAMS,
    }),
  },
  "tasks/get": {
    params: fc.constant({ taskId: TASK }),
    fields: [TASK_ID],
    changes: fc.oneof(
      otherTask(),
      set(
        "answers of another type",
        ["params", "_meta"],
        fc.constantFrom<Json>(1, "x", [1], [null], { action: "accept" }, [{}]).map(asAnswer),
        { due: "refused", codes: INVALID_PARAMS },
      ),
      set(
        "many answers",
        ["params", "_meta"],
        fc
          .integer({ min: 65, max: 5_000 })
          .map((times) => asAnswer(Array.from({ length: times }, () => ({ elicitationId: "x:y", action: "accept" })))),
        { due: "refused" },
      ),
    ),
  },
  "tasks/list": {
    ...LIST,
    changes: set(
      "a cursor that is none",
      ["params", "cursor"],
      fc.oneof(oddNames(), fc.base64String(), fc.constantFrom("0-0", "0-0.0", "1.1", "0.0-0")),
      { due: "any" },
    ),
  },
  // Which state the task is in is as it comes.
  "tasks/result": { params: fc.constant({ taskId: TASK }), fields: [TASK_ID], changes: otherTask(), due: "any" },
  "tasks/cancel": { params: fc.constant({ taskId: TASK }), fields: [TASK_ID], changes: otherTask(), due: "any" },
  "tasks/sendInput": {
    params: fc.record({
      taskId: fc.constant(TASK),
      action: fc.constantFrom("accept", "decline", "cancel"),
      elicitationId: fc.constant(`${TASK}:one`),
    }),
    fields: [TASK_ID, { path: ["params", "elicitationId"], is: "string" }],
    changes: fc.oneof(
      otherTask(),
      set(
        "an action that is none",
        ["params", "action"],
        fc.oneof(someJson().filter((value) => !["accept", "decline", "cancel"].includes(value as string))),
        { due: "refused" },
      ),
      set("another elicitation", ["params", "elicitationId"], fc.oneof(oddNames(), fc.constantFrom(`${TASK}:`, ":one", "0-x:one")), {
        due: "refused",
      }),
      set("large content", ["params", "content"], largeJson(), { due: "any" }),
      set("large elicitation", ["params", "elicitationId"], longText(10_000, 900_000, "e"), { due: "refused" }),
    ),
    due: "any",
  },
};

function asAnswer(answer: Json): JsonObject {
  return { "io.modelcontextprotocol/elicitation-response": answer };
}

/** Asked by url, which revisions before 2025-11-25 have not. */
const BY_URL = ["page", "connect_account"];

function toolCall(revision: Revision, name: string, schema: JsonObject): Method {
  // A client that cannot be asked by url is told so by the tool. A tool that runs as a task only says that.
  const due =
    name === "ask_first"
      ? "refused"
      : BY_URL.includes(name) && revision !== "2025-11-25"
        ? "any"
        : dueOfTool(name, { asTask: false, canBeAsked: true });
  return { ...callTool(name, schema, renamed), due };
}

/** With `params.task`, which 2025-11-25 alone has. */
function taskCall(name: string, schema: JsonObject): fc.Arbitrary<Sent> {
  const called = callTool(name, schema, renamed);
  const path = ["params", "task"] as const;
  const isNever = name === "echo" || name === "routed";
  const method: Method = {
    ...called,
    params: called.params.map((params) => ({ ...params, task: {} })),
    changes: fc.oneof(
      ...(called.changes ? [{ weight: 2, arbitrary: called.changes }] : []),
      set("a ttl", path, fc.constantFrom<Json>({ ttl: 0 }, { ttl: 1.5 }, { ttl: 1e300 }, { ttl: null }, { ttl: 60_000 }, { odd: 1 }), {
        due: "accepted",
      }),
      set("a ttl that is none", path, fc.constantFrom<Json>({ ttl: -1 }, { ttl: "60000" }, { ttl: [] }, { ttl: true }), {
        due: "refused",
        codes: INVALID_PARAMS,
      }),
      set("task of another type", path, fc.constantFrom<Json>(1, "x", [], true), { due: "refused", codes: INVALID_PARAMS }),
    ),
    due: isNever ? "refused" : "accepted",
  };
  return requestOf("2025-11-25", "tools/call", method).map((sent) => ({ ...sent, kind: "tools/call as a task" }));
}

function notServed(revision: Revision): fc.Arbitrary<Sent> {
  const tasks = ["tasks/get", "tasks/result", "tasks/list", "tasks/cancel", "tasks/sendInput"];
  const methods = [
    "server/discover",
    "subscriptions/listen",
    "tasks/update",
    "constructor",
    "__proto__",
    "",
    "ping ",
    "PING",
    "initialize ",
  ];
  return fc
    .oneof(
      fc.constantFrom(...methods, ...(revision === "2025-11-25" ? [] : tasks)),
      fc.constant({ large: "text" as const, of: "x", times: 20_000 }),
    )
    .map((method) => ({
      revision,
      kind: "a method that is not served",
      body: { jsonrpc: "2.0", id: ID, method, params: {} },
      changes: [],
      due: "refused" as const,
    }));
}

function notification(revision: Revision): fc.Arbitrary<Sent> {
  const params = fc.oneof(
    fc.constantFrom<JsonObject>(
      {},
      { requestId: 7, reason: "enough" },
      { requestId: "x", reason: 1 },
      { requestId: null },
      { requestId: {} },
    ),
    fc.dictionary(oddNames(), someJson(), { maxKeys: 3 }) as fc.Arbitrary<JsonObject>,
    longText(1_000, 900_000, "r").map((reason): DrawnObject => ({ requestId: 7, reason })),
  );
  const method = fc.oneof(
    fc.constantFrom("notifications/initialized", "notifications/cancelled", "notifications/progress", "notifications/roots/list_changed"),
    oddNames(),
    longText(1_000, 900_000, "n"),
  );
  return fc
    .tuple(method, params, several(headerChanges(revision).filter((change) => !("value" in change && change.value === "2026-07-28"))))
    .map(([named, given, changes]) => ({
      revision,
      kind: typeof named !== "string" ? "a long notification" : "a notification",
      body: { jsonrpc: "2.0", method: named, params: given },
      changes,
      due: "accepted" as const,
    }));
}

function replyToNothing(revision: Revision): fc.Arbitrary<Sent> {
  const id = fc.oneof(oddNames(), fc.maxSafeInteger(), fc.constantFrom("0-AAAAAAAAAAAAAAAAAAAAAA:one:0:AAAAAAAAAAAAAAAAAAAAAA", ":::"));
  const said = fc.constantFrom<JsonObject>(
    { result: { action: "accept", content: {} } },
    { error: { code: -1, message: "no" } },
    { result: null },
    { result: 1 },
  );
  return fc.tuple(id, said).map(([named, result]) => ({
    revision,
    kind: "a reply to nothing",
    body: { jsonrpc: "2.0", id: named, ...result },
    changes: [],
    due: "refused" as const,
  }));
}

function batch(): fc.Arbitrary<Sent> {
  const message = fc.constantFrom<JsonObject>(
    { method: "ping" },
    { method: "tools/list", params: {} },
    { method: "tools/call", params: { name: "echo", arguments: { text: "x" } } },
    { method: "tools/call", params: { name: "echo", arguments: {} } },
    { method: "nowhere" },
    { method: "prompts/get", params: { name: "nobody" } },
  );
  const notified = fc.constantFrom<JsonObject>(
    { method: "notifications/initialized" },
    { method: "notifications/cancelled", params: { requestId: 1 } },
  );
  const size = fc.oneof(
    { weight: 8, arbitrary: fc.integer({ min: 0, max: 6 }) },
    { weight: 1, arbitrary: fc.constantFrom(BATCH_MAX, BATCH_MAX + 1, 2_000) },
  );
  return fc
    .tuple(fc.array(message, { minLength: 1, maxLength: 6 }), fc.array(notified, { maxLength: 2 }), size, fc.constantFrom(...REVISIONS))
    .map(([kinds, others, length, revision]) => {
      const requests = Array.from({ length }, (_, index): JsonObject => ({
        jsonrpc: "2.0",
        id: index + 1,
        ...kinds[index % kinds.length],
      }));
      const body = [...others.map((each): JsonObject => ({ jsonrpc: "2.0", ...each })), ...requests];
      const fits = body.length > 0 && body.length <= BATCH_MAX;
      // Errors within a batch are answers of its messages.
      const due = revision === "2025-03-26" && fits ? ("accepted" as const) : ("refused" as const);
      return { revision, kind: "batch", body, changes: [], due };
    });
}

function initialize(): fc.Arbitrary<Sent> {
  const capabilities = fc.oneof(
    fc.constant(ASKABLE),
    fc.constant<JsonObject>({}),
    fc.dictionary(oddNames(), someJson(), { maxKeys: 3 }) as fc.Arbitrary<JsonObject>,
  );
  const version = fc.oneof(fc.constantFrom<string>(...REVISIONS, "2024-11-05", "2030-01-01"), oddNames());
  const change = fc.oneof(
    { weight: 2, arbitrary: messageChanges() },
    fieldChanges([
      { path: ["params", "protocolVersion"], is: "string", required: true },
      { path: ["params", "capabilities"], is: "object", required: true },
    ])!,
    set("a capability of another type", ["params", "capabilities", "elicitation"], fc.constantFrom<Json>(1, [], "x"), {
      due: "refused",
      codes: INVALID_PARAMS,
    }),
    set("odd client info", ["params", "clientInfo"], someJson(), { due: "accepted" }),
    set("long client info", ["params", "clientInfo"], fc.constant({ name: "n".repeat(100_000), version: "v".repeat(100_000) }), {
      due: "accepted",
    }),
    drop("no client info", ["params", "clientInfo"], { due: "accepted" }),
    header("a session", "mcp-session-id", fc.constantFrom("x", "*"), "accepted"),
    oddMember(["params", "capabilities"]),
  );
  return fc.tuple(version, capabilities, several(change)).map(([protocolVersion, declared, changes]) => ({
    revision: "2025-11-25" as const,
    kind: "initialize",
    body: {
      jsonrpc: "2.0",
      id: "init",
      method: "initialize",
      params: { protocolVersion, capabilities: declared, clientInfo: { name: "fuzz", version: "1" } },
    },
    changes,
    due:
      ["elicitation", "sampling", "roots"].some((key) => Object.hasOwn(declared, key)) && declared !== ASKABLE
        ? ("any" as const)
        : ("accepted" as const),
  }));
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString()) as unknown;
  } catch {
    return undefined;
  }
}
