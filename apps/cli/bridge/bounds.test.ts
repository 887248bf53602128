/** What the bridge of `parley stdio` remembers of its server and its client is bounded: at the limit, and one beyond. */
import { expect, test } from "vitest";
import { requestHeaders, toolSchemas } from "./headers.ts";
import { createQuestions } from "./questions.ts";
import { SessionMemory } from "./session.ts";

const request = (method: string, params: object) => ({ jsonrpc: "2.0" as const, id: 1, method, params: { ...params } });

test("a thousand subscriptions are restored in a new session, and the log level besides", () => {
  const memory = new SessionMemory();
  memory.note(request("logging/setLevel", { level: "debug" }));
  for (let number = 1; number <= 1_001; number += 1) memory.note(request("resources/subscribe", { uri: `file:///${number}` }));
  expect(memory.settings).toHaveLength(1 + 1_000);
  expect(memory.settings.at(0)).toMatchObject({ method: "logging/setLevel" });
  expect(memory.settings.at(-1)).toMatchObject({ params: { uri: "file:///1000" } });
  memory.note(request("resources/unsubscribe", { uri: "file:///1" }));
  memory.note(request("resources/subscribe", { uri: "file:///1001" }));
  expect(memory.settings.at(-1)).toMatchObject({ params: { uri: "file:///1001" } });
});

test("answers are kept for a thousand questions, and one more drops the oldest answer", () => {
  const questions = createQuestions();
  for (let id = 1; id <= 1_000; id += 1) {
    questions.asked(id, "session");
    questions.answered(id, `answer ${id}`);
  }
  expect(questions.asked(1, "session")).toEqual({ answer: "answer 1", session: "session" });
  questions.asked(1_001, "session");
  questions.answered(1_001, "answer 1001");
  expect(questions.asked(2, "session")).toEqual({ answer: "answer 2", session: "session" });
  expect(questions.asked(1, "session")).toBeUndefined();
});

test("eleven thousand questions are known, and one more drops the oldest", () => {
  const { asked } = createQuestions();
  for (let id = 0; id < 11_000; id += 1) asked(id, "session");
  expect(asked(0, "session")).toEqual({ session: "session" });
  asked(11_000, "session");
  expect(asked(1, "session")).toEqual({ session: "session" });
  expect(asked(0, "session")).toBeUndefined();
});

test("the headers of ten thousand tools are known, and those of further ones are not", () => {
  const schemas = toolSchemas();
  const inputSchema = { type: "object", properties: { region: { type: "string", "x-mcp-header": "Region" } } };
  const tools = Array.from({ length: 10_001 }, (_, index) => ({ name: `tool_${index + 1}`, inputSchema }));
  schemas.learn({ tools });
  const headers = (name: string) => requestHeaders(request("tools/call", { name, arguments: { region: "eu" } }), "2026-07-28", schemas);
  expect(headers("tool_10000")).toMatchObject({ "Mcp-Param-Region": "eu" });
  expect(Object.keys(headers("tool_10001"))).not.toContain("Mcp-Param-Region");
});
