/** What an upstream sends that the client declared nothing for, or that is none. Requests reach nobody, and notifications are left out. */
import { Client } from "@modelcontextprotocol/client";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import type { ClientCapabilities } from "@parley/core";
import { afterEach, expect, test } from "vitest";
import { mcpCapabilities } from "../wire/call-request.ts";
import { createQuestions } from "./questions.ts";
import { receive, reportNotification } from "./receive.ts";
import { aRequest, connectorTo, ELICITATION, FORM, someDeps } from "../upstream.fixture.ts";

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** The error with which a client with these capabilities refuses what an upstream sends. */
async function refusal(capabilities: ClientCapabilities, sent: object): Promise<unknown> {
  const [theirs, ours] = InMemoryTransport.createLinkedPair();
  const refused = Promise.withResolvers<unknown>();
  theirs.onmessage = (message) => {
    if (!("method" in message)) return refused.resolve("error" in message ? message.error : message);
    if (message.method !== "initialize" || !("id" in message)) return;
    const result = { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: { name: "up", version: "1" } };
    void theirs.send({ jsonrpc: "2.0", id: message.id, result });
  };
  await theirs.start();
  const request = aRequest({ capabilities });
  const client = new Client({ name: "gateway", version: "1" }, { capabilities: mcpCapabilities(request, ELICITATION) });
  const deps = someDeps(connectorTo(async () => undefined));
  const questions = createQuestions(request, deps, { isOver: () => false, onChange: () => undefined, onAmbiguous: () => undefined });
  receive(client, { questions, capabilities, report: () => undefined });
  await client.connect(ours as never);
  closers.push(() => client.close());
  await theirs.send({ jsonrpc: "2.0", id: 1, ...sent } as never);
  const answered = await refused.promise;
  expect(questions.waiting()).toBe(0);
  return answered;
}

const FORMS = { elicitation: { form: true, url: false } };
const PAGES = { elicitation: { form: false, url: true } };
const form = { message: "ok?", requestedSchema: FORM };
const page = { mode: "url", message: "Log in", url: "https://up.example.com", elicitationId: "1" };

test.each<[string, ClientCapabilities, object, number, string]>([
  ["a form, of a client without forms", PAGES, { method: "elicitation/create", params: form }, -32602, "/mode form is"],
  ["a page, of a client without pages", FORMS, { method: "elicitation/create", params: page }, -32602, "/mode url is"],
  ["a question, of a client that cannot be asked", {}, { method: "elicitation/create", params: form }, -32601, "did not declare"],
  ["sampling, of a client without it", FORMS, { method: "sampling/createMessage", params: {} }, -32601, "did not declare"],
  ["a method that does not exist", FORMS, { method: "evil/create", params: form }, -32601, "not found"],
  ["a question in no known mode", FORMS, { method: "elicitation/create", params: { ...form, mode: "voice" } }, -32602, "/mode"],
  ["a question without a message", FORMS, { method: "elicitation/create", params: { requestedSchema: FORM } }, -32602, "/message"],
  ["a question without parameters", FORMS, { method: "elicitation/create" }, -32602, "/message"],
])("an upstream that asks for %s", async (_what, capabilities, sent, code, message) => {
  expect(await refusal(capabilities, sent)).toMatchObject({ code, message: expect.stringContaining(message) });
});

test.each([
  ['{"progress":1,"total":2,"message":"half"}', [{ type: "progress", progress: 1, total: 2, message: "half" }]],
  ['{"progress":1,"total":1e400,"message":7}', [{ type: "progress", progress: 1 }]],
  ['{"progress":1e400}', []],
  ['{"progress":"1"}', []],
  ['{"progress":null}', []],
  ["{}", []],
  ["null", []],
])("progress of a task, which no client has read, is passed on if it is a finite number: %s", (params, expected) => {
  const told: unknown[] = [];
  const report = (item: unknown) => void told.push(item);
  reportNotification("notifications/progress", JSON.parse(params), {
    questions: { visited: () => undefined },
    report,
    onWaits: () => undefined,
  });
  expect(told).toEqual(expected);
});
