import { specTypeSchemas } from "@modelcontextprotocol/server";
import { expect, test } from "vitest";
import { errorMessage, invalidRequest, notificationMessage, parseError, resultMessage } from "./index.ts";
import { isRequestId, quoted, shapeOf } from "./json-rpc.ts";

test("a body that is not JSON is answered without an id", () => {
  expect(parseError()).toStrictEqual({
    httpStatus: 400,
    message: { jsonrpc: "2.0", error: { code: -32700, message: "the body is not valid JSON" } },
  });
});

test("a request that is too deep to look at can still be named", () => {
  expect(invalidRequest("nested too deeply", 7)).toStrictEqual({
    httpStatus: 400,
    message: { jsonrpc: "2.0", id: 7, error: { code: -32600, message: "nested too deeply" } },
  });
});

test("every kind of message is one by the official schema", () => {
  for (const message of [
    parseError().message,
    invalidRequest("x", "").message,
    errorMessage("a", { code: 1, message: "m", data: {} }),
    resultMessage(0, { resultType: "complete" }),
    notificationMessage("notifications/x", {}),
  ]) {
    expect(specTypeSchemas.JSONRPCMessage["~standard"].validate(message)).not.toHaveProperty("issues");
  }
});

test("a message with a method is a request, and one with neither method nor answer is invalid", () => {
  expect(shapeOf({ jsonrpc: "2.0", id: 1, method: "ping", result: {}, error: {} })).toMatchObject({ type: "request", method: "ping" });
  expect(shapeOf({ jsonrpc: "2.0", id: 1 })).toStrictEqual({ type: "invalid", problem: "method must be a string", id: 1 });
  expect(shapeOf({ jsonrpc: "2.0", id: 1, error: {} })).toMatchObject({ type: "response", id: 1 });
});

test("an id has at most 1,024 characters, and a name that an error repeats a hundred", () => {
  expect([isRequestId("x".repeat(1_024)), isRequestId("x".repeat(1_025))]).toStrictEqual([true, false]);
  expect(quoted("m".repeat(100))).toBe(`"${"m".repeat(100)}"`);
  expect(quoted("m".repeat(101))).toBe(`"${"m".repeat(100)}…"`);
});
