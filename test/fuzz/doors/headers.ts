/** Valid messages of both families with every header that can be wrong, repeated, too long or not a header at all, sent directly to a front end. */
import fc from "fast-check";
import type { Door } from "../door.ts";
import type { Due } from "../draw/changes.ts";
import { several } from "../draw/rpc.ts";
import { type Expected, judge } from "../judge.ts";
import { REPLY_TIMEOUT_MS } from "../limits.ts";
import { Broken, type ReplyRule } from "../rules.ts";
import { Caller } from "../wire/caller.ts";
import { bytesOf, type Lines, post, type RawRequest } from "../wire/head.ts";
import { exchangeRaw, type RawResult } from "../wire/raw.ts";
import { sessionPool } from "../wire/session-pool.ts";
import { REVISIONS, type Revision, sessionDraft } from "../wire/sessions.ts";
import { statelessDraft } from "../wire/stateless.ts";

/** Takes the lines of that name out, and puts others in. */
interface Replace {
  readonly name: string;
  readonly header: string;
  readonly values: readonly string[];
  readonly due: Due;
  readonly statuses?: readonly number[];
}

/** Adds lines as they are. */
interface Add {
  readonly name: string;
  readonly lines: Lines;
  readonly due: Due;
  readonly statuses?: readonly number[];
}

interface Start {
  readonly name: string;
  readonly start: string;
  readonly due: Due;
  readonly statuses?: readonly number[];
}

type HeadChange = Replace | Add | Start;

interface Sent {
  readonly family: "stateless" | Revision;
  readonly changes: readonly HeadChange[];
}

const SESSION_USES = 200;
/** Filled in with the front end's own name. */
const HOST = "{{host}}";
/** HTTP, the media type, or a header's own rules. */
const REFUSED = [400, 403, 404, 405, 408, 413, 415, 417, 431];

export const headers: Door<Sent> = {
  name: "headers",
  async open(system) {
    const caller = new Caller(system.url);
    const pool = sessionPool(caller, SESSION_USES);
    let turn = 0;

    async function send({ family, changes }: Sent): Promise<void> {
      turn += 1;
      const frontEnd = system.frontEnds[turn % system.frontEnds.length]!;
      const { port, host } = new URL(frontEnd.url);
      const draft =
        family === "stateless"
          ? statelessDraft({ method: "tools/call", params: { name: "echo", arguments: { text: "c4n4ry" } }, id: turn })
          : sessionDraft(await pool.of(family), { method: "ping", params: {}, id: turn });
      const made = changes.filter((change, index) => !changes.slice(0, index).some((earlier) => isSame(earlier, change)));
      let request = post(draft.headers, host, JSON.stringify(draft.body));
      for (const change of made) request = changed(request, change);
      request = { ...request, lines: request.lines.map(([name, value]) => [name, value.replaceAll(HOST, host)]) };
      const bytes = bytesOf(request);
      const result = await exchangeRaw({
        port: Number(port),
        pieces: [{ bytes }],
        afterwards: "wait",
        replies: 1,
        timeoutMs: REPLY_TIMEOUT_MS,
      });
      const statuses = made.flatMap((change) => change.statuses ?? []);
      const due = dueOf(made);
      const expected: Expected = {
        kind: family === "stateless" ? "stateless" : "session",
        changes: made.map(({ name }) => name),
        due,
        said: bytes.toString("latin1"),
        id: turn,
        ...(due === "refused" && { statuses: made.length === 1 && statuses.length > 0 ? statuses : REFUSED }),
      };
      judgeRaw(result, expected);
    }

    return {
      cases: fc.record({ family: fc.constantFrom<Sent["family"]>("stateless", "stateless", ...REVISIONS), changes: several(headChange()) }),
      send,
      async close() {
        await pool.close();
        caller.close();
      },
    };
  },
};

function dueOf(changes: readonly HeadChange[]): Due {
  // What is odd may also decide what the rest means.
  if (changes.some(({ due }) => due === "any")) return "any";
  return changes.some(({ due }) => due === "refused") ? "refused" : "accepted";
}

function isSame(one: HeadChange, other: HeadChange): boolean {
  if ("start" in one || "start" in other) return "start" in one && "start" in other;
  const names = (change: Replace | Add) => ("header" in change ? [change.header] : change.lines.map(([name]) => name.toLowerCase()));
  return names(one).some((name) => names(other).includes(name));
}

function changed(request: RawRequest, change: HeadChange): RawRequest {
  if ("start" in change) return { ...request, start: change.start };
  if ("lines" in change) return { ...request, lines: [...request.lines, ...change.lines] };
  const others = request.lines.filter(([name]) => name !== change.header);
  return { ...request, lines: [...others, ...change.values.map((value) => [change.header, value] as const)] };
}

/** One response, or a connection that is closed where a refusal is due; one that says that it is refused says too that the connection ends. */
export function judgeRaw({ responses, closed, timedOut, rest, ms }: RawResult, expected: Expected): void {
  const { kind, changes, due } = expected;
  const [response, ...more] = responses.filter(({ informational }) => !informational);
  const broken = (rule: ReplyRule, what: string) => new Broken(rule, { kind, changes, what: `${what}\n  reply    ${rest.slice(0, 300)}` });
  if (!response) {
    if (timedOut) throw broken("hang", `nothing within ${Math.round(ms)} ms`);
    // Bytes that are no HTTP need no HTTP in return.
    if (due === "accepted") throw broken("dropped", "the connection was closed without a reply");
    return;
  }
  judge(response, expected);
  // A body whose length nobody gave is the next request.
  if (more.length > 0 && !changes.includes("no length")) throw broken("shape", `${more.length + 1} replies to one request`);
  // The last reply is the one that knows: what comes behind a request, and is none, is refused by itself.
  const last = more.at(-1) ?? response;
  if (closed && last.headers["connection"]?.toLowerCase() !== "close")
    throw broken("closing", `the connection was closed after ${last.status}, and the reply does not say so`);
}

function headChange(): fc.Arbitrary<HeadChange> {
  return fc.oneof(
    { weight: 4, arbitrary: hosts() },
    { weight: 3, arbitrary: origins() },
    { weight: 3, arbitrary: bodies() },
    { weight: 3, arbitrary: protocol() },
    { weight: 3, arbitrary: bystanders() },
    { weight: 3, arbitrary: broken() },
    { weight: 2, arbitrary: starts() },
  );
}

function replace(
  name: string,
  header: string,
  due: Due,
  values: readonly (string | readonly string[])[],
  statuses?: readonly number[],
): fc.Arbitrary<Replace> {
  return fc
    .constantFrom(...values)
    .map((value) => ({ name, header, due, values: typeof value === "string" ? [value] : value, ...(statuses && { statuses }) }));
}

function add(name: string, due: Due, lines: readonly Lines[], statuses?: readonly number[]): fc.Arbitrary<Add> {
  return fc.constantFrom(...lines).map((each) => ({ name, due, lines: each, ...(statuses && { statuses }) }));
}

function hosts(): fc.Arbitrary<HeadChange> {
  return fc.oneof(
    replace(
      "a foreign host",
      "host",
      "refused",
      [
        "evil.example",
        "evil.example:80",
        "localhost.evil.example",
        "localhost@evil.example",
        "127.0.0.1.evil.example",
        "0.0.0.0",
        "[::]",
        "2130706433",
        "localhost, evil.example",
        "x".repeat(3_000),
      ],
      [400, 403],
    ),
    replace("a host that is served", "host", "accepted", ["localhost", "LOCALHOST:1", "127.0.0.1:99999", "[::1]", "[::1]:3000"]),
    replace("an odd host", "host", "any", ["localhost.", "localhost:", "localhost:x", "localhost:-1", ":80", " localhost", "127.1"]),
    replace("an empty host", "host", "refused", [""], [400, 403]),
    replace("no host", "host", "refused", [[]], [400, 403]),
    replace(
      "two hosts",
      "host",
      "refused",
      [
        [HOST, "evil.example"],
        ["evil.example", HOST],
        [HOST, HOST],
      ],
      [400, 403],
    ),
  );
}

function origins(): fc.Arbitrary<HeadChange> {
  return fc.oneof(
    replace(
      "a foreign origin",
      "origin",
      "refused",
      [
        "http://evil.example",
        "null",
        "",
        "https://localhost.evil.example",
        "http://localhost@evil.example",
        "file://",
        "localhost",
        "http://127.0.0.1.evil.example:80",
      ],
      [403],
    ),
    replace("a trusted origin", "origin", "accepted", [
      "http://localhost",
      "https://localhost:8443",
      "http://127.0.0.1:1",
      "http://[::1]:3000",
    ]),
    replace("an odd origin", "origin", "any", ["HTTP://LOCALHOST", "http://localhost/", "http://localhost:x"]),
    replace(
      "two origins",
      "origin",
      "refused",
      [
        ["http://localhost", "http://evil.example"],
        ["http://evil.example", "http://localhost"],
      ],
      [400, 403],
    ),
  );
}

/** What says how long a body is and what is in it. The body itself is right. */
function bodies(): fc.Arbitrary<HeadChange> {
  return fc.oneof(
    replace("no media type", "content-type", "refused", [[]], [415]),
    replace(
      "another media type",
      "content-type",
      "refused",
      ["text/plain", "application/jsonx", "application/x-www-form-urlencoded", ";", "/", "application", "*/*", "json"],
      [400, 415],
    ),
    replace("an odd media type", "content-type", "any", [
      ["application/json", "text/plain"],
      ["text/plain", "application/json"],
      "application/json, text/plain",
      "application/json;",
      "application/json;charset=utf-16",
      "application/json;charset=x;charset=y",
      " application/json ",
    ]),
    replace("a charset", "content-type", "accepted", ["application/json; charset=utf-8", "application/json;charset=UTF-8"]),
    replace(
      "a length that is none",
      "content-length",
      "refused",
      ["-1", "+5", "0x10", "1e3", "x", "", "5,6", "1.0", "99999999999999999999"],
      [400, 413],
    ),
    replace(
      "two lengths",
      "content-length",
      "refused",
      [
        ["5", "6"],
        ["10", "10"],
      ],
      [400],
    ),
    replace("a length beyond the limit", "content-length", "refused", ["1048577", "999999999"], [413]),
    replace("no length", "content-length", "any", [[]]),
    add("a length and chunks", "refused", [[["transfer-encoding", "chunked"]]], [400]),
    add(
      "an encoding that is not known",
      "refused",
      [
        [["transfer-encoding", "xchunked"]],
        [["transfer-encoding", "gzip"]],
        [["transfer-encoding", "chunked, identity"]],
        [["transfer-encoding", "\u000bchunked"]],
      ],
      [400, 501],
    ),
    add("a content encoding", "any", [[["content-encoding", "gzip"]], [["content-encoding", "br"]], [["content-encoding", "identity"]]]),
    add("100-continue", "accepted", [[["expect", "100-continue"]]]),
    add("another expectation", "refused", [[["expect", "200-ok"]], [["expect", "x"]]], [417]),
    replace("an odd accept", "accept", "any", [
      [],
      "",
      "a/b",
      "*",
      "text/event-stream;q=0",
      "application/json;q=x",
      "x".repeat(4_000),
      ["application/json", "text/event-stream"],
    ]),
  );
}

/** Headers of MCP, where they come twice or say something else than they did. Which family a request belongs to may hang on them. */
function protocol(): fc.Arbitrary<HeadChange> {
  return fc.oneof(
    replace(
      "two versions",
      "mcp-protocol-version",
      "refused",
      [
        ["2026-07-28", "2025-11-25"],
        ["2026-07-28", "2026-07-28"],
        ["2025-11-25", "2025-11-25"],
      ],
      [400],
    ),
    replace(
      "an odd version",
      "mcp-protocol-version",
      "refused",
      ["", "0", "2026-07-28\t2025-11-25", "2026-07-28;", "x".repeat(5_000)],
      [400],
    ),
    replace("no version", "mcp-protocol-version", "any", [[]]),
    replace("an odd method header", "mcp-method", "any", [
      "",
      "tools/call\t",
      "x".repeat(5_000),
      "=?base64?dG9vbHMvY2FsbA==?=",
      ["tools/call", "tools/call"],
    ]),
    replace("an odd name header", "mcp-name", "any", [
      "",
      "=?base64?ZWNobw==?=",
      "=?base64?ZWNobw?=",
      "=?base64?====?=",
      "=?BASE64?ZWNobw==?=",
      "=?utf-8?B?ZWNobw==?=",
      ["echo", "echo"],
      "\u00e9cho",
    ]),
    replace("an odd last event", "last-event-id", "accepted", ["", "x", "x".repeat(8_000), "a.b"]),
    add("an odd param header", "accepted", [[["mcp-param-region", "x"]], [["mcp-param-", "x"]], [["mcp-param-__proto__", "x"]]]),
    add("a second session", "any", [[["mcp-session-id", "x"]], [["mcp-session-id", "__proto__"]]]),
  );
}

/** What other software on the way understands, and this server does not. */
function bystanders(): fc.Arbitrary<HeadChange> {
  const lines: Lines[] = [
    [["x-http-method-override", "DELETE"]],
    [["x-http-method", "DELETE"]],
    [["x-original-url", "/admin"]],
    [["x-rewrite-url", "/metrics"]],
    [["x-forwarded-host", "evil.example"]],
    [["x-forwarded-for", "127.0.0.1"]],
    [["forwarded", "host=evil.example;proto=https"]],
    [["x-principal", "admin"]],
    [["authorization", "Bearer c4n4ry-token"]],
    [["cookie", "__proto__=1; constructor[prototype][polluted]=yes"]],
    [["range", "bytes=0-1"]],
    [["if-none-match", "*"]],
    [["if-modified-since", "x"]],
    [["te", "trailers, deflate"]],
    [["trailer", "content-length"]],
    [["x-request-id", "a".repeat(64)]],
    [["x-request-id", "'; DROP TABLE"]],
    [["x-request-id", '","level":60,"msg":"forged']],
    [["traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"]],
    [["traceparent", "x".repeat(4_000)]],
    [["baggage", "a=b,".repeat(1_000)]],
    [["connection", "close"]],
    [["connection", "keep-alive, x"]],
    [["keep-alive", "timeout=999999"]],
    [["__proto__", "polluted"]],
    [["constructor", "polluted"]],
    [["x-latin", "\u00e9\u00ff"]],
    [["x-tab", "a\tb"]],
  ];
  return fc.oneof(
    add("a bystander", "accepted", lines),
    // Only who asks for an upgrade would be answered by one.
    add("an upgrade", "any", [
      [
        ["connection", "upgrade"],
        ["upgrade", "websocket"],
        ["sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="],
        ["sec-websocket-version", "13"],
      ],
      [
        ["connection", "Upgrade, HTTP2-Settings"],
        ["upgrade", "h2c"],
        ["http2-settings", "AAMAAABkAAQAAP__"],
      ],
    ]),
    fc.integer({ min: 1, max: 900 }).map((count): Add => ({
      name: "many headers",
      // Node reads 2,000 of them, and 16 kB in all.
      due: "any",
      lines: Array.from({ length: count }, (_, index) => [`x-${index}`, "1"] as const),
    })),
  );
}

/** No HTTP. */
function broken(): fc.Arbitrary<HeadChange> {
  const lines: Lines[] = [
    [["x-nul", "a\u0000b"]],
    [["x-cr", "a\rb"]],
    [["x-lf", "a\nb: c\nno colon"]],
    [["x name", "1"]],
    [["x\u0000", "1"]],
    [["", "1"]],
    [["x-(", "1"]],
    [["content-length\u0000", "0"]],
    [["content-length ", "0"]],
    [["x-\u00e9", "1"]],
    [["x-del", "a\u007fb"]],
  ];
  return fc.oneof(
    add("a line that is no header", "refused", lines, [400]),
    add("a folded line", "any", [[["x-folded", "a\r\n b"]], [["x-folded", "a\r\n\tcontent-length: 0"]]]),
    add(
      "headers too large",
      "refused",
      [
        [["x-large", "x".repeat(20_000)]],
        Array.from({ length: 40 }, (_, index) => [`x-${index}`, "y".repeat(1_000)] as const),
        [["x".repeat(20_000), "1"]],
      ],
      [431],
    ),
  );
}

function starts(): fc.Arbitrary<HeadChange> {
  const start = (name: string, due: Due, lines: readonly string[], statuses?: readonly number[]) =>
    fc.constantFrom(...lines).map((each): Start => ({ name, start: each, due, ...(statuses && { statuses }) }));
  return fc.oneof(
    start("a foreign authority", "refused", ["POST http://evil.example/mcp HTTP/1.1", "POST //evil.example/mcp HTTP/1.1"], [400, 403, 404]),
    start("a query", "accepted", [
      "POST /mcp?x=1 HTTP/1.1",
      "POST /mcp? HTTP/1.1",
      "POST /mcp?__proto__[polluted]=yes HTTP/1.1",
      `POST /mcp?${"x=1&".repeat(1_000)} HTTP/1.1`,
    ]),
    start(
      "another path",
      "refused",
      [
        "POST / HTTP/1.1",
        "POST /MCP HTTP/1.1",
        "POST /mcp/ HTTP/1.1",
        "POST /mcp%00 HTTP/1.1",
        "POST /mcp;x HTTP/1.1",
        "POST /../mcp HTTP/1.1",
        "POST /./mcp HTTP/1.1",
        "POST /%2e%2e/etc/passwd HTTP/1.1",
        "POST /metrics HTTP/1.1",
        "POST /healthz HTTP/1.1",
        `POST /${"x".repeat(9_000)} HTTP/1.1`,
        "POST /%ff HTTP/1.1",
        "POST /% HTTP/1.1",
      ],
      [400, 403, 404, 405, 414],
    ),
    start("an encoded path", "any", ["POST /%6dcp HTTP/1.1", "POST /mcp#x HTTP/1.1"]),
    start(
      "no HTTP/1.1",
      "refused",
      ["POST /mcp HTTP/9.9", "POST /mcp HTP/1.1", "BREW /mcp HTTP/1.1", "post /mcp HTTP/1.1", "PRI * HTTP/2.0", "POST \u0000 HTTP/1.1", ""],
      [400, 404, 405, 505],
    ),
    // Node takes a request that calls itself HTTP/2.0, or nothing, for one of HTTP/1.1, and skips blanks between the parts (RFC 9112, 3 allows it).
    start("another HTTP", "any", ["POST /mcp HTTP/1.0", "POST /mcp HTTP/2.0", "POST /mcp", "POST  /mcp  HTTP/1.1"]),
    start(
      "another method",
      "refused",
      [
        "PUT /mcp HTTP/1.1",
        "PATCH /mcp HTTP/1.1",
        "TRACE /mcp HTTP/1.1",
        "PROPFIND /mcp HTTP/1.1",
        "QUERY /mcp HTTP/1.1",
        "CONNECT /mcp HTTP/1.1",
        "M-SEARCH /mcp HTTP/1.1",
      ],
      [400, 404, 405, 415],
    ),
  );
}
