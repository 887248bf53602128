import { JSONRPCMessageSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, test } from "vitest";
import { ERRORS, ParleyError, RpcFailure, type ErrorCode } from "@parley/core";
import { SESSION_DIALECTS, SESSION_ERROR_CODES, type SessionIntent } from "./index.ts";

const facts = { name: "parley", version: "1.2.3", pollInterval: () => 500, listTtlMs: 0, pageSize: 100 };
const ALL = SESSION_DIALECTS.map((dialect) => ({ version: dialect.version, say: dialect.encoder(facts) }));
const [newest, ...older] = ALL;
if (!newest) throw new Error("no dialect");

const call: SessionIntent = { type: "callTool", name: "book", arguments: {} };
const violations = [{ path: "/partySize", message: "must be at most 20" }];
const badArguments = new ParleyError("INVALID_ARGUMENTS", "invalid arguments: /partySize must be at most 20", { violations });

test("the catalogue's codes are those that these revisions know", () => {
  const codes = Object.keys(ERRORS) as ErrorCode[];
  expect(codes.filter((code) => SESSION_ERROR_CODES[code] === -32601)).toStrictEqual(["TASK_REQUIRED", "TASK_UNSUPPORTED"]);
  expect(codes.filter((code) => SESSION_ERROR_CODES[code] === -32002)).toStrictEqual(["RESOURCE_NOT_FOUND"]);
  expect(codes.filter((code) => SESSION_ERROR_CODES[code] === -32603)).toStrictEqual([
    "VERSION_NOT_FOUND",
    "CALL_TIMEOUT",
    "INVALID_ASK",
    "INVALID_NAME",
    "INVALID_LIMIT",
    "INVALID_OUTPUT",
    "NOT_SERIALIZABLE",
    "REPLAY_DIVERGED",
    "AMBIGUOUS_EFFECT",
    "UNHANDLED_REJECTION",
    "NOT_AWAITED",
    "MISPLACED_EFFECT",
    "CHILD_REFUSED",
    "JOURNAL_FULL",
    "POISONED",
    "RUN_TIMEOUT",
    "STEP_FAILED",
    "STEP_TIMEOUT",
    "ASK_TIMEOUT",
    "MODULE_NOT_STARTED",
    "CONTENT_KEY_MISSING",
    "CONTENT_DAMAGED",
    "EVENT_NOT_FOUND",
    "EVENT_LATE",
    "INVALID_EVENT",
    "EVENT_TOKEN_MISPLACED",
    "EVENTS_UNAVAILABLE",
    "FILE_GONE",
    "FILES_UNAVAILABLE",
    "DEPOSIT_UNREADABLE",
    "OAUTH_UNAVAILABLE",
    "GRANT_REFUSED",
    "GRANT_EXPIRED",
    "PROVIDER_UNAVAILABLE",
    "PROVIDER_INVALID",
    "UPSTREAM_UNAVAILABLE",
    "UPSTREAM_LOST",
    "UPSTREAM_TIMEOUT",
    "UPSTREAM_INVALID",
    "UPSTREAM_STATE_LOST",
    "UPSTREAM_BUSY",
    "OVERLOADED",
    "STORAGE_SCARCE",
    "UNAVAILABLE",
  ]);
  for (const code of codes) expect([-32602, -32601, -32600, -32002, -32603]).toContain(SESSION_ERROR_CODES[code]);
});

describe.each(ALL)("a request of $version that failed", ({ say }) => {
  test("says what is wrong, what to do, and where", () => {
    const reply = say.failure({
      id: 1,
      error: new ParleyError("INVALID_ANSWER", "party-size does not fit", { violations }),
      defectId: "x",
    });
    expect(reply).toStrictEqual({
      httpStatus: 200,
      message: {
        jsonrpc: "2.0",
        id: 1,
        error: {
          code: -32602,
          message: "party-size does not fit",
          data: { code: "INVALID_ANSWER", hint: ERRORS.INVALID_ANSWER, violations },
        },
      },
    });
    JSONRPCMessageSchema.parse(reply.message);
  });

  test("carries further facts", () => {
    const error = new ParleyError("RESOURCE_NOT_FOUND", "no resource fits", { data: { uri: "test://x" } });
    expect(say.failure({ id: "a", error, defectId: "x" }).message).toMatchObject({ error: { code: -32002, data: { uri: "test://x" } } });
    const lacking = new ParleyError("CAPABILITY_REQUIRED", "needs sampling", { data: { requiredCapabilities: { sampling: {} } } });
    expect(say.failure({ id: 1, error: lacking, defectId: "x" })).toMatchObject({
      httpStatus: 200,
      message: { error: { code: -32602, data: { requiredCapabilities: { sampling: {} } } } },
    });
  });

  test("passes on the tool's own JSON-RPC error", () => {
    expect(say.failure({ id: 1, error: new RpcFailure(-32050, "closed", { until: 5 }), defectId: "x" })).toStrictEqual({
      httpStatus: 200,
      message: { jsonrpc: "2.0", id: 1, error: { code: -32050, message: "closed", data: { until: 5 } } },
    });
    expect(say.failure({ id: 1, error: new RpcFailure(-32050, "closed"), defectId: "x" }).message).toStrictEqual({
      jsonrpc: "2.0",
      id: 1,
      error: { code: -32050, message: "closed" },
    });
  });

  test.each([new Error("password is hunter2"), "password is hunter2", undefined])(
    "by a defect says nothing but its id in the log",
    (error) => {
      expect(say.failure({ id: 1, error, defectId: "d-7" }).message).toStrictEqual({
        jsonrpc: "2.0",
        id: 1,
        error: { code: -32603, message: "Internal error", data: { defectId: "d-7" } },
      });
    },
  );
});

describe("arguments that do not fit", () => {
  test("are shown to the model since 2025-11-25", () => {
    expect(newest.say.failure({ id: 1, intent: call, error: badArguments, defectId: "x" })).toStrictEqual({
      httpStatus: 200,
      message: {
        jsonrpc: "2.0",
        id: 1,
        result: { content: [{ type: "text", text: "invalid arguments: /partySize must be at most 20" }], isError: true },
      },
    });
  });

  test("are an error for a client that waits for a task or a prompt", () => {
    for (const intent of [
      { ...call, task: {} },
      { type: "getPrompt", name: "a", arguments: {} },
    ] satisfies SessionIntent[]) {
      expect(newest.say.failure({ id: 1, intent, error: badArguments, defectId: "x" }).message).toMatchObject({
        error: { code: -32602, data: { violations } },
      });
    }
  });

  test("are an error where it is not known what was wanted", () => {
    expect(newest.say.failure({ id: 1, error: badArguments, defectId: "x" }).message).toMatchObject({ error: { code: -32602 } });
  });

  test.each(older)("are an error in $version", ({ say }) => {
    expect(say.failure({ id: 1, intent: call, error: badArguments, defectId: "x" }).message).toMatchObject({
      error: { code: -32602, data: { violations } },
    });
  });
});

test.each(older)("there is nothing to say about tasks in $version", ({ say }) => {
  expect(say).not.toHaveProperty("tasks");
});
