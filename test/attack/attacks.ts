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
}

const answer = { action: "accept", content: { name: "Mallory" } };

interface Draft {
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: unknown;
}

const post = ({ headers, body }: Draft): Request => ({ method: "POST", path: "/mcp", headers, body: JSON.stringify(body) });

export function attacksOn(victim: Victim): readonly Attack[] {
  const tasks = Object.entries(victim.tasks).flatMap(([tool, taskId]) => aboutTask(tool, taskId));
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

function aboutTask(tool: string, taskId: string): Attack[] {
  const [partition] = taskId.split("-");
  const unknown = `${partition}-${randomBytes(16).toString("base64url")}`;
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
  { name: "a query", of: (request) => ({ ...request, path: `${request.path}?principal=ada&tenant=acme` }) },
];
