/** POST /mcp of 2026-07-28: every method, with everything that can be wrong with its params, envelope, headers and bytes. */
import { OCCURRENCE_TYPES } from "@parley/core";
import fc from "fast-check";
import type { Door } from "../door.ts";
import { type AnyChange, type Due, finish } from "../draw/changes.ts";
import { type Json, type JsonObject, manyTimes, oddNames, someJson } from "../draw/json.ts";
import { drop, type Field, fieldChanges, header, messageChanges, oddMember, set, several, textChanges } from "../draw/rpc.ts";
import { type Expected, judge } from "../judge.ts";
import { LIST_BYTES_MAX, REPLY_BYTES_MAX, REPLY_TIMEOUT_MS } from "../limits.ts";
import { Broken } from "../rules.ts";
import type { System } from "../system.ts";
import { Caller } from "../wire/caller.ts";
import { callTool, COMPLETE, dueOfTool, getPrompt, INVALID_PARAMS, LIST, type Params, readResource } from "./params.ts";
import { Entrance } from "../wire/entrance.ts";
import type { Response } from "../wire/http.ts";
import {
  ASKABLE,
  CLIENT_CAPABILITIES,
  CLIENT_INFO,
  headerValue,
  PROTOCOL_VERSION,
  statelessDraft,
  TASKS,
  WITH_TASKS,
} from "../wire/stateless.ts";

interface Call {
  readonly method: string;
  readonly params: JsonObject;
  readonly capabilities: JsonObject;
  readonly changes: readonly AnyChange[];
  /** Of the call as it is without changes. */
  readonly due: Due;
}

/** Filled in with the id of a task that is there. */
const TASK = "{{task}}";
const TASKS_KEPT = 40;

const HEADER_MISMATCH = [-32_020];

interface Method extends Params {
  readonly due?: (params: JsonObject, capabilities: JsonObject) => Due;
  readonly needsTasks?: boolean;
}

export const stateless: Door<Call> = {
  name: "stateless",
  async open(system) {
    const entrance = new Entrance(system);
    const caller = new Caller(system.url);
    const tasks: string[] = [];
    const adopt = (result: unknown) => {
      const { taskId } = (result ?? {}) as { taskId?: unknown };
      if (typeof taskId !== "string" || tasks.includes(taskId)) return;
      tasks.push(taskId);
      if (tasks.length > TASKS_KEPT) tasks.shift();
    };
    adopt(await caller.stateless({ method: "tools/call", params: { name: "several", arguments: {} } }));
    let turn = 0;

    async function send({ method, params, capabilities, changes, due }: Call): Promise<void> {
      turn += 1;
      const task = tasks[turn % tasks.length] ?? "";
      const draft = statelessDraft({ method, params, capabilities, id: turn });
      const finished = finish(draft, changes, { due, fill: (text) => text.replaceAll(TASK, task) });
      const body = parsed(finished.body);
      const response = await entrance.send(
        { method: "POST", path: "/mcp", headers: finished.headers, body: finished.body },
        {
          timeoutMs: REPLY_TIMEOUT_MS,
          bytesMax: method.endsWith("/list") ? LIST_BYTES_MAX : REPLY_BYTES_MAX,
          enough: (messages) => messages.length > 0,
          lingerMs: 1_500,
        },
      );
      const expected: Expected = {
        ...finished,
        kind: method,
        said: finished.body.toString(),
        id: (body as { id?: unknown } | undefined)?.id,
      };
      judge(response, expected);
      noQuestionUnasked(response, body, expected);
      adopt(response.messages[0]?.result);
    }

    return {
      cases: calls(system),
      send,
      close() {
        entrance.close();
        caller.close();
      },
    };
  },
};

/** A question goes to those alone who declared that they can be asked it. */
function noQuestionUnasked({ text }: Response, body: unknown, { kind }: Expected): void {
  const { params } = (body ?? {}) as { params?: { _meta?: Record<string, unknown> } };
  const declared = params?._meta?.[CLIENT_CAPABILITIES];
  if (typeof declared !== "object" || declared === null || Object.keys(declared).some((key) => key !== "extensions")) return;
  if (!text.includes('"elicitation/create"')) return;
  const what = `a client that declares no elicitation is shown a question\n  reply    ${text.slice(0, 500)}`;
  throw new Broken("effect", { kind, changes: [], what });
}

function calls({ tools }: System): fc.Arbitrary<Call> {
  const ofTools = [...tools].map(([name, schema]) => callOf("tools/call", toolCall(name, schema)));
  const ofOthers = Object.entries(METHODS).map(([method, described]) => callOf(method, described));
  const notServed = fc
    .oneof(
      fc.constantFrom("tasks/list", "tasks/result", "tasks/sendInput", "initialize", "ping", "logging/setLevel", "resources/subscribe"),
      fc.constantFrom("constructor", "__proto__", "toString", "tools/call ", "Tools/Call", "tools//call", "notifications/initialized"),
      fc.string({ minLength: 1, maxLength: 12 }).filter((name) => headerValue(name) === name),
    )
    .map((method) => method.trim());
  return fc.oneof(
    { weight: 6, arbitrary: fc.oneof(...ofTools) },
    { weight: 12, arbitrary: fc.oneof(...ofOthers) },
    {
      weight: 1,
      arbitrary: notServed.chain((method) =>
        several(common()).map((changes): Call => ({ method, params: {}, capabilities: WITH_TASKS, changes, due: "refused" })),
      ),
    },
  );
}

function callOf(method: string, { params, fields, changes, due = () => "accepted", needsTasks = false }: Method): fc.Arbitrary<Call> {
  const inParams = fieldChanges(fields);
  const change = fc.oneof(
    { weight: 4, arbitrary: inParams ?? envelopeChanges() },
    ...(changes ? [{ weight: 5, arbitrary: changes }] : []),
    { weight: 4, arbitrary: common() },
    { weight: 1, arbitrary: textChanges() },
  );
  const capabilities = fc.oneof(
    { weight: 6, arbitrary: fc.constant(WITH_TASKS) },
    { weight: 2, arbitrary: fc.constantFrom<JsonObject>(ASKABLE, {}, onlyTasks) },
  );
  return fc.record({ params, capabilities, changes: several(change) }).map((drawn) => {
    const speaksTasks = "extensions" in drawn.capabilities;
    return { method, ...drawn, due: needsTasks && !speaksTasks ? "refused" : due(drawn.params, drawn.capabilities) };
  });
}

const onlyTasks: JsonObject = { extensions: { [TASKS]: {} } };

/** What every request of this revision can have wrong. */
function common(): fc.Arbitrary<AnyChange> {
  return fc.oneof(
    { weight: 4, arbitrary: messageChanges() },
    { weight: 3, arbitrary: envelopeChanges() },
    { weight: 3, arbitrary: headerChanges() },
  );
}

const META = ["params", "_meta"] as const;

function envelopeChanges(): fc.Arbitrary<AnyChange> {
  const refused = { due: "refused", codes: INVALID_PARAMS } as const;
  const objects = fieldChanges([{ path: [...META, CLIENT_INFO], is: "object" }]);
  return fc.oneof(
    drop("no _meta", META, refused),
    set(
      "_meta of another type",
      META,
      someJson().filter((value) => value !== null && (typeof value !== "object" || Array.isArray(value))),
      refused,
    ),
    drop("no protocolVersion", [...META, PROTOCOL_VERSION], refused),
    drop("no clientCapabilities", [...META, CLIENT_CAPABILITIES], refused),
    set("protocolVersion of another type", [...META, PROTOCOL_VERSION], fc.constantFrom<Json>(1, null, [], {}, true), { due: "refused" }),
    set("another protocolVersion", [...META, PROTOCOL_VERSION], fc.constantFrom("2025-11-25", "1999-01-01", "", "2026-07-28 "), {
      due: "refused",
      codes: [...HEADER_MISMATCH, -32_022],
    }),
    set("clientCapabilities of another type", [...META, CLIENT_CAPABILITIES], fc.constantFrom<Json>(1, null, [], "x", true), {
      due: "refused",
    }),
    set("a capability of another type", [...META, CLIENT_CAPABILITIES, "elicitation"], fc.constantFrom<Json>(1, [], "x"), refused),
    set("a log level that is none", [...META, "io.modelcontextprotocol/logLevel"], fc.constantFrom<Json>("loud", 1, {}), refused),
    set("a log level", [...META, "io.modelcontextprotocol/logLevel"], fc.constantFrom("debug", "emergency"), { due: "accepted" }),
    set("a progress token of another type", [...META, "progressToken"], fc.constantFrom<Json>(1.5, [], {}, true), refused),
    set("a progress token", [...META, "progressToken"], fc.oneof(fc.maxSafeInteger(), oddNames()), { due: "accepted" }),
    set("a traceparent", [...META, "traceparent"], someJson(), { due: "accepted" }),
    ...(objects ? [objects] : []),
    oddMember(META),
    oddMember(["params"]),
  );
}

function headerChanges(): fc.Arbitrary<AnyChange> {
  const absent = fc.constant(undefined);
  return fc.oneof(
    header("no version header", "mcp-protocol-version", absent, "refused", HEADER_MISMATCH),
    header(
      "another version header",
      "mcp-protocol-version",
      fc.constantFrom("2025-11-25", "1999-01-01", "2026-07-28, 2026-07-28", ""),
      "refused",
      [...HEADER_MISMATCH, -32_022],
    ),
    header("no method header", "mcp-method", absent, "refused", HEADER_MISMATCH),
    header(
      "another method header",
      "mcp-method",
      fc.constantFrom("x", "TOOLS/CALL", "tools/list, tools/list", ""),
      "refused",
      HEADER_MISMATCH,
    ),
    header("a session header", "mcp-session-id", oddHeader(), "accepted"),
    header("a last event", "last-event-id", oddHeader(), "accepted"),
    header(
      "another media type",
      "content-type",
      fc.constantFrom("text/plain", "application/xml", "application/jsonp", "x", "multipart/form-data"),
      "refused",
    ),
    header(
      "a charset",
      "content-type",
      fc.constantFrom("application/json; charset=utf-8", "application/json;charset=UTF-8", "Application/JSON"),
      "accepted",
    ),
    header("an odd accept", "accept", fc.constantFrom("*/*", "application/json", "text/event-stream", "a/b", "", "*"), "any"),
  );
}

/** Octets that a header may carry. */
const oddHeader = (): fc.Arbitrary<string> => fc.constantFrom("x", "__proto__", "../..", "*", "a,b", '"', "%0d%0a", "0".repeat(2_000));

const TASK_ID: Field = { path: ["params", "taskId"], is: "string", required: true };
const otherTask = () =>
  fc.oneof(
    renamed(
      "another task",
      "taskId",
      fc.constantFrom("0-AAAAAAAAAAAAAAAAAAAAAA", "nobody", "../x", "0-", "99-AAAAAAAAAAAAAAAAAAAAAA"),
      INVALID_PARAMS,
    ),
    set("a task that its header does not name", ["params", "taskId"], fc.constantFrom("x", ""), { due: "refused", codes: HEADER_MISMATCH }),
    header("no name header", "mcp-name", fc.constant(undefined), "accepted"),
    header("another name header", "mcp-name", fc.constantFrom("x", "=?base64?eA==?=", "=?base64?!?="), "refused", HEADER_MISMATCH),
  );
const nameHeader = () =>
  fc.oneof(
    header("no name header", "mcp-name", fc.constant(undefined), "refused", HEADER_MISMATCH),
    header(
      "another name header",
      "mcp-name",
      fc.constantFrom("x", "=?base64?eA==?=", "=?base64?!?=", "=?base64??="),
      "refused",
      HEADER_MISMATCH,
    ),
  );

function also(params: Params, ...changes: fc.Arbitrary<AnyChange>[]): Params {
  return { ...params, changes: fc.oneof(...(params.changes ? [{ weight: 3, arbitrary: params.changes }] : []), ...changes) };
}

const METHODS: { readonly [method: string]: Method } = {
  "server/discover": { params: fc.constant({}), fields: [] },
  "tools/list": LIST,
  "prompts/list": LIST,
  "resources/list": LIST,
  "resources/templates/list": LIST,
  "prompts/get": {
    ...also(getPrompt(renamed), nameHeader(), retries()),
    due: ({ name: prompt }, capabilities) => (prompt === "letter" && !("elicitation" in capabilities) ? "refused" : "accepted"),
  },
  "resources/read": also(readResource(renamed), nameHeader()),
  "completion/complete": COMPLETE,
  "subscriptions/listen": {
    params: fc.record({
      notifications: fc.record(
        {
          taskIds: fc.array(fc.oneof(fc.constant(TASK), oddNames()), { maxLength: 5 }),
          toolsListChanged: fc.boolean(),
          resourceSubscriptions: fc.array(oddNames(), { maxLength: 5 }),
        },
        { requiredKeys: [] },
      ),
    }),
    fields: [
      { path: ["params", "notifications"], is: "object", required: true },
      // A client without tasks may listen, but not to tasks.
      { path: ["params", "notifications", "taskIds"], is: "array", missing: "any" },
      { path: ["params", "notifications", "toolsListChanged"], is: "boolean" },
      { path: ["params", "notifications", "resourceSubscriptions"], is: "array" },
    ],
    changes: fc.oneof(
      set("too many tasks", ["params", "notifications", "taskIds"], manyTexts(1_001), {
        due: "refused",
        // Without the tasks extension none may be named.
        codes: [...INVALID_PARAMS, -32_021],
      }),
      set("too many resources", ["params", "notifications", "resourceSubscriptions"], manyTexts(1_001), {
        due: "refused",
        codes: INVALID_PARAMS,
      }),
      set("tasks that are no texts", ["params", "notifications", "taskIds"], fc.constantFrom<Json>([1], [null], [["x"]], ["x", {}]), {
        due: "refused",
        codes: INVALID_PARAMS,
      }),
    ),
    due: (params, capabilities) => {
      const { taskIds = [] } = params["notifications"] as { readonly taskIds?: readonly string[] };
      return taskIds.length > 0 && !("extensions" in capabilities) ? "refused" : "accepted";
    },
  },
  "events/list": LIST,
  "events/poll": {
    params: fc.record(
      {
        name: fc.constantFrom(...OCCURRENCE_TYPES),
        arguments: fc.constantFrom<JsonObject>({}, { tool: "several" }, { taskId: "0-AAAAAAAAAAAAAAAAAAAAAA" }),
        cursor: fc.constant(null),
        maxEvents: fc.constantFrom(1, 50, 1_000_000),
      },
      { requiredKeys: ["name"] },
    ) as fc.Arbitrary<JsonObject>,
    fields: [
      { path: ["params", "name"], is: "string", required: true },
      { path: ["params", "arguments"], is: "object" },
      { path: ["params", "cursor"], is: "string" },
    ],
    changes: fc.oneof(
      set("an event that there is not", ["params", "name"], fc.constantFrom("ask", "__proto__", "", "task.ended ", "x".repeat(10_000)), {
        due: "refused",
        codes: [-32_011],
      }),
      set(
        "a cursor that nobody issued",
        ["params", "cursor"],
        fc.constantFrom("", "1", "1.x", "2.1-0", "1.1-99999999999999999999", "9".repeat(50_000)),
        {
          due: "refused",
          codes: INVALID_PARAMS,
        },
      ),
      set(
        "arguments that it does not take",
        ["params", "arguments"],
        fc.constantFrom<JsonObject>({ colour: 1 }, { tool: 7 }, { from: "x" }),
        {
          due: "refused",
          codes: INVALID_PARAMS,
        },
      ),
    ),
  },
  "events/subscribe": {
    params: fc.constant<JsonObject>({ name: "ask.opened", delivery: { mode: "webhook", url: "https://a.example/", secret: "whsec_AAAA" } }),
    fields: [],
    // Nobody is known here, so nothing is posted to anybody.
    due: () => "refused",
  },
  "tasks/get": { params: fc.constant({ taskId: TASK }), fields: [TASK_ID], changes: otherTask(), needsTasks: true },
  "tasks/cancel": { params: fc.constant({ taskId: TASK }), fields: [TASK_ID], changes: otherTask(), needsTasks: true },
  "tasks/update": {
    params: fc.record({
      taskId: fc.constant(TASK),
      // Answers to what was never asked are acknowledged; the door of answers has the others.
      inputResponses: fc.dictionary(
        oddNames().filter((key) => key !== "constructor"),
        someJson(),
        { maxKeys: 4 },
      ) as fc.Arbitrary<JsonObject>,
    }),
    fields: [TASK_ID, { path: ["params", "inputResponses"], is: "object", required: true }],
    changes: fc.oneof(
      otherTask(),
      set(
        "too many answers",
        ["params", "inputResponses"],
        manyTimes(65, 60_000).map((times) => ({ large: "members" as const, of: 0, times })),
        {
          due: "refused",
          codes: INVALID_PARAMS,
        },
      ),
      set(
        "as many answers as may be",
        ["params", "inputResponses"],
        fc.constant({ large: "members" as const, of: { action: "cancel" }, times: 64 }),
        {
          due: "accepted",
        },
      ),
    ),
    needsTasks: true,
  },
};

/** In the body and its header, which must agree. */
function renamed(what: string, member: string, to: fc.Arbitrary<string>, codes: readonly number[]): fc.Arbitrary<AnyChange> {
  return to.map((value): AnyChange => {
    const repeated = { header: "mcp-name", value: headerValue(value) };
    return { name: what, set: ["params", member], to: value, repeated, due: "refused", codes };
  });
}

function manyTexts(times: number): fc.Arbitrary<Json> {
  return fc.constant(Array.from({ length: times }, (_, index) => `t${index}`));
}

function toolCall(name: string, schema: JsonObject): Method {
  const wish = set("a task wish of another revision", ["params", "task"], someJson(), { due: "accepted" });
  return {
    ...also(callTool(name, schema, renamed), nameHeader(), wish, retries()),
    due: (_params, capabilities) => {
      const asTask = "extensions" in capabilities;
      if (name === "ask_first" && !asTask) return "refused";
      return dueOfTool(name, { asTask, canBeAsked: "elicitation" in capabilities });
    },
  };
}

/** What belongs to a retry, in a call that is none. */
function retries(): fc.Arbitrary<AnyChange> {
  return fc.oneof(
    set("a requestState that was never given", ["params", "requestState"], fc.oneof(oddNames(), fc.base64String({ minLength: 20 })), {
      due: "refused",
      codes: INVALID_PARAMS,
    }),
    set("requestState of another type", ["params", "requestState"], fc.constantFrom<Json>(1, {}, []), {
      due: "refused",
      codes: INVALID_PARAMS,
    }),
    set("inputResponses of another type", ["params", "inputResponses"], fc.constantFrom<Json>(1, "x", []), {
      due: "refused",
      codes: INVALID_PARAMS,
    }),
    set(
      "answers to nothing",
      ["params", "inputResponses"],
      fc.dictionary(oddNames(), someJson(), { maxKeys: 3 }) as fc.Arbitrary<JsonObject>,
      { due: "any" },
    ),
    set("too many answers", ["params", "inputResponses"], fc.constant({ large: "members" as const, of: 0, times: 65 }), {
      due: "refused",
      codes: INVALID_PARAMS,
    }),
  );
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString()) as unknown;
  } catch {
    return undefined;
  }
}
