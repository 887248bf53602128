import { specTypeSchemas } from "@modelcontextprotocol/server";
import { expect, test } from "vitest";
import { errorMessage, invalidRequest, notificationMessage, parseError, resultMessage } from "./index.ts";

test("a body that is no JSON is answered without an id", () => {
  expect(parseError()).toEqual({
    httpStatus: 400,
    message: { jsonrpc: "2.0", error: { code: -32700, message: "the body is not valid JSON" } },
  });
});

test("a request that is too deep to look at can still be named", () => {
  expect(invalidRequest("nested too deeply", 7)).toEqual({
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
