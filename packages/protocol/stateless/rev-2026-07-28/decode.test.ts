import { readdirSync, readFileSync } from "node:fs";
import { classifyInboundRequest } from "@modelcontextprotocol/server";
import { describe, expect, test } from "vitest";
import type { JsonObject, Tool } from "@parley/core";
import type { Headers } from "../../index.ts";
import { rev20260728 } from "./index.ts";

const { decode } = rev20260728;

/** Each case is a file in corpus/requests: a request, and the complete result of decoding it. */
interface Case {
  readonly file: string;
  readonly why: string;
  readonly headers: Headers;
  readonly body: unknown;
  readonly expect: {
    readonly type: string;
    readonly httpStatus?: number;
    readonly message?: { readonly error: { readonly code: number } };
  };
}

const folder = new URL("corpus/requests/", import.meta.url);
const cases = readdirSync(folder).map((file): Case => ({
  file,
  ...(JSON.parse(readFileSync(new URL(file, folder), "utf8")) as Omit<Case, "file">),
}));

const plain: Tool = {
  kind: "tool",
  name: "greet",
  inputSchema: { type: "object" },
  task: "never",
  askFirst: false,
  earlyReplies: false,
  needs: {},
  settings: { attempts: 1, backoffMs: 0, runTimeoutMs: 0, retentionMs: 0 },
  readArguments: (args: JsonObject) => ({ ok: true as const, args }),
  run: () => Promise.resolve({ content: [] }),
};

const tools: readonly Tool[] = [
  plain,
  { ...plain, name: "failing_job", task: "required" },
  {
    ...plain,
    name: "query",
    inputSchema: {
      type: "object",
      properties: {
        region: { type: "string", "x-mcp-header": "Region" },
        limit: { type: "integer", "x-mcp-header": "Limit" },
        share: { type: "number", "x-mcp-header": "Share" },
        nested: { type: "object", properties: { flag: { type: "boolean", "x-mcp-header": "Flag" } } },
        // The specification allows none of these declarations, so they are ignored.
        bad: { type: "string", "x-mcp-header": "no token" },
        alsoBad: { type: "string", "x-mcp-header": "no-token!\u00e4" },
        list: { type: "array", "x-mcp-header": "List", items: { type: "string", "x-mcp-header": "Item" } },
        numbered: { type: "string", "x-mcp-header": 5 },
        flags: true,
        none: null,
      },
    },
  },
];
/** A new tool each time, because a tool's parsed schema is cached with it. */
const tool = (name: string): Tool | undefined => tools.filter((candidate) => candidate.name === name).map((one) => ({ ...one }))[0];

describe("the corpus of requests", () => {
  test.each(cases)("$why ($file)", ({ headers, body, expect: expected }) => {
    // A clone, because replies have no prototype: see "keys from outside".
    expect(structuredClone(decode({ headers, body, tool }))).toStrictEqual(expected);
  });

  test("says something about every method and every code of the revision", () => {
    const codes = new Set(cases.map(({ expect: expected }) => expected.message?.error.code));
    expect([...codes].filter((code) => code !== undefined).toSorted((a, b) => b - a)).toStrictEqual([
      -32020, -32021, -32022, -32600, -32601, -32602,
    ]);
  });
});

/** Cases in which the official classifier differs, and why it is not followed. */
const OWN_WAYS: { readonly [file: string]: string } = {
  "envelope-text.json": "its JSON-RPC schema knows _meta and says -32600; the specification has -32602 for what is wrong in _meta",
  "envelope-progress-token.json": "the same",
  "null-everywhere.json": "null is no object in its schemas; clients of languages with nil values send it for what is absent all the same",
  "null-extension.json": "the same",
  "shape-params-null.json": "the same",
};

test.each(cases)("the official classifier agrees: $file", ({ file, headers, body, expect: expected }) => {
  const outcome = classify(headers, body);
  if (expected.type !== "rejected" && !(file in OWN_WAYS)) expect(outcome).toMatchObject({ kind: "modern" });
  if (outcome.kind !== "reject" || file in OWN_WAYS) return;
  expect({ httpStatus: expected.httpStatus, code: expected.message?.error.code }).toStrictEqual({
    httpStatus: outcome.httpStatus,
    code: outcome.code,
  });
});

function classify(headers: Headers, body: unknown): ReturnType<typeof classifyInboundRequest> {
  const header = (name: string): string | undefined => headers[name]?.toString();
  const version = header("mcp-protocol-version");
  const method = header("mcp-method");
  return classifyInboundRequest({
    httpMethod: "POST",
    body,
    ...(version === undefined ? {} : { protocolVersionHeader: version }),
    ...(method === undefined ? {} : { mcpMethodHeader: method }),
  });
}

describe("keys from outside", () => {
  const META = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`;
  const update = (responses: string): ReturnType<typeof decode> =>
    decode({
      headers: { "mcp-protocol-version": "2026-07-28", "mcp-method": "tasks/update" },
      body: JSON.parse(
        `{"jsonrpc":"2.0","id":1,"method":"tasks/update","params":{"taskId":"t","inputResponses":${responses},${META}}}`,
      ) as unknown,
      tool,
    });
  const repliesOf = (decoded: ReturnType<typeof decode>): { readonly [key: string]: unknown } => {
    if (decoded.type !== "request" || decoded.intent.type !== "updateTask") throw new Error("not an update");
    return decoded.intent.replies;
  };

  test("a reply called __proto__ is a reply like any other and changes no prototype", () => {
    const replies = repliesOf(update(`{"__proto__":{"action":"accept","content":{"admin":true}}}`));
    expect(Object.keys(replies)).toStrictEqual(["__proto__"]);
    expect(replies["__proto__"]).toStrictEqual({ action: "accept", content: { admin: true } });
    expect(replies["action"]).toBeUndefined();
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
  });

  test("a reply that did not come is not found among what objects inherit", () => {
    const replies = repliesOf(update("{}"));
    expect(replies["constructor"]).toBeUndefined();
    expect(replies["toString"]).toBeUndefined();
  });

  test("params that arrive as __proto__ are not params", () => {
    const body = JSON.parse(`{"jsonrpc":"2.0","id":1,"method":"tasks/get","__proto__":{"params":{"taskId":"t",${META}}}}`) as unknown;
    expect(decode({ headers: { "mcp-protocol-version": "2026-07-28", "mcp-method": "tasks/get" }, body, tool })).toMatchObject({
      type: "rejected",
      httpStatus: 400,
    });
  });
});
