import { ClientRequestSchema, JSONRPCMessageSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, test } from "vitest";
import { SESSION_DIALECTS, sessionDialect } from "./index.ts";
import { corpus } from "../corpus.fixture.ts";

/** A message, and the complete result of decoding it. `{version}` in a string stands for the revision's name. */
interface Case {
  readonly message: unknown;
  readonly expect: { readonly type: string };
}

const shared = corpus<Case>("corpus/messages", import.meta.url);

/** Cases in which the official schemas differ, and why they are not followed. */
const OWN_WAYS: { readonly [file: string]: string } = {
  "send-input.json": "FastMCP's dialect is in no specification",
  "send-input-with-a-reason.json": "the same",
  "send-input-to-the-open-one.json": "the same",
  "call-arguments-null.json": "null is no map in the schema; clients of languages with nil maps send it all the same",
  "prompt-arguments-null.json": "the same",
  "null-params.json": "null counts as absent in every member that MCP defines",
  "null-params-ping.json": "the same",
  "null-params-initialized.json": "the same",
  "null-cursor.json": "the same",
  "null-meta.json": "the same",
  "null-progress-token.json": "the same",
  "response-null-beside-error.json": "the same",
  "response-null-error.json": "the same",
  "task-null.json": "the same",
  "get-answer-null.json": "the same",
  "call-task-unlimited.json": "null is no ttl of a request in the schema; clients send it for no limit all the same",
  "call-task-malformed.json": "the schema is of 2025-11-25, where params.task has a meaning",
  "response-text.json": "a reply of the wrong shape is judged with its question, which is then asked again",
  "response-null.json": "the same",
  "response-both.json": "the same",
  "params-meta-text.json": "it is a request with wrong params, not a wrong message",
  "params-progress-token.json": "the same",
};

describe.each(SESSION_DIALECTS.map((dialect) => ({ version: dialect.version })))("messages of $version", ({ version }) => {
  const dialect = sessionDialect(version);
  const own = corpus<Case>(`./rev-${version}/corpus/messages`, import.meta.url);
  const cases = [...shared, ...own];

  test.each(cases)("$why ($file)", ({ message, expect: expected }) => {
    expect(dialect?.decode(message)).toStrictEqual(JSON.parse(JSON.stringify(expected).replaceAll("{version}", version)));
  });

  test.each(cases.filter(({ file, expect: expected }) => expected.type === "request" && !(file in OWN_WAYS)))(
    "the official schema knows the request: $file",
    ({ message }) => {
      JSONRPCMessageSchema.parse(message);
      ClientRequestSchema.parse(message);
    },
  );

  test("what the official schema refuses is refused here", () => {
    const refused = shared.filter(({ file, message }) => !(file in OWN_WAYS) && !JSONRPCMessageSchema.safeParse(message).success);
    expect(refused.length).toBeGreaterThan(5);
    for (const { file, message } of refused)
      expect({ file, ...dialect?.decode(message) }).toMatchObject({ file, type: "rejected", httpStatus: 400 });
  });
});

test("only 2025-03-26 has batches, and only since 2025-11-25 may a stream end before its answer", () => {
  expect(SESSION_DIALECTS.map(({ version, batches, closesEarly }) => ({ version, batches, closesEarly }))).toStrictEqual([
    { version: "2025-11-25", batches: false, closesEarly: true },
    { version: "2025-06-18", batches: false, closesEarly: false },
    { version: "2025-03-26", batches: true, closesEarly: false },
  ]);
});

test("a revision that is not served has no dialect", () => {
  for (const version of ["2026-07-28", "2024-11-05", "", "__proto__"]) expect(sessionDialect(version)).toBeUndefined();
});

describe("keys from outside", () => {
  test("an answer called __proto__ changes no prototype", () => {
    const message: unknown = JSON.parse(
      `{"jsonrpc":"2.0","id":1,"method":"tasks/sendInput","params":{"taskId":"t","__proto__":{"action":"accept"},"content":{"__proto__":{"admin":true}}}}`,
    );
    const decoded = sessionDialect("2025-11-25")?.decode(message);
    expect(decoded).toMatchObject({ type: "request", intent: { type: "sendInput" } });
    if (decoded?.type !== "request" || decoded.intent.type !== "sendInput") throw new Error("not an input");
    expect(Object.keys(decoded.intent.reply as object)).toStrictEqual(["content"]);
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
  });
});
