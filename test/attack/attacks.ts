/**
 * What attackers send. Each attack is a pair of requests: one about something of Ada's, and the same one about something that never
 * existed. Both must get the same answer.
 */
import { randomBytes, randomUUID } from "node:crypto";
import type { Request } from "../fuzz/wire/http.ts";
import { ELICITATION_RESPONSE, type InSession, sessionDraft, sessionHeaders } from "../fuzz/wire/sessions.ts";
import { ASKABLE, statelessDraft } from "../fuzz/wire/stateless.ts";
import type { Victim } from "./victims.ts";

export interface Attack {
  readonly name: string;
  /** What of Ada's it aims at, and what was never anybody's. */
  readonly aims: readonly [foreign: string, unknown: string];
  readonly request: (aim: string, own: InSession) => Request;
  /** How those whom the server does not know are refused. Default: 401. */
  readonly refusals?: readonly number[];
}

const answer = { action: "accept", content: { name: "Mallory" } };

interface Draft {
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: unknown;
}

const post = ({ headers, body }: Draft): Request => ({ method: "POST", path: "/mcp", headers, body: JSON.stringify(body) });

export function attacksOn(victim: Victim): readonly Attack[] {
  const tasks = Object.entries(victim.tasks).flatMap(([tool, taskId]) => [
    ...aboutTask(tool, taskId),
    ...aboutTaskAtApi(tool, taskId),
    ...aboutTaskOnPages(tool, taskId),
  ]);
  const { session } = victim;
  const inSession = (sessionId: string, method: string, params = {}) => post(sessionDraft({ ...session, sessionId }, { method, params }));
  const sessions: [name: string, request: (sessionId: string) => Request][] = [
    ["ping in her session", (id) => inSession(id, "ping")],
    ["tasks/list in her session", (id) => inSession(id, "tasks/list")],
    ["tools/call in her session", (id) => inSession(id, "tools/call", { name: "ends", arguments: {} })],
    [
      "the answer in her session",
      (id) => post({ headers: sessionHeaders({ ...session, sessionId: id }), body: { jsonrpc: "2.0", id: victim.askId, result: answer } }),
    ],
    [
      "a cancellation in her session",
      (id) =>
        post({
          headers: sessionHeaders({ ...session, sessionId: id }),
          body: { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } },
        }),
    ],
    ["her session's stream", (id) => ({ method: "GET", path: "/mcp", headers: streamHeaders(id) })],
    [
      "her stream from an event on",
      (id) => ({ method: "GET", path: "/mcp", headers: { ...streamHeaders(id), "last-event-id": victim.eventId } }),
    ],
    ["the end of her session", (id) => ({ method: "DELETE", path: "/mcp", headers: streamHeaders(id) })],
  ];
  return [
    ...tasks,
    ...sessions.map(([name, request]): Attack => ({ name, aims: [session.sessionId, randomUUID()], request })),
    {
      name: "the answer to her question in one's own session",
      aims: [victim.askId, altered(victim.askId)],
      request: (id, own) => post({ headers: sessionHeaders(own), body: { jsonrpc: "2.0", id, result: answer } }),
    },
    {
      name: "her event in one's own session",
      aims: [victim.eventId, altered(victim.eventId)],
      request: (id, own) => ({ method: "GET", path: "/mcp", headers: { ...streamHeaders(own.sessionId), "last-event-id": id } }),
    },
    {
      name: "her idempotency key with her request",
      aims: [victim.idempotencyKey, altered(victim.idempotencyKey)],
      request: (key) => api(...victim.repeatable, { "idempotency-key": key }),
    },
    {
      name: "her place in the stream of the API",
      aims: [victim.changeId, altered(victim.changeId)],
      request: (id) => api("/asks/changes", undefined, { accept: "text/event-stream", "last-event-id": id }),
    },
    {
      name: "her requestState with her call",
      aims: [victim.requestState, altered(victim.requestState)],
      request: (requestState) =>
        post(
          statelessDraft({
            method: "tools/call",
            params: { name: "asks-owner", arguments: {}, requestState, inputResponses: { name: answer } },
            capabilities: ASKABLE,
          }),
        ),
    },
  ];
}

function unknownLike(taskId: string): string {
  const [partition] = taskId.split("-");
  return `${partition}-${randomBytes(16).toString("base64url")}`;
}

const api = (path: string, body?: object, headers: Readonly<Record<string, string>> = {}): Request => ({
  method: body ? "POST" : "GET",
  path: `/api/v1${path}`,
  headers: { ...headers, ...(body && { "content-type": "application/json" }) },
  ...(body && { body: JSON.stringify(body) }),
});

/** At the API for programs. */
function aboutTaskAtApi(tool: string, taskId: string): Attack[] {
  const at = (more: string, body?: object) => (id: string) => api(`/asks/${id}/name${more}`, body);
  const mine = { to: { people: ["mallory", "eve", "u_ada"] }, reason: "Mine" };
  const both = (id: string) => ({ answers: [{ taskId: id, key: "name", ...answer }] });
  const requests: [name: string, request: Attack["request"]][] = [
    ["a task", (id) => api(`/tasks/${id}`)],
    ["a cancellation", (id) => api(`/tasks/${id}/cancel`, {})],
    ["a question", at("")],
    ["a question that is unchanged", (id) => api(`/asks/${id}/name`, undefined, { "if-none-match": "*" })],
    ["an answer", at("", answer)],
    ["a decline", at("", { action: "decline", reason: "No" })],
    ["a claim", at("/claim", {})],
    ["a release", at("/release", {})],
    ["a comment", at("/comments", { text: "Mine" })],
    ["a question handed on", at("/delegate", mine)],
    ["several answers", (id) => api("/asks/batch", both(id))],
    ["several answers, foreseen", (id) => api("/asks/batch", { ...both(id), preview: true })],
    ["what comes after her question", (id) => api(`/asks?order=oldest&cursor=${encodeURIComponent(`oldest.1.${id}.name`)}`)],
  ];
  return requests.map(([name, request]) => ({ name: `${name} at the API: ${tool}`, aims: [taskId, unknownLike(taskId)], request }));
}

/** Of a page, or its form, sent as a browser would. A token that cannot be trusted is refused with 403 there. */
function aboutTaskOnPages(tool: string, taskId: string): Attack[] {
  const form = (path: string, fields: Readonly<Record<string, string>>): Request => ({
    method: "POST",
    path,
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({ shown: "x".repeat(22), token: "x".repeat(22), ...fields }).toString(),
  });
  const page = (fields: Readonly<Record<string, string>>) => (id: string) => form(`/asks/${id}/name`, fields);
  const requests: [name: string, request: Attack["request"]][] = [
    ["a question's page", (id) => ({ method: "GET", path: `/asks/${id}/name`, headers: {} })],
    ["a question beside the list", (id) => ({ method: "GET", path: `/inbox?ask=${id}%2Fname`, headers: {} })],
    ["several questions with one form", (id) => ({ method: "GET", path: `/inbox?batch=${id}%2Fname`, headers: {} })],
    ["several answers with one form", (id) => form("/inbox/batch", { ask: `${id}/name`, action: "accept", f0: "Mallory" })],
    ["an answer with a form", page({ action: "accept", f0: "Mallory" })],
    ["a decline with a form", page({ action: "decline" })],
    ["a claim with a form", page({ action: "claim" })],
    ["a comment with a form", page({ action: "comment", text: "Mine" })],
    ["a question handed on with a form", page({ action: "delegate", kind: "people", names: "mallory", reason: "Mine" })],
    ["a question taken back with a form", page({ action: "takeBack" })],
  ];
  return requests.map(([name, request]) => ({
    name: `${name}: ${tool}`,
    aims: [taskId, unknownLike(taskId)],
    request,
    refusals: [401, 403],
  }));
}

function aboutTask(tool: string, taskId: string): Attack[] {
  const unknown = unknownLike(taskId);
  const stateless =
    (method: string, more = {}) =>
    (id: string) =>
      post(statelessDraft({ method, params: { taskId: id, ...more } }));
  const inOwn =
    (method: string, more: (id: string) => object = () => ({})) =>
    (id: string, own: InSession) =>
      post(sessionDraft(own, { method, params: { taskId: id, ...more(id) } }));
  const requests: [name: string, request: Attack["request"]][] = [
    ["tasks/get", stateless("tasks/get")],
    ["tasks/update", stateless("tasks/update", { inputResponses: { name: answer } })],
    ["tasks/cancel", stateless("tasks/cancel")],
    [
      "subscriptions/listen",
      (id) => post(statelessDraft({ method: "subscriptions/listen", params: { notifications: { taskIds: [id] } } })),
    ],
    ["tasks/get of a session", inOwn("tasks/get")],
    [
      "tasks/get with an answer",
      inOwn("tasks/get", (id) => ({ _meta: { [ELICITATION_RESPONSE]: { elicitationId: `${id}:name`, ...answer } } })),
    ],
    ["tasks/sendInput", inOwn("tasks/sendInput", (id) => ({ elicitationId: `${id}:name`, ...answer }))],
    ["tasks/sendInput without its question", inOwn("tasks/sendInput", () => answer)],
    ["tasks/result", inOwn("tasks/result")],
    ["tasks/cancel of a session", inOwn("tasks/cancel")],
  ];
  return requests.map(([name, request]) => ({ name: `${name}: ${tool}`, aims: [taskId, unknown], request }));
}

function streamHeaders(sessionId: string): Record<string, string> {
  return { accept: "text/event-stream", "mcp-session-id": sessionId, "mcp-protocol-version": "2025-11-25" };
}

/** Another one of the same length: its last character but one is another. */
function altered(sealed: string): string {
  const at = sealed.length - 2;
  return `${sealed.slice(0, at)}${sealed[at] === "A" ? "B" : "A"}${sealed.slice(at + 1)}`;
}

/** Headers and addresses by which some servers can be told who calls. */
export const TRICKS: readonly { readonly name: string; readonly of: (request: Request, victim: Victim) => Request }[] = [
  { name: "nothing more", of: (request) => request },
  ...(
    [
      ["x-forwarded-user", "ada"],
      ["x-remote-user", "ada"],
      ["x-principal", "ada"],
      ["x-client-dn", "CN=ada"],
      ["x-tenant", "acme"],
      ["x-forwarded-for", "127.0.0.1"],
      ["x-original-url", "/healthz"],
      ["x-http-method-override", "OPTIONS"],
      ["cookie", "session=ada"],
      ["forwarded", "for=127.0.0.1;proto=https"],
    ] as const
  ).map(([header, value]) => ({
    name: header,
    of: (request: Request): Request => ({ ...request, headers: { ...request.headers, [header]: value } }),
  })),
  {
    name: "a query",
    of: (request) => ({ ...request, path: `${request.path}${request.path.includes("?") ? "&" : "?"}principal=ada&tenant=acme` }),
  },
];
