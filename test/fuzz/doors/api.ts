/**
 * The API for programs, /api/v1, and the inbox: each operation with right requests, and with one thing changed in them. What is refused changes nothing: the
 * question that all are about is still open.
 */
import fc from "fast-check";
import { until } from "../../support/until.ts";
import type { Door } from "../door.ts";
import { type Alteration, altered, alterations, meansTheSame } from "../draw/alter.ts";
import type { Due } from "../draw/changes.ts";
import { expand, type Json, type JsonObject, longText, notOf, oddNames, someJson, type Large } from "../draw/json.ts";
import { judge } from "../judge.ts";
import { REPLY_TIMEOUT_MS } from "../limits.ts";
import { Broken } from "../rules.ts";
import { Caller, SetUpFailed } from "../wire/caller.ts";
import { Entrance } from "../wire/entrance.ts";
import type { Request, Response } from "../wire/http.ts";

interface Operation {
  readonly name: string;
  /** With `{task}` and `{key}` of the question. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Of a POST. */
  readonly body?: JsonObject;
  /** Settles the question, or ends its task. */
  readonly settles?: true;
  /** Refused as it is. */
  readonly isRefused?: true;
}

const CONTENT_THAT_FITS = { name: "Ada", code: "AB-123", weight: 2, sure: true, size: "small" };
const LIST = { order: "oldest", limit: "5", tool: "every_field", owner: "me", askedAfter: "2020-01-01T00:00:00Z" };
const ITEM = { taskId: "{task}", key: "{key}", action: "decline" };

const OPERATIONS: readonly Operation[] = [
  { name: "asks", path: "/api/v1/asks", query: LIST },
  { name: "a count of asks", path: "/api/v1/asks/count", query: { priority: "normal" } },
  { name: "changes", path: "/api/v1/asks/changes" },
  { name: "an ask", path: "/api/v1/asks/{task}/{key}" },
  { name: "an answer", path: "/api/v1/asks/{task}/{key}", body: { action: "accept", content: CONTENT_THAT_FITS }, settles: true },
  { name: "a decline", path: "/api/v1/asks/{task}/{key}", body: { action: "decline", reason: "No" }, settles: true },
  { name: "a claim", path: "/api/v1/asks/{task}/{key}/claim", body: { minutes: 5 } },
  { name: "a release", path: "/api/v1/asks/{task}/{key}/release", body: {} },
  { name: "a comment", path: "/api/v1/asks/{task}/{key}/comments", body: { text: "Which one?" } },
  { name: "a question back", path: "/api/v1/asks/{task}/{key}/ask-back", body: { text: "Which one?" }, isRefused: true },
  { name: "a reply", path: "/api/v1/asks/{task}/{key}/reply", body: { text: "This one." }, isRefused: true },
  { name: "a snooze", path: "/api/v1/asks/{task}/{key}/snooze", body: { until: "2020-01-01T00:00:00Z" }, isRefused: true },
  { name: "the end of a snooze", path: "/api/v1/asks/{task}/{key}/unsnooze", body: {} },
  {
    name: "a question handed on",
    path: "/api/v1/asks/{task}/{key}/delegate",
    body: { to: { people: ["bob"] }, reason: "On leave" },
    isRefused: true,
  },
  { name: "answers, foreseen", path: "/api/v1/asks/batch", body: { answers: [ITEM], preview: true } },
  { name: "answers", path: "/api/v1/asks/batch", body: { answers: [ITEM] }, settles: true },
  { name: "tasks", path: "/api/v1/tasks", query: { owner: "me", status: "working,input_required", limit: "5" } },
  { name: "a task", path: "/api/v1/tasks/{task}" },
  { name: "a timeline", path: "/api/v1/tasks/{task}/timeline" },
  { name: "a cancellation", path: "/api/v1/tasks/{task}/cancel", body: { reason: "No" }, settles: true },
  { name: "tools", path: "/api/v1/tools", query: { limit: "5" } },
  { name: "a tool", path: "/api/v1/tools/strict" },
  { name: "a call", path: "/api/v1/tools/strict/calls", body: { arguments: { tags: ["a"], place: { city: "Graz" }, level: "low" } } },
];

type Change =
  | { readonly of: "nothing" }
  | { readonly of: "task id" | "key" | "cursor"; readonly alteration: Alteration }
  | { readonly of: "parameter"; readonly name: string; readonly value: string | Large; readonly due: Due }
  | { readonly of: "twice" }
  | { readonly of: "method"; readonly method: string }
  | { readonly of: "header"; readonly name: string; readonly value: string; readonly due: Due }
  /** Of the body: all of it, or a member. */
  | { readonly of: "body"; readonly value: Json | Large; readonly due: Due }
  | { readonly of: "member"; readonly name: string; readonly value: Json | Large; readonly due: Due }
  | { readonly of: "text"; readonly how: "cut" | "empty" | "doubled" };

interface Sent {
  readonly operation: number;
  readonly change: Change;
}

interface Question {
  readonly task: string;
  readonly key: string;
  readonly cursor: string;
}

/** A list of a hundred questions of 500 characters, each of up to three bytes. */
const BYTES_MAX = 400_000;
const STATUSES = [201, 304, 401, 409, 410, 414, 422];
const TOOL = "every_field";
const KEY = "fields";
/** How many comments and claims one question gets before another takes its place. */
const USES_MAX = 40;

export const api: Door<Sent> = {
  name: "api",
  async open(system) {
    const entrance = new Entrance(system);
    const caller = new Caller(system.url);
    let known: Question | undefined;
    let uses = 0;

    const get = (path: string) => entrance.send({ method: "GET", path, headers: {} }, { timeoutMs: REPLY_TIMEOUT_MS, bytesMax: BYTES_MAX });

    async function question(): Promise<Question> {
      if (known && uses < USES_MAX) return known;
      const { taskId } = await caller.stateless({ method: "tools/call", params: { name: TOOL, arguments: {} } });
      const task = String(taskId);
      uses = 0;
      await until(async () => (await get(`/api/v1/asks/${task}/${KEY}`)).status === 200);
      const { status, text } = await get("/api/v1/asks?limit=1");
      if (status !== 200) throw new SetUpFailed(`no list: ${status} ${text}`);
      known = { task, key: KEY, cursor: (JSON.parse(text) as { nextCursor?: string }).nextCursor ?? `oldest.1.${task}.${KEY}` };
      return known;
    }

    async function send({ operation, change }: Sent): Promise<void> {
      const about = await question();
      uses += 1;
      const of = OPERATIONS[operation % OPERATIONS.length] as Operation;
      const { request, due } = draftOf(of, change, about);
      const kind = of.name;
      const changes =
        change.of === "nothing"
          ? []
          : [change.of === "parameter" || change.of === "member" || change.of === "header" ? `${change.of} ${change.name}` : change.of];
      const said = `${request.path} ${String(request.body ?? "")}`;
      const response = await entrance.send(request, {
        timeoutMs: REPLY_TIMEOUT_MS,
        bytesMax: BYTES_MAX,
        enough: (messages) => messages.length > 0,
        lingerMs: 50,
      });
      judge(response, { kind, changes, due, said, plain: true, alsoStatuses: STATUSES });
      judgeProblem(response, { kind, changes });
      if (request.method === "GET" || request.method === "HEAD") return;
      const open = (await get(`/api/v1/asks/${about.task}/${about.key}`)).text.includes('"state":"open"');
      const isAccepted = response.status < 300;
      if (!open && !(of.settles === true && isAccepted)) throw new Broken("effect", { kind, changes, what: "the question is settled" });
      if (open && due === "accepted" && of.settles === true)
        throw new Broken("effect", { kind, changes, what: "the question is still open" });
      if (open) return;
      known = undefined;
    }

    return {
      cases: cases(),
      send: (drawn) => send(drawn).catch((error: unknown) => ((known = undefined), Promise.reject(error as Error))),
      close() {
        entrance.close();
        caller.close();
      },
    };
  },
};

/** Every refusal is a problem with its own status, as RFC 9457 has it, and names no more than a sentence of what was sent. */
function judgeProblem({ status, text, headers }: Response, about: { readonly kind: string; readonly changes: readonly string[] }): void {
  // What no route matches, or HTTP itself refuses, is refused by the server as elsewhere.
  if (status < 400 || status === 404 || status === 405 || status >= 431 || status === 408 || status === 414) return;
  const isProblem = String(headers["content-type"]).startsWith("application/problem+json");
  const problem = isProblem ? (JSON.parse(text) as { status?: unknown; detail?: unknown }) : undefined;
  if (problem?.status !== status || typeof problem.detail !== "string")
    throw new Broken("shape", { ...about, what: `HTTP ${status} is no problem: ${text.slice(0, 300)}` });
  if (problem.detail.length > 2_000) throw new Broken("size", { ...about, what: `a detail of ${problem.detail.length} characters` });
}

function draftOf(of: Operation, change: Change, about: Question): { readonly request: Request; readonly due: Due } {
  const task = change.of === "task id" ? altered(about.task, change.alteration) : about.task;
  const key = change.of === "key" ? altered(about.key, change.alteration) : about.key;
  const filled = (text: string) => text.replaceAll("{task}", encodeURIComponent(task)).replaceAll("{key}", encodeURIComponent(key));
  const query = new URLSearchParams(of.query);
  if (change.of === "cursor") query.set("cursor", altered(about.cursor, change.alteration));
  if (change.of === "parameter") {
    const value = expand(change.value);
    query.set(change.name, typeof value === "string" ? value : JSON.stringify(value));
  }
  if (change.of === "twice") for (const value of ["1", "2"]) query.append("limit", value);
  const path = `${filled(of.path)}${query.size === 0 ? "" : `?${query.toString()}`}`;
  const method = change.of === "method" ? change.method : of.body ? "POST" : "GET";
  const filledBody =
    of.body && (JSON.parse(JSON.stringify(of.body).replaceAll("{task}", about.task).replaceAll("{key}", about.key)) as JsonObject);
  const body =
    change.of === "body"
      ? expand(change.value)
      : change.of === "member"
        ? { ...filledBody, ...own(change.name, expand(change.value)) }
        : filledBody;
  const text = of.body && textOf(JSON.stringify(body), change);
  return {
    request: {
      method,
      path,
      headers: {
        accept: of.name === "changes" ? "text/event-stream" : "application/json",
        ...(of.body && { "content-type": "application/json" }),
        ...(change.of === "header" && { [change.name]: change.value }),
      },
      ...(text !== undefined && method !== "GET" && { body: text }),
    },
    due: dueOf(of, change, about, { task, key }),
  };
}

/** `__proto__` too is a member like any other. */
function own(name: string, value: Json): JsonObject {
  return Object.fromEntries([[name, value]]);
}

function textOf(text: string, change: Change): string {
  if (change.of !== "text") return text;
  return change.how === "cut" ? text.slice(0, -1) : change.how === "empty" ? "" : `${text}${text}`;
}

function dueOf(of: Operation, change: Change, about: Question, now: Pick<Question, "task" | "key">): Due {
  const usual: Due = of.isRefused ? "refused" : "accepted";
  const names = (part: string) => of.path.includes(part);
  switch (change.of) {
    case "nothing":
      return usual;
    case "task id":
    case "key": {
      const [name, was, is] = change.of === "key" ? ["{key}", about.key, now.key] : ["{task}", about.task, now.task];
      if (!names(name) || is === was) return usual;
      // What is left of an address may be that of another operation.
      return meansTheSame(is, was) || is.includes("/") || is === "" || /^[.]+$/.test(is) ? "any" : "refused";
    }
    case "cursor":
      return of.name === "asks" || of.name === "tasks" || of.name === "tools" || of.name === "a count of asks" ? "any" : "refused";
    case "twice":
      return "refused";
    case "method":
      return "any";
    case "body":
    case "member":
      return of.body ? (of.isRefused ? "refused" : change.due) : usual;
    case "text":
      return of.body ? "refused" : usual;
    case "parameter":
    case "header":
      return of.isRefused ? "refused" : change.due;
  }
}

function cases(): fc.Arbitrary<Sent> {
  const large = (least: number, most: number) => longText(least, most);
  const parameter = fc.oneof(
    fc.record({
      of: fc.constant("parameter" as const),
      name: fc.constant("x"),
      value: fc.string({ maxLength: 20 }),
      due: fc.constant<Due>("refused"),
    }),
    fc.record({
      of: fc.constant("parameter" as const),
      name: oddNames().filter((name) => name !== ""),
      value: fc.string({ maxLength: 20 }),
      due: fc.constant<Due>("any"),
    }),
    fc.record({
      of: fc.constant("parameter" as const),
      name: fc.constantFrom("tool", "owner", "priority", "askedBefore", "deadlineBefore", "order", "limit", "cursor", "status", "after"),
      value: fc.oneof(
        fc.string({ maxLength: 30 }),
        fc.constantFrom("0", "-1", "1e9", "101", "NaN", "null", "__proto__", "[]", "others", "oldest.0..", "\u0000", "2026-02-30"),
      ),
      due: fc.constant<Due>("any"),
    }),
    fc.record({
      of: fc.constant("parameter" as const),
      name: fc.constantFrom("tool", "cursor", "askedAfter"),
      value: large(1_001, 8_000),
      due: fc.constant<Due>("refused"),
    }),
  );
  const header = fc.constantFrom<Change>(
    ...(
      [
        ["idempotency-key", "x".repeat(256), "any"],
        ["idempotency-key", "one", "any"],
        ["idempotency-key", "__proto__", "any"],
        ["if-none-match", "*", "any"],
        ["if-none-match", `W/"${"x".repeat(2_000)}"`, "any"],
        ["last-event-id", "x".repeat(5_000), "any"],
        ["last-event-id", "__proto__", "any"],
        ["origin", "http://evil.example", "any"],
        ["sec-fetch-site", "cross-site", "any"],
        ["accept", "text/html", "any"],
        ["content-type", "text/plain", "any"],
        ["content-type", "application/x-www-form-urlencoded", "any"],
        ["content-encoding", "gzip", "any"],
        ["cookie", "parley=x; __proto__=1", "any"],
        ["x-http-method-override", "DELETE", "any"],
      ] as const
    ).map(([name, value, due]) => ({ of: "header" as const, name, value, due })),
  );
  const members = fc.constantFrom(
    "action",
    "content",
    "reason",
    "digest",
    "minutes",
    "text",
    "to",
    "answers",
    "preview",
    "arguments",
    "keepSeconds",
  );
  const change = fc.oneof<fc.WeightedArbitrary<Change>[]>(
    { weight: 4, arbitrary: fc.constant<Change>({ of: "nothing" }) },
    { weight: 3, arbitrary: fc.record({ of: fc.constantFrom("task id" as const, "key", "cursor"), alteration: alterations() }) },
    { weight: 4, arbitrary: parameter },
    { weight: 1, arbitrary: fc.constant<Change>({ of: "twice" }) },
    {
      weight: 1,
      arbitrary: fc.record({ of: fc.constant("method" as const), method: fc.constantFrom("PUT", "DELETE", "PATCH") }),
    },
    { weight: 3, arbitrary: header },
    { weight: 2, arbitrary: fc.record({ of: fc.constant("body" as const), value: notOf("object"), due: fc.constant<Due>("refused") }) },
    {
      weight: 4,
      arbitrary: fc.record({
        of: fc.constant("member" as const),
        name: members,
        value: fc.oneof(someJson(), large(1_001, 200_000)),
        due: fc.constant<Due>("any"),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        of: fc.constant("member" as const),
        name: oddNames().map((name) => `${name}!`),
        value: someJson(),
        due: fc.constant<Due>("refused"),
      }),
    },
    { weight: 1, arbitrary: fc.record({ of: fc.constant("text" as const), how: fc.constantFrom("cut" as const, "empty", "doubled") }) },
  );
  return fc.record({ operation: fc.nat(OPERATIONS.length - 1), change });
}
