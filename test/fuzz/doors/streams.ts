/** GET, DELETE and every method except POST: sessions' own streams, streams that are resumed with Last-Event-ID, and the end of sessions. */
import fc from "fast-check";
import type { Door } from "../door.ts";
import { type Alteration, altered, alterations, meansTheSame } from "../draw/alter.ts";
import type { Due } from "../draw/changes.ts";
import { type Expected, judge } from "../judge.ts";
import { REPLY_BYTES_MAX, REPLY_TIMEOUT_MS } from "../limits.ts";
import { Broken } from "../rules.ts";
import { Caller } from "../wire/caller.ts";
import { Entrance } from "../wire/entrance.ts";
import { type InSession, REVISIONS, type Revision, sessionHeaders } from "../wire/sessions.ts";

/** Which event the client says it saw last. */
type LastEvent = "none" | "of the session's stream" | "of a call" | "of another session";

interface Sent {
  readonly method: string;
  readonly revision: Revision;
  readonly path: string;
  readonly lastEvent: LastEvent;
  readonly alteration: Alteration;
  readonly changes: readonly HeaderChange[];
  readonly body: string | undefined;
}

interface HeaderChange {
  readonly name: string;
  readonly header: string;
  /** Undefined takes it away. */
  readonly value: string | undefined;
  readonly due: Due;
}

/** The path of the endpoint, and of what is no part of it. */
const MCP = "/mcp";
const USES = 40;

export const streams: Door<Sent> = {
  name: "streams",
  async open(system) {
    const entrance = new Entrance(system);
    const caller = new Caller(system.url);
    const kept = new Map<Revision, { readonly events: Events; uses: number }>();
    let ids = 0;

    /** A session and the events that its streams had. */
    async function eventsOf(revision: Revision): Promise<Events> {
      const known = kept.get(revision);
      if (known && known.uses < USES) {
        known.uses += 1;
        return known.events;
      }
      if (known) await caller.end(known.events.session).catch(() => 0);
      const session = await caller.open(revision);
      const asked = await caller.untilAsked(session, "tools/call", { name: "constructor_ask", arguments: {} }, (ids += 1));
      // Only revisions whose streams may end early begin them with an id.
      const own = revision === "2025-11-25" ? (await open(session)).messages[0]?.eventId : undefined;
      const events = { session, own: own ?? asked.eventId ?? "", ofCall: asked.eventId ?? "" };
      kept.set(revision, { events, uses: 1 });
      return events;
    }

    function open(session: InSession) {
      const { "content-type": _, ...headers } = sessionHeaders(session);
      const reading = {
        timeoutMs: REPLY_TIMEOUT_MS,
        bytesMax: REPLY_BYTES_MAX,
        enough: (messages: readonly unknown[]) => messages.length > 0,
        lingerMs: 1_000,
      };
      return entrance.send({ method: "GET", path: MCP, headers: { ...headers, accept: "text/event-stream" } }, reading);
    }

    async function send(sent: Sent): Promise<void> {
      const { method, revision, path, lastEvent, alteration, changes, body } = sent;
      const events = await eventsOf(revision);
      const { session } = events;
      const was = await lastEventId(lastEvent, events);
      const is = was === undefined ? undefined : altered(was, alteration);
      const { "content-type": _, ...rest } = sessionHeaders(session);
      const headers: Record<string, string> = { ...rest, accept: "text/event-stream", ...(is !== undefined && { "last-event-id": is }) };
      for (const change of changes) {
        if (change.value === undefined) delete headers[change.header];
        else headers[change.header] = change.value;
      }
      const due = dueOf(sent, was, is);
      const response = await entrance.send(
        { method, path, headers, ...(body !== undefined && { body }) },
        { timeoutMs: REPLY_TIMEOUT_MS, bytesMax: REPLY_BYTES_MAX, enough: (messages) => messages.length > 0, lingerMs: 20 },
      );
      const expected: Expected = {
        kind: path.startsWith(MCP) ? method : `${method} elsewhere`,
        changes: [
          ...(lastEvent === "none" ? [] : [`last event ${lastEvent}, ${alteration.how}`]),
          ...(body === undefined ? [] : ["a body"]),
          ...changes.map(({ name }) => name),
        ],
        due,
        said: `${is ?? ""} ${path}`,
      };
      judge(response, expected);
      const ends = method === "DELETE" && response.status === 204;
      if (ends) kept.delete(revision);
      if (method === "GET" && response.status === 200 && !response.headers["content-type"]?.startsWith("text/event-stream")) {
        throw new Broken("shape", {
          kind: expected.kind,
          changes: expected.changes,
          what: `GET is answered by ${response.headers["content-type"]}`,
        });
      }
      if ((await caller.isAlive(session)) === ends) {
        const what = ends
          ? "the session lives on after DELETE was answered by 204"
          : `the session has ended by ${method}, which was answered by ${response.status}`;
        kept.delete(revision);
        throw new Broken("effect", { kind: expected.kind, changes: expected.changes, what });
      }
    }

    async function lastEventId(lastEvent: LastEvent, { own, ofCall }: Events): Promise<string | undefined> {
      switch (lastEvent) {
        case "none":
          return undefined;
        case "of the session's stream":
          return own;
        case "of a call":
          return ofCall;
        case "of another session":
          return foreign;
      }
    }

    const other = await caller.open("2025-11-25");
    const foreign = (await caller.untilAsked(other, "tools/call", { name: "constructor_ask", arguments: {} }, 1)).eventId ?? "";
    return {
      cases: cases(),
      send,
      async close() {
        for (const { events } of kept.values()) await caller.end(events.session).catch(() => 0);
        await caller.end(other).catch(() => 0);
        entrance.close();
        caller.close();
      },
    };
  },
};

interface Events {
  readonly session: InSession;
  readonly own: string;
  readonly ofCall: string;
}

function dueOf({ method, path, lastEvent, changes, body }: Sent, was: string | undefined, is: string | undefined): Due {
  if (path !== MCP && path !== `${MCP}?x=1`) return "refused";
  // A HEAD is what GET would be, or nothing; what counts is that it changes nothing.
  if (method === "HEAD") return "any";
  if (method !== "GET" && method !== "DELETE") return "refused";
  const relevant = changes.filter((change) => method === "GET" || change.header !== "accept");
  if (relevant.some(({ due }) => due === "refused")) return "refused";
  if (relevant.some(({ due }) => due === "any")) return "any";
  if (method === "DELETE") return body === undefined || body === "" ? "accepted" : "any";
  if (body !== undefined) return "any";
  if (was === undefined || is === undefined) return "accepted";
  if (lastEvent === "of another session") return "refused";
  return is === was ? "accepted" : meansTheSame(was, is) ? "any" : "refused";
}

function cases(): fc.Arbitrary<Sent> {
  const paths = [
    "/mcp/",
    "/MCP",
    "//mcp",
    "/mcp/x",
    "/metrics",
    "/.env",
    "/admin",
    "/mcp/../mcp/x",
    "/healthz/",
    "/favicon.ico",
    "/%2e%2e/package.json",
  ];
  const change = fc.constantFrom<HeaderChange>(
    { name: "no session", header: "mcp-session-id", value: undefined, due: "refused" },
    { name: "another session", header: "mcp-session-id", value: "x", due: "refused" },
    { name: "a session that has ended", header: "mcp-session-id", value: "00000000-0000-4000-8000-000000000000", due: "refused" },
    { name: "no version", header: "mcp-protocol-version", value: undefined, due: "accepted" },
    { name: "the other family's version", header: "mcp-protocol-version", value: "2026-07-28", due: "refused" },
    { name: "a version that is not served", header: "mcp-protocol-version", value: "1999-01-01", due: "refused" },
    { name: "no stream accepted", header: "accept", value: "application/json", due: "refused" },
    { name: "an odd accept", header: "accept", value: "a/b", due: "refused" },
    { name: "anything accepted", header: "accept", value: "*/*", due: "accepted" },
    // Clients in Python send it with DELETE, which has no body.
    { name: "a media type", header: "content-type", value: "application/json", due: "accepted" },
    { name: "another media type", header: "content-type", value: "text/plain", due: "any" },
    { name: "a foreign origin", header: "origin", value: "http://evil.example", due: "refused" },
  );
  return fc.record({
    method: fc.oneof(
      { weight: 6, arbitrary: fc.constant("GET") },
      { weight: 3, arbitrary: fc.constant("DELETE") },
      { weight: 1, arbitrary: fc.constant("HEAD") },
      { weight: 1, arbitrary: fc.constantFrom("PUT", "PATCH", "PROPFIND", "TRACE") },
    ),
    revision: fc.constantFrom(...REVISIONS),
    path: fc.oneof(
      { weight: 9, arbitrary: fc.constantFrom(MCP, MCP, MCP, `${MCP}?x=1`) },
      { weight: 1, arbitrary: fc.constantFrom(...paths) },
    ),
    lastEvent: fc.constantFrom<LastEvent>("none", "of the session's stream", "of a call", "of a call", "of another session"),
    alteration: alterations(),
    changes: fc.oneof(
      fc.constant([]),
      fc.constant([]),
      fc.tuple(change),
      fc.uniqueArray(change, { maxLength: 3, selector: ({ header }) => header }),
    ),
    body: fc
      .option(fc.constantFrom("", "{}", "x", '{"jsonrpc":"2.0","id":1,"method":"ping"}'), { freq: 12, nil: undefined })
      .map((each) => each),
  });
}
