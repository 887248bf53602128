import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { CLIENTS_MAX, createRecorder, type Exchange, type Recorder } from "./record.ts";
import { tableOf } from "./report.ts";
import { openWire } from "./wire.ts";

const FORMS = { elicitation: { form: {} } };
const VIEWS = { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } } };

/** A client with a session. */
function open(recorder: Recorder, { name = "chatty", capabilities = FORMS as object, session = "s" } = {}) {
  const begin = post(
    { jsonrpc: "2.0", id: 0, method: "initialize", params: { clientInfo: { name, version: "1" }, capabilities } },
    undefined,
  );
  begin.replied(200, session);
  begin.passed({ jsonrpc: "2.0", id: 0, result: { protocolVersion: "2025-11-25" } });
  function post(body: object, sessionId: string | undefined = session): Exchange {
    return recorder.request({ httpMethod: "POST", sessionId, lastEventId: undefined, body });
  }
  function call(tool: string, id = 1): Exchange {
    const exchange = post({ jsonrpc: "2.0", id, method: "tools/call", params: { name: tool } });
    exchange.replied(200, undefined);
    return exchange;
  }
  return { post, call };
}

const question = (id = "q1") => ({ jsonrpc: "2.0", id, method: "elicitation/create", params: { message: "?" } });
const words = (taskId: string) => ({
  content: [{ type: "text", text: `NOT FINISHED: probe_form waits.\n3. Call parley_task with taskId "${taskId}" and seen 1.` }],
});

describe("a client that over-claims", () => {
  test("declares forms, and answers with an error", () => {
    const recorder = createRecorder("http");
    const { post, call } = open(recorder);
    call("probe_form").passed(question());
    post({ jsonrpc: "2.0", id: "q1", error: { code: -32601, message: "no" } }).replied(202, undefined);
    const [client] = recorder.clients();
    expect(client).toMatchObject({ did: { form: "no" }, tools: { probe_form: { rung: "held", ended: false } } });
    expect(client?.overclaims).toEqual(["declares forms, and answered none of 1"]);
  });

  test("answers what the server refuses: that is no answer", () => {
    const recorder = createRecorder("http");
    const { post, call } = open(recorder);
    call("probe_form").passed(question());
    post({ jsonrpc: "2.0", id: "q1", result: { action: "accept", content: { name: 7 } } }).replied(400, undefined);
    expect(recorder.clients()[0]?.did.form).toBe("no");
    post({ jsonrpc: "2.0", id: "q1", result: { action: "accept", content: { name: "Ann" } } }).replied(202, undefined);
    expect(recorder.clients()[0]?.did.form).toBe("yes");
  });

  test("answers questions that nobody asked", () => {
    const recorder = createRecorder("http");
    const { post } = open(recorder);
    post({ jsonrpc: "2.0", id: "made-up", result: { action: "accept", content: {} } }).replied(202, undefined);
    expect(recorder.clients()[0]).toMatchObject({ did: { form: "untried" }, overclaims: [] });
  });

  test("declares views, and never reads the one that it was given", () => {
    const recorder = createRecorder("http");
    const { post, call } = open(recorder, { capabilities: VIEWS });
    call("probe_form").passed({ jsonrpc: "2.0", id: 1, result: words("t1") });
    expect(recorder.clients()[0]).toMatchObject({
      tools: { probe_form: { rung: "apps" } },
      did: { apps: "no", words: "no" },
      overclaims: ["declares views, and did not read the one that it was given"],
    });
    const polled = post({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "parley_task", arguments: { taskId: "t1" } } });
    polled.passed({ jsonrpc: "2.0", id: 2, result: { content: [{ type: "text", text: "The form was answered." }] } });
    expect(recorder.clients()[0]).toMatchObject({ tools: { probe_form: { ended: true } }, did: { words: "yes" } });
  });

  test("takes a task, and never reads it", () => {
    const recorder = createRecorder("http");
    const { call } = open(recorder);
    call("probe_form").passed({ jsonrpc: "2.0", id: 1, result: { task: { taskId: "t1", status: "working" } } });
    expect(recorder.clients()[0]?.overclaims).toEqual(["takes tasks, and read none of 1"]);
  });

  test("is not excused by another of its name that declares less", () => {
    const recorder = createRecorder("http");
    open(recorder, { session: "a" });
    open(recorder, { session: "b", capabilities: {} });
    expect(recorder.clients()).toHaveLength(2);
  });
});

test("a stream is cut once, and a client that does not come back has lost its call", () => {
  const recorder = createRecorder("http");
  const { call } = open(recorder);
  expect(call("probe_form").passed(question("q0"))).toBeUndefined();
  const cut = call("probe_cut", 2);
  expect(cut.passed(question())).toBe("cut");
  cut.closed("probe");
  expect(recorder.clients()[0]?.did).toMatchObject({ resumption: "no", cancellation: "untried" });
  expect(call("probe_cut", 3).passed(question("q2"))).toBeUndefined();

  const back = recorder.request({ httpMethod: "GET", sessionId: "s", lastEventId: "1", body: undefined });
  back.replied(200, undefined);
  back.passed({ jsonrpc: "2.0", id: 2, result: { content: [] } });
  expect(recorder.clients()[0]?.did.resumption).toBe("yes");
});

describe("what is recorded", () => {
  test("is bounded: endless clients are counted, and endless names, capabilities and questions are cut", () => {
    const recorder = createRecorder("http");
    for (let i = 0; i < CLIENTS_MAX + 7; i += 1) open(recorder, { name: `${i}-${"x".repeat(10_000)}`, session: String(i) });
    expect(recorder.clients()).toHaveLength(CLIENTS_MAX);
    expect(recorder.leftOut).toBe(7);
    const huge = createRecorder("http");
    const { call } = open(huge, { capabilities: { experimental: { x: "y".repeat(1_000_000) }, ...FORMS } });
    const exchange = call("probe_form");
    for (let i = 0; i < 3_000; i += 1) exchange.passed(question(`q${i}`));
    for (let i = 0; i < 1_000; i += 1) call(`probe_${i}`, i);
    const [client] = huge.clients();
    expect(JSON.stringify(client).length).toBeLessThan(2_000);
    expect(client?.declares).toEqual({ tooLong: ["experimental", "elicitation"] });
  });

  test("has nothing of what people answer, and no sign of a name can leave its cell or move the cursor", () => {
    const recorder = createRecorder("http");
    const { post, call } = open(recorder, { name: "a|b\u001b[2J`c`<script>\nd" });
    call("probe_form").passed(question());
    post({ jsonrpc: "2.0", id: "q1", result: { action: "accept", content: { name: "a secret" } } }).replied(202, undefined);
    expect(JSON.stringify(recorder.clients())).not.toContain("a secret");
    expect(tableOf(recorder.clients()).at(-1)).toContain("| a\\|b\\`c\\`\\<script\\> d 1 |");
  });

  test.each([
    null,
    [],
    [null],
    "text",
    { id: 1 },
    { method: "tools/call", params: null },
    { result: [] },
    { method: "tools/call", params: { name: "__proto__" } },
  ])("survives garbage: %j", (body) => {
    const recorder = createRecorder("http");
    open(recorder);
    const exchange = recorder.request({ httpMethod: "POST", sessionId: "s", lastEventId: undefined, body });
    exchange.replied(200, "s");
    expect(exchange.passed(body)).toBeUndefined();
    exchange.closed("client");
    expect(recorder.clients()).toHaveLength(1);
  });
});

test("everything passes unchanged, also what is too large to be recorded", async () => {
  const large = "z".repeat(3_000_000);
  const server = createServer(
    (incoming, outgoing) => void incoming.resume().on("end", () => outgoing.end(JSON.stringify({ large, url: incoming.url }))),
  );
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const wire = await openWire(0, createRecorder("http"));
  onTestFinished(async () => {
    await wire.close();
    server.close();
  });
  expect((await fetch(`${wire.url}/mcp`)).status).toBe(503);
  wire.lead(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const response = await fetch(`${wire.url}/mcp`, { method: "POST", body: JSON.stringify({ large }) });
  expect(await response.json()).toEqual({ large, url: "/mcp" });
  expect(await (await fetch(`${wire.url}/asks/1?x=2`)).json()).toMatchObject({ url: "/asks/1?x=2" });
});
