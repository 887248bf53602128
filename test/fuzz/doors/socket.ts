/**
 * Bytes on a front end's socket: slow bytes, half a request, no request at all, many requests at once, chunks of every kind, and requests
 * with an ambiguous length.
 */
import fc from "fast-check";
import type { Door } from "../door.ts";
import type { Due } from "../draw/changes.ts";
import { REPLY_TIMEOUT_MS } from "../limits.ts";
import { judge } from "../judge.ts";
import { Broken, type ReplyRule } from "../rules.ts";
import { bytesOf, type Lines, post } from "../wire/head.ts";
import { exchangeRaw, type Piece, type RawExchange, type RawResult } from "../wire/raw.ts";
import { statelessDraft } from "../wire/stateless.ts";

/** How a request's bytes are told how many they are. */
type Framing =
  | { readonly type: "length" }
  /** Sizes of its chunks; the rest is the last one. `extra` goes behind each size, `trailer` behind the last chunk. */
  | { readonly type: "chunks"; readonly sizes: readonly number[]; readonly extra: string; readonly trailer: string };

type Case =
  | { readonly kind: "slow"; readonly framing: Framing; readonly cuts: readonly number[]; readonly pauseMs: number }
  | { readonly kind: "cut"; readonly framing: Framing; readonly place: number; readonly afterwards: "end" | "destroy" | "silence" }
  | { readonly kind: "pipelined"; readonly count: number; readonly cuts: readonly number[] }
  | { readonly kind: "pipelined, then no request"; readonly count: number; readonly garbage: string }
  | { readonly kind: "no request"; readonly bytes: string; readonly end: boolean }
  | { readonly kind: "no request, in octets"; readonly octets: readonly number[]; readonly end: boolean }
  | { readonly kind: "chunks that are none"; readonly body: string }
  | { readonly kind: "two lengths"; readonly name: string; readonly lines: Lines; readonly body: string };

/** Whose reply would show that the second request of two lengths was served. */
const SMUGGLED = 987_654;
const QUIET_MS = 15;

export const socket: Door<Case> = {
  name: "socket",
  async open(system) {
    let turn = 0;

    function requestOf(id: number, framing: Framing): Buffer {
      const { headers, body } = statelessDraft({ method: "tools/call", params: { name: "echo", arguments: { text: "c4n4ry" } }, id });
      const text = JSON.stringify(body);
      const { host } = new URL(system.frontEnds[0]!.url);
      if (framing.type === "length") return bytesOf(post(headers, host, text));
      const lines: Lines = [["host", host], ...Object.entries(headers), ["transfer-encoding", "chunked"]];
      return bytesOf({ start: "POST /mcp HTTP/1.1", lines, body: chunked(text, framing) });
    }

    async function send(drawn: Case): Promise<void> {
      turn += 1;
      const { port } = new URL(system.frontEnds[turn % system.frontEnds.length]!.url);
      const whole = { port: Number(port), afterwards: "wait", replies: 1, timeoutMs: REPLY_TIMEOUT_MS } as const;
      const id = turn * 1_000;
      switch (drawn.kind) {
        case "slow": {
          const bytes = requestOf(id, drawn.framing);
          return judgeAll(drawn, await exchangeRaw({ ...whole, pieces: inPieces(bytes, drawn.cuts, drawn.pauseMs) }), {
            ids: [id],
            due: "accepted",
          });
        }
        case "cut": {
          const bytes = requestOf(id, drawn.framing);
          const part = bytes.subarray(0, Math.floor(drawn.place * bytes.length));
          // Nothing is due for half a request whose other half may come yet; when it cannot, the connection ends.
          const afterwards =
            drawn.afterwards === "silence" ? { afterwards: "wait" as const, quietMs: QUIET_MS } : { afterwards: drawn.afterwards };
          return judgeAll(drawn, await exchangeRaw({ ...whole, ...afterwards, pieces: [{ bytes: part }] }), {
            ids: [],
            due: "refused",
            mayBeSilent: drawn.afterwards !== "end",
          });
        }
        case "pipelined": {
          const ids = Array.from({ length: drawn.count }, (_, index) => id + index);
          const bytes = Buffer.concat(ids.map((each) => requestOf(each, { type: "length" })));
          return judgeAll(drawn, await exchangeRaw({ ...whole, replies: ids.length, pieces: inPieces(bytes, drawn.cuts, 1) }), {
            ids,
            due: "accepted",
          });
        }
        case "pipelined, then no request": {
          const ids = Array.from({ length: drawn.count }, (_, index) => id + index);
          const bytes = Buffer.concat([...ids.map((each) => requestOf(each, { type: "length" })), Buffer.from(drawn.garbage, "latin1")]);
          // What was asked before is answered, or lost with the connection.
          return judgeAll(drawn, await exchangeRaw({ ...whole, replies: ids.length + 1, pieces: [{ bytes }], afterwards: "end" }), {
            ids,
            due: "any",
          });
        }
        case "no request":
        case "no request, in octets": {
          const bytes = drawn.kind === "no request" ? Buffer.from(drawn.bytes, "latin1") : Buffer.from(drawn.octets);
          const exchange: RawExchange = { ...whole, pieces: [{ bytes }], ...(drawn.end ? { afterwards: "end" } : { quietMs: QUIET_MS }) };
          return judgeAll(drawn, await exchangeRaw(exchange), { ids: [], due: "refused", mayBeSilent: !drawn.end });
        }
        case "chunks that are none": {
          const { headers } = statelessDraft({ method: "server/discover", params: {}, id });
          const { host } = new URL(system.frontEnds[0]!.url);
          const lines: Lines = [["host", host], ...Object.entries(headers), ["transfer-encoding", "chunked"]];
          const bytes = bytesOf({ start: "POST /mcp HTTP/1.1", lines, body: drawn.body });
          return judgeAll(drawn, await exchangeRaw({ ...whole, afterwards: "end", pieces: [{ bytes }] }), { ids: [], due: "refused" });
        }
        case "two lengths": {
          const { headers } = statelessDraft({ method: "server/discover", params: {}, id });
          const { host } = new URL(system.frontEnds[0]!.url);
          const smuggled = requestOf(SMUGGLED, { type: "length" }).toString("latin1");
          const bytes = bytesOf({
            start: "POST /mcp HTTP/1.1",
            lines: [["host", host], ...Object.entries(headers), ...drawn.lines],
            body: drawn.body + smuggled,
          });
          return judgeAll(drawn, await exchangeRaw({ ...whole, afterwards: "end", pieces: [{ bytes }] }), { ids: [], due: "refused" });
        }
      }
    }

    return {
      cases: cases(),
      send,
      close: () => undefined,
    };
  },
};

interface Served {
  /** Ids of the requests that are answered, in this order. */
  readonly ids: readonly number[];
  readonly due: Due;
  /** Nothing need come: the server may wait for the rest. */
  readonly mayBeSilent?: boolean;
}

function judgeAll(
  drawn: Case,
  { responses, closed, timedOut, rest, ms, error }: RawResult,
  { ids, due, mayBeSilent = false }: Served,
): void {
  const { kind } = drawn;
  const changes = "name" in drawn ? [drawn.name] : "afterwards" in drawn ? [drawn.afterwards] : [];
  const broken = (rule: ReplyRule, what: string) => new Broken(rule, { kind, changes, what: `${what}\n  reply    ${rest.slice(0, 300)}` });
  if (timedOut && !mayBeSilent) throw broken("hang", `no end within ${Math.round(ms)} ms`);
  const final = responses.filter(({ informational }) => !informational);
  for (const response of final) judge(response, { kind, changes, due: "any", said: "c4n4ry" });
  const answered = final.filter(({ status }) => status === 200).map(({ messages }) => messages[0]?.id);
  if (answered.includes(SMUGGLED)) throw broken("wrongly-accepted", "a request within another one's body was served");
  if (due === "accepted" && answered.join() !== ids.join())
    throw broken(
      "dropped",
      `of the requests ${ids.join()} these were answered: ${answered.join() || "none"}, and others by ${final.map(({ status }) => status).join() || "nothing"}; ${closed ? "closed" : "open"} after ${Math.round(ms)} ms, ${error ?? "without an error"}`,
    );
  if (answered.some((id, index) => id !== ids[index]))
    throw broken("wrongly-accepted", `${answered.join()} were answered, of ${ids.join()}`);
  const last = final.at(-1);
  if (closed && last && last.status >= 400 && last.headers["connection"]?.toLowerCase() !== "close") {
    throw broken("closing", `the connection was closed after ${last.status}, and the reply does not say so`);
  }
}

function inPieces(bytes: Buffer, cuts: readonly number[], pauseMs: number): Piece[] {
  const places = [0, ...cuts.map((cut) => Math.floor(cut * bytes.length)).toSorted((a, b) => a - b), bytes.length];
  return places.slice(1).map((end, index) => ({ bytes: bytes.subarray(places[index], end), pauseMs: end === bytes.length ? 0 : pauseMs }));
}

function chunked(text: string, { sizes, extra, trailer }: Extract<Framing, { type: "chunks" }>): string {
  const chunks: string[] = [];
  let rest = text;
  for (const size of [...sizes, text.length]) {
    const chunk = rest.slice(0, size);
    if (chunk !== "") chunks.push(`${Buffer.byteLength(chunk).toString(16)}${extra}\r\n${chunk}\r\n`);
    rest = rest.slice(size);
  }
  return `${chunks.join("")}0\r\n${trailer}\r\n`;
}

function cases(): fc.Arbitrary<Case> {
  const place = fc.double({ min: 0, max: 0.999, noNaN: true });
  const framing: fc.Arbitrary<Framing> = fc.oneof(
    fc.constant({ type: "length" as const }),
    fc.record({
      type: fc.constant("chunks" as const),
      sizes: fc.array(fc.integer({ min: 1, max: 200 }), { maxLength: 6 }),
      extra: fc.constantFrom("", ";a=b", ';a="b"', `;${"x".repeat(200)}`),
      trailer: fc.constantFrom("", "x-trailer: 1\r\n", "host: evil.example\r\n"),
    }),
  );
  const of = <Kind extends Case["kind"]>(kind: Kind) => fc.constant(kind);
  return fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({
        kind: of("slow"),
        framing,
        cuts: fc.array(place, { minLength: 1, maxLength: 8 }),
        pauseMs: fc.integer({ min: 0, max: 4 }),
      }),
    },
    { weight: 4, arbitrary: fc.record({ kind: of("cut"), framing, place, afterwards: fc.constantFrom("end", "destroy", "silence") }) },
    {
      weight: 3,
      arbitrary: fc.record({ kind: of("pipelined"), count: fc.integer({ min: 2, max: 24 }), cuts: fc.array(place, { maxLength: 3 }) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ kind: of("pipelined, then no request"), count: fc.integer({ min: 1, max: 5 }), garbage: noRequest() }),
    },
    { weight: 3, arbitrary: fc.record({ kind: of("no request"), bytes: noRequest(), end: fc.boolean() }) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: of("no request, in octets"),
        octets: fc.array(fc.integer({ min: 0, max: 255 }), { maxLength: 400 }),
        end: fc.boolean(),
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: of("chunks that are none"), body: noChunks() }) },
    { weight: 3, arbitrary: twoLengths() },
  );
}

/** Nothing of it is a whole request that could be served. */
function noRequest(): fc.Arbitrary<string> {
  return fc.oneof(
    fc.constantFrom(
      "\r\n\r\n\r\n",
      "GET",
      "GET /\r\n\r\n",
      "\u0000\u0000\u0000\u0000",
      // TLS, HTTP/2, SSH, SMTP, Redis, a PROXY header.
      "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
      "SSH-2.0-OpenSSH_9.6\r\n",
      "EHLO localhost\r\n",
      "*1\r\n$4\r\nPING\r\n",
      "PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n",
      "POST /mcp HTTP/1.1\n\n",
      "POST /mcp HTTP/1.1\r\nHost\r\n\r\n",
      "POST /mcp HTTP/1.1\r\n: x\r\n\r\n",
      "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello",
      `POST /${"x".repeat(70_000)} HTTP/1.1\r\n\r\n`,
      `${"A".repeat(70_000)}`,
      "POST /mcp HTTP/1.1\r\nhost: localhost\r\n".concat("x: y\r\n".repeat(5_000)),
    ),
    fc.string({ maxLength: 60 }),
  );
}

function noChunks(): fc.Arbitrary<string> {
  return fc.oneof(
    fc.constantFrom(
      "",
      "x\r\n",
      "-1\r\n\r\n",
      "5\r\nhel",
      "5\r\nhelloX\r\n0\r\n\r\n",
      "0x5\r\nhello\r\n0\r\n\r\n",
      "FFFFFFFFFFFFFFFFF\r\n",
      "7fffffff\r\nx",
      " 5\r\nhello\r\n0\r\n\r\n",
    ),
    fc.constantFrom(
      "5\nhello\n0\n\n",
      "5\r\nhello\r\n",
      `5;${"x".repeat(40_000)}\r\nhello\r\n0\r\n\r\n`,
      "0\r\nbad trailer\r\n\r\n",
      "1\r\n{\r\n".repeat(3),
      "200000\r\n".concat("x".repeat(1_000)),
    ),
    fc.string({ maxLength: 30 }),
  );
}

/** A length and chunks, or two lengths: a parser that reads the other one sees another request in the rest. */
function twoLengths(): fc.Arbitrary<Case> {
  const both = (name: string, lines: Lines, body: string): Case => ({ kind: "two lengths", name, lines, body });
  return fc.constantFrom(
    both(
      "CL.TE",
      [
        ["content-length", "5"],
        ["transfer-encoding", "chunked"],
      ],
      "0\r\n\r\n",
    ),
    both(
      "TE.CL",
      [
        ["transfer-encoding", "chunked"],
        ["content-length", "5"],
      ],
      "0\r\n\r\n",
    ),
    both(
      "TE.TE",
      [
        ["transfer-encoding", "chunked"],
        ["transfer-encoding", "x"],
      ],
      "0\r\n\r\n",
    ),
    both(
      "TE with a blank",
      [
        ["transfer-encoding ", "chunked"],
        ["content-length", "5"],
      ],
      "0\r\n\r\n",
    ),
    both(
      "TE with a tab",
      [
        ["transfer-encoding", "\tchunked\u000b"],
        ["content-length", "5"],
      ],
      "0\r\n\r\n",
    ),
    both(
      "TE folded",
      [
        ["transfer-encoding", "\r\n chunked"],
        ["content-length", "5"],
      ],
      "0\r\n\r\n",
    ),
    both(
      "TE quoted",
      [
        ["transfer-encoding", '"chunked"'],
        ["content-length", "5"],
      ],
      "0\r\n\r\n",
    ),
    both(
      "CL twice",
      [
        ["content-length", "5"],
        ["content-length", "0"],
      ],
      "hello",
    ),
    both("CL in a list", [["content-length", "5, 0"]], "hello"),
    both("CL with a sign", [["content-length", "+5"]], "hello"),
    both("CL in another base", [["content-length", "0x5"]], "hello"),
    both("CL with a blank", [["content-length ", "5"]], "hello"),
    both("CL and a bare line feed", [["x", "y\ncontent-length: 5"]], "hello"),
    both("CL and a bare return", [["x", "y\rcontent-length: 5"]], "hello"),
  );
}
