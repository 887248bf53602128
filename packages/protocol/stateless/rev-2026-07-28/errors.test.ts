import { describe, expect, test } from "vitest";
import { ERRORS, ParleyError, RpcFailure, type ErrorCode } from "@parley/core";
import { isDefect } from "../../failures.ts";
import { capabilityRequired } from "../../capabilities.ts";
import type { Intent } from "../../intents.ts";
import { ERROR_CODES, rev20260728 } from "./index.ts";

const say = rev20260728.encoder({ name: "s", version: "1", pollInterval: () => 500, listTtlMs: 0, pageSize: 100 });
const call: Intent = { type: "callTool", name: "book", arguments: {} };
const violations = [{ path: "/partySize", message: "must be at most 20" }];

test("the catalogue's codes travel as the specification says", () => {
  expect(ERROR_CODES).toStrictEqual({
    TASK_NOT_FOUND: { code: -32602, httpStatus: 200 },
    TOOL_NOT_FOUND: { code: -32602, httpStatus: 200 },
    PROMPT_NOT_FOUND: { code: -32602, httpStatus: 200 },
    RESOURCE_NOT_FOUND: { code: -32602, httpStatus: 200 },
    INVALID_ARGUMENTS: { code: -32602, httpStatus: 200 },
    INVALID_ANSWER: { code: -32602, httpStatus: 200 },
    INVALID_CURSOR: { code: -32602, httpStatus: 200 },
    CAPABILITY_REQUIRED: { code: -32021, httpStatus: 400 },
    REQUEST_STATE_INVALID: { code: -32602, httpStatus: 200 },
    CALL_TIMEOUT: { code: -32603, httpStatus: 200 },
    TOO_MANY_ANSWERS: { code: -32602, httpStatus: 200 },
    TOO_MANY_SUBSCRIPTIONS: { code: -32602, httpStatus: 200 },
    OVERLOADED: { code: -32603, httpStatus: 503 },
    INVALID_LIMIT: { code: -32603, httpStatus: 200 },
    INVALID_ASK: { code: -32603, httpStatus: 200 },
    INVALID_NAME: { code: -32603, httpStatus: 200 },
    INVALID_OUTPUT: { code: -32603, httpStatus: 200 },
    NOT_SERIALIZABLE: { code: -32603, httpStatus: 200 },
    REPLAY_DIVERGED: { code: -32603, httpStatus: 200 },
    AMBIGUOUS_EFFECT: { code: -32603, httpStatus: 200 },
    UNHANDLED_REJECTION: { code: -32603, httpStatus: 200 },
    NOT_AWAITED: { code: -32603, httpStatus: 200 },
    MISPLACED_EFFECT: { code: -32603, httpStatus: 200 },
    CHILD_REFUSED: { code: -32603, httpStatus: 200 },
    JOURNAL_FULL: { code: -32603, httpStatus: 200 },
    VERSION_NOT_FOUND: { code: -32603, httpStatus: 200 },
    POISONED: { code: -32603, httpStatus: 200 },
    RUN_TIMEOUT: { code: -32603, httpStatus: 200 },
    STEP_FAILED: { code: -32603, httpStatus: 200 },
    STEP_TIMEOUT: { code: -32603, httpStatus: 200 },
    STORAGE_SCARCE: { code: -32603, httpStatus: 503 },
    ASK_TIMEOUT: { code: -32603, httpStatus: 200 },
    IDEMPOTENCY_KEY_REUSED: { code: -32602, httpStatus: 200 },
    TOO_LARGE: { code: -32602, httpStatus: 200 },
    UNAVAILABLE: { code: -32603, httpStatus: 503 },
    CONTENT_KEY_MISSING: { code: -32603, httpStatus: 503 },
    CONTENT_ERASED: { code: -32602, httpStatus: 200 },
    CONTENT_DAMAGED: { code: -32603, httpStatus: 200 },
    FILE_GONE: { code: -32603, httpStatus: 200 },
    EVENT_NOT_FOUND: { code: -32603, httpStatus: 200 },
    EVENT_LATE: { code: -32603, httpStatus: 200 },
    INVALID_EVENT: { code: -32603, httpStatus: 200 },
    EVENT_TOKEN_MISPLACED: { code: -32603, httpStatus: 200 },
    EVENTS_UNAVAILABLE: { code: -32603, httpStatus: 200 },
    FILES_UNAVAILABLE: { code: -32603, httpStatus: 200 },
    MODULE_NOT_STARTED: { code: -32603, httpStatus: 200 },
    DEPOSIT_UNREADABLE: { code: -32603, httpStatus: 200 },
    OAUTH_UNAVAILABLE: { code: -32603, httpStatus: 200 },
    GRANT_REFUSED: { code: -32603, httpStatus: 200 },
    GRANT_EXPIRED: { code: -32603, httpStatus: 200 },
    TASK_FINISHED: { code: -32602, httpStatus: 200 },
    TASK_REQUIRED: { code: -32602, httpStatus: 200 },
    TASK_UNSUPPORTED: { code: -32602, httpStatus: 200 },
    NOT_PERMITTED: { code: -32602, httpStatus: 200 },
    NOT_OPEN: { code: -32602, httpStatus: 200 },
    TOO_MANY_CALLS: { code: -32602, httpStatus: 200 },
    QUOTA_EXCEEDED: { code: -32602, httpStatus: 429 },
    CREDENTIALS_MISSING: { code: -32600, httpStatus: 401 },
    CREDENTIALS_MISPLACED: { code: -32600, httpStatus: 400 },
    TOKEN_TOO_LARGE: { code: -32600, httpStatus: 401 },
    TOKEN_MALFORMED: { code: -32600, httpStatus: 401 },
    TOKEN_ALGORITHM_REFUSED: { code: -32600, httpStatus: 401 },
    TOKEN_ISSUER_UNKNOWN: { code: -32600, httpStatus: 401 },
    TOKEN_KEY_UNKNOWN: { code: -32600, httpStatus: 401 },
    TOKEN_SIGNATURE_INVALID: { code: -32600, httpStatus: 401 },
    TOKEN_EXPIRED: { code: -32600, httpStatus: 401 },
    TOKEN_NOT_YET_VALID: { code: -32600, httpStatus: 401 },
    TOKEN_AUDIENCE_REFUSED: { code: -32600, httpStatus: 401 },
    TOKEN_CLAIM_INVALID: { code: -32600, httpStatus: 401 },
    TOKEN_INACTIVE: { code: -32600, httpStatus: 401 },
    LOGIN_REFUSED: { code: -32600, httpStatus: 401 },
    SCOPE_INSUFFICIENT: { code: -32600, httpStatus: 403 },
    PROXY_NOT_TRUSTED: { code: -32600, httpStatus: 401 },
    PROVIDER_UNAVAILABLE: { code: -32603, httpStatus: 503 },
    PROVIDER_INVALID: { code: -32603, httpStatus: 503 },
    UPSTREAM_UNAVAILABLE: { code: -32603, httpStatus: 200 },
    UPSTREAM_LOST: { code: -32603, httpStatus: 200 },
    UPSTREAM_TIMEOUT: { code: -32603, httpStatus: 200 },
    UPSTREAM_INVALID: { code: -32603, httpStatus: 200 },
    UPSTREAM_STATE_LOST: { code: -32603, httpStatus: 200 },
    UPSTREAM_BUSY: { code: -32603, httpStatus: 200 },
  });
});

describe("a request that failed", () => {
  test("says what is wrong, what to do, and where", () => {
    expect(
      say.failure({ id: 1, error: new ParleyError("INVALID_ANSWER", "party-size does not fit", { violations }), defectId: "x" }),
    ).toStrictEqual({
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
  });

  test("carries further facts, such as the uri that is not served", () => {
    const error = new ParleyError("RESOURCE_NOT_FOUND", "no resource fits", { data: { uri: "test://nonexistent" } });
    expect(say.failure({ id: "a", error, defectId: "x" }).message).toMatchObject({
      error: { code: -32602, data: { uri: "test://nonexistent" } },
    });
  });

  test("for want of a capability says which, with HTTP 400", () => {
    expect(say.failure({ id: 1, error: capabilityRequired("the question", { sampling: {} }), defectId: "x" })).toMatchObject({
      httpStatus: 400,
      message: { error: { code: -32021, data: { requiredCapabilities: { sampling: {} } } } },
    });
  });

  test("about a missing capability that is not named says so", () => {
    const error = new ParleyError("CAPABILITY_REQUIRED", "the question needs a capability");
    expect(say.failure({ id: 1, error, defectId: "x" }).message).toMatchObject({ error: { data: { requiredCapabilities: {} } } });
  });

  test("shows the model what is wrong with its arguments", () => {
    const error = new ParleyError("INVALID_ARGUMENTS", "invalid arguments: /partySize must be at most 20", { violations });
    expect(say.failure({ id: 1, intent: call, error, defectId: "x" })).toStrictEqual({
      httpStatus: 200,
      message: {
        jsonrpc: "2.0",
        id: 1,
        result: {
          resultType: "complete",
          content: [{ type: "text", text: "invalid arguments: /partySize must be at most 20" }],
          isError: true,
          _meta: { "io.modelcontextprotocol/serverInfo": { name: "s", version: "1" } },
        },
      },
    });
  });

  test("for want of a capability has HTTP 400 from a tool, too", () => {
    expect(say.failure({ id: 1, error: new RpcFailure(-32021, "needs sampling"), defectId: "x" }).httpStatus).toBe(400);
    expect(say.failure({ id: 1, error: new RpcFailure(-32050, "closed"), defectId: "x" }).httpStatus).toBe(200);
  });

  test("has a protocol error for arguments of a prompt, which no model sees", () => {
    const error = new ParleyError("INVALID_ARGUMENTS", "the arguments do not fit", { violations });
    const intent: Intent = { type: "getPrompt", name: "brief", arguments: {} };
    expect(say.failure({ id: 1, intent, error, defectId: "x" }).message).toMatchObject({ error: { code: -32602, data: { violations } } });
  });

  test("has a protocol error where it is not known what was wanted", () => {
    const error = new ParleyError("INVALID_ARGUMENTS", "the arguments do not fit", { violations });
    expect(say.failure({ id: 1, error, defectId: "x" }).message).toMatchObject({ error: { code: -32602 } });
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

  test.each([new Error("password is hunter2"), "password is hunter2", { password: "hunter2" }, undefined])(
    "by a defect says nothing but its id in the log",
    (error) => {
      expect(say.failure({ id: 1, error, defectId: "d-7" })).toStrictEqual({
        httpStatus: 200,
        message: { jsonrpc: "2.0", id: 1, error: { code: -32603, message: "Internal error", data: { defectId: "d-7" } } },
      });
      expect(isDefect(error)).toBe(true);
    },
  );

  test("by a known error is no defect", () => {
    expect(isDefect(new ParleyError("TASK_NOT_FOUND", "t"))).toBe(false);
    expect(isDefect(new RpcFailure(1, "x"))).toBe(false);
  });

  test("never speaks the numbers that 2026-07-28 gave up", () => {
    const codes = (Object.keys(ERRORS) as ErrorCode[]).map((code) => ERROR_CODES[code].code);
    for (const gone of [-32001, -32002, -32003, -32004, -32042]) expect(codes).not.toContain(gone);
  });

  test.each([
    [-32002, -32602],
    [-32042, -32603],
  ])("gives an upstream's error of an earlier revision another code: %d becomes %d", (code, sent) => {
    const error = { message: "no such file", data: { uri: "test://x" } };
    const failed = say.failure({ id: 1, error: new RpcFailure(code, error.message, error.data), defectId: "d" });
    expect(failed).toStrictEqual({ httpStatus: 200, message: { jsonrpc: "2.0", id: 1, error: { code: sent, ...error } } });
  });
});
