import { expect, test } from "vitest";
import { readEnvelope } from "./envelope.ts";

const needed = { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} };

test("an envelope with what every request must carry has no other members", () => {
  expect(readEnvelope({ _meta: needed })).toStrictEqual({
    type: "read",
    version: "2026-07-28",
    client: { capabilities: {}, speaksTasks: false },
    wants: {},
  });
});

test.each([
  ["io.modelcontextprotocol/clientInfo", "c", "must be an object with a name and a version"],
  ["io.modelcontextprotocol/clientInfo", { name: "c" }, "must be an object with a name and a version"],
  ["io.modelcontextprotocol/clientInfo", { version: "1" }, "must be an object with a name and a version"],
  ["io.modelcontextprotocol/logLevel", "loud", "must be one of debug, info, notice, warning, error, critical, alert, emergency"],
  ["progressToken", "p".repeat(129), "must be an integer or a string of at most 128 characters"],
  ["progressToken", 1.5, "must be an integer or a string of at most 128 characters"],
])("an envelope says which member is wrong, and what it must be: %s is %j", (key, value, problem) => {
  expect(readEnvelope({ _meta: { ...needed, [key]: value } })).toStrictEqual({ type: "malformed", key, problem });
});
