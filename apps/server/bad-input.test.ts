import { SUPPORTED_VERSIONS } from "@parley/protocol";
import { describe, expect, test } from "vitest";
import { post, rpc } from "./client.fixture.ts";
import { deploy, type Deployment, type Front } from "./deployment.fixture.ts";
import { offered } from "./tools.fixture.ts";

const JSON_TYPE = "application/json";
const MODERN = { "mcp-protocol-version": "2026-07-28" };

interface Raw {
  readonly status: number;
  readonly body: { readonly id?: unknown; readonly error: { readonly code: number; readonly message: string; readonly data?: unknown } };
}

async function raw(
  front: Front,
  body: string | Buffer<ArrayBuffer> | undefined,
  headers: Record<string, string> = { ...MODERN, "content-type": JSON_TYPE },
): Promise<Raw> {
  const response = await fetch(front.url, { method: "POST", headers, ...(body !== undefined && { body }) });
  return { status: response.status, body: (await response.json()) as Raw["body"] };
}

async function front(limits = {}): Promise<Front & Deployment> {
  const deployment = await deploy({ catalogue: offered, fronts: 1, limits });
  return { ...deployment, ...deployment.fronts[0]! };
}

function created({ logged }: Deployment): number {
  return logged.filter(({ message }) => message === "task created").length;
}

describe("a body", () => {
  test("that is not JSON is refused with -32700 and HTTP 400", async () => {
    const here = await front();
    for (const body of ["{", "", "tools/call", "{'a':1}", '{"jsonrpc":"2.0",}']) {
      expect(await raw(here, body), body).toMatchObject({ status: 400, body: { error: { code: -32700 } } });
    }
  });

  test("in another encoding than UTF-8 is refused like one that is not JSON", async () => {
    const here = await front();
    const call = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "echo", arguments: { text: "Grüße" } } });
    expect(await raw(here, Buffer.from(call, "latin1"))).toMatchObject({ status: 400, body: { error: { code: -32700 } } });
    expect(created(here)).toBe(0);
  });

  test.each([MODERN, {}])("with a number that would be rounded is refused with its id, before anything is done", async (headers) => {
    const here = await front();
    const call = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"at":1234567890123456789}}}';
    const refused = await raw(here, call, { ...headers, "content-type": JSON_TYPE });
    expect(refused).toMatchObject({ status: 200, body: { id: 7, error: { code: -32602 } } });
    expect(refused.body.error.message).toContain("1234567890123456789");
    const answer = '{"jsonrpc":"2.0","id":"a","result":{"action":"accept","content":{"at":1234567890123456789}}}';
    expect(await raw(here, answer, { ...headers, "content-type": JSON_TYPE })).toMatchObject({ status: 400 });
    expect(created(here)).toBe(0);
  });

  test("that is JSON but not a message is refused with -32600 and HTTP 400", async () => {
    const here = await front();
    for (const body of [
      "null",
      "1",
      '"text"',
      "{}",
      '{"jsonrpc":"1.0","id":1,"method":"tools/list"}',
      '{"jsonrpc":"2.0","id":null,"method":"tools/list"}',
    ]) {
      expect(await raw(here, body), body).toMatchObject({ status: 400, body: { error: { code: -32600 } } });
    }
  });

  test("that is a batch, empty or not, is refused with -32600 and HTTP 400", async () => {
    const here = await front();
    for (const body of ["[]", '[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]']) {
      expect(await raw(here, body), body).toMatchObject({
        status: 400,
        body: { error: { code: -32600, message: expect.stringContaining("batch") } },
      });
    }
  });

  test("with a content type other than JSON is refused with HTTP 415", async () => {
    const here = await front();
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", "multipart/form-data; boundary=x"]) {
      expect(await raw(here, "{}", { ...MODERN, "content-type": type }), type).toMatchObject({
        status: 415,
        body: { error: { code: -32600 } },
      });
    }
  });

  test("that is compressed is refused with HTTP 415, which names its encoding", async () => {
    const here = await front();
    const message = 'the Content-Encoding "gzip" is not supported: send the body as it is';
    expect(await raw(here, "\u001f", { ...MODERN, "content-type": JSON_TYPE, "content-encoding": "gzip" })).toMatchObject({
      status: 415,
      body: { error: { code: -32600, message } },
    });
    const listed = await rpc(here, "tools/list", {}, { headers: { "content-encoding": "Identity" } });
    expect(listed.status).toBe(200);
  });

  test("may name its character set", async () => {
    const here = await front();
    const listed = await rpc(here, "tools/list", {}, { headers: { "content-type": "application/json; charset=utf-8" } });
    expect(listed.status).toBe(200);
  });

  test("that is too large is refused with HTTP 413, by its declared and by its actual size", async () => {
    const here = await front({ bodyBytesMax: 1_000 });
    const large = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { filler: "x".repeat(2_000) } });
    const refused = { status: 413, body: { error: { code: -32600, message: expect.stringContaining("PARLEY_BODY_BYTES_MAX") } } };
    expect(await raw(here, large)).toMatchObject(refused);
    const chunks = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(large));
        controller.close();
      },
    });
    const init = { method: "POST", headers: { ...MODERN, "content-type": JSON_TYPE }, body: chunks, duplex: "half" } as const;
    expect((await fetch(here.url, init)).status).toBe(413);
  });

  test("that nests too deeply is refused with -32600 and HTTP 400 and does not harm the process", async () => {
    const here = await front();
    const bombs = ["[".repeat(100_000) + "]".repeat(100_000), '{"a":'.repeat(100_000) + "1" + "}".repeat(100_000), "[".repeat(400_000)];
    const refused = { status: 400, body: { error: { code: -32600, message: expect.stringContaining("PARLEY_BODY_DEPTH_MAX") } } };
    for (const bomb of [...bombs, "[".repeat(65)]) expect(await raw(here, bomb)).toMatchObject(refused);
    expect(await raw(here, "[".repeat(64))).toMatchObject({ status: 400, body: { error: { code: -32700 } } });
    expect((await rpc(here, "tools/list", {})).status).toBe(200);
  });

  test("that has too many values is refused with -32600 and HTTP 400 before it is parsed", async () => {
    const here = await front();
    const refused = { status: 400, body: { error: { code: -32600, message: expect.stringContaining("PARLEY_BODY_VALUES_MAX") } } };
    const list = (length: number) => `[${Array(length).fill(0).join(",")}]`;
    expect(await raw(here, list(25_001))).toMatchObject(refused);
    expect(await raw(here, list(25_001).slice(0, -1))).toMatchObject(refused);
    expect(await raw(here, list(25_000))).toMatchObject({ status: 400, body: { error: { message: expect.stringContaining("batch") } } });
    expect(await raw(here, list(25_000).slice(0, -1))).toMatchObject({ status: 400, body: { error: { code: -32700 } } });
  });

  test("with keys that have a meaning in JavaScript is treated as plain data", async () => {
    const here = await front();
    const text = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}';
    const body = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi","x":${text}},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`;
    const headers = { ...MODERN, "content-type": JSON_TYPE, "mcp-method": "tools/call", "mcp-name": "echo" };
    const response = await fetch(here.url, { method: "POST", headers, body });
    expect(response.status).toBe(200);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});

describe("headers", () => {
  test("that are missing or contradict the body are refused with -32020 and HTTP 400", async () => {
    const here = await front();
    const call = { name: "echo", arguments: { text: "hi" } };
    const wrong: Record<string, string | undefined>[] = [
      { "mcp-protocol-version": undefined },
      { "mcp-protocol-version": "2025-11-25" },
      { "mcp-method": undefined },
      { "mcp-method": "TOOLS/CALL" },
      { "mcp-name": undefined },
      { "mcp-name": "Echo" },
      { "mcp-name": "=?base64?!!?=" },
    ];
    for (const headers of wrong) {
      const refused = await rpc(here, "tools/call", call, { headers });
      expect(refused, JSON.stringify(headers)).toMatchObject({ status: 400, error: { code: -32020 } });
      expect(refused.id).toBeTypeOf("number");
    }
    expect(created(here)).toBe(0);
  });

  test("may be padded, in any case, and in base64", async () => {
    const here = await front();
    const headers = { "mcp-name": "  =?base64?ZWNobw==?=  " };
    expect((await rpc(here, "tools/call", { name: "echo", arguments: { text: "hi" } }, { headers })).status).toBe(200);
  });
});

describe("an envelope", () => {
  test("without a required entry is refused with -32602 and HTTP 400", async () => {
    const here = await front();
    const body = JSON.stringify({ jsonrpc: "2.0", id: 3, method: "tools/list", params: { _meta: {} } });
    const refused = await raw(here, body, { ...MODERN, "content-type": JSON_TYPE, "mcp-method": "tools/list" });
    expect(refused).toMatchObject({ status: 400, body: { id: 3, error: { code: -32602 } } });
  });

  test("of a version that is not served is refused with -32022, HTTP 400 and the versions that are served", async () => {
    const here = await front();
    const version = "1900-01-01";
    const options = { headers: { "mcp-protocol-version": version }, meta: { "io.modelcontextprotocol/protocolVersion": version } };
    const refused = await rpc(here, "tools/list", {}, options);
    expect(refused).toMatchObject({ status: 400, error: { code: -32022, data: { supported: SUPPORTED_VERSIONS, requested: version } } });
  });
});

describe("a method", () => {
  test("that does not exist in this revision is refused with -32601 and HTTP 404", async () => {
    const here = await front();
    for (const method of [
      "initialize",
      "ping",
      "tasks/list",
      "tasks/result",
      "logging/setLevel",
      "resources/subscribe",
      "no/such",
      "constructor",
    ]) {
      expect(await rpc(here, method, {}), method).toMatchObject({ status: 404, error: { code: -32601 } });
    }
  });

  test("of HTTP other than POST is refused with 405 and the allowed methods", async () => {
    const here = await front();
    for (const method of ["GET", "DELETE"]) {
      const response = await fetch(here.url, { method, headers: { "mcp-protocol-version": "2026-07-28" } });
      expect(response.status, method).toBe(405);
      expect(response.headers.get("allow")).toContain("POST");
    }
  });

  test("that is a notification is accepted with HTTP 202 and no body", async () => {
    const here = await front();
    const body = JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } });
    const response = await fetch(here.url, { method: "POST", headers: { ...MODERN, "content-type": JSON_TYPE }, body });
    expect([response.status, await response.text()]).toEqual([202, ""]);
  });
});

describe("a call", () => {
  test("of an unknown tool or prompt is refused with -32602 and HTTP 200", async () => {
    const here = await front();
    expect(await rpc(here, "tools/call", { name: "nope", arguments: {} })).toMatchObject({ status: 200, error: { code: -32602 } });
    expect(await rpc(here, "prompts/get", { name: "nope" })).toMatchObject({ status: 200, error: { code: -32602 } });
  });

  test("with arguments that violate the schema shows the model the violations, and nothing is written", async () => {
    const here = await front();
    for (const tasks of [true, false]) {
      const refused = await rpc(here, "tools/call", { name: "echo", arguments: { text: 5 } }, { tasks });
      const text = "invalid arguments for tool echo: /text Invalid input: expected string, received number";
      expect(refused).toMatchObject({ status: 200, result: { isError: true, content: [{ text }] } });
    }
    expect(created(here)).toBe(0);
  });

  test("with params of the wrong shape is refused with -32602", async () => {
    const here = await front();
    for (const params of [
      { name: "echo", arguments: [] },
      { name: "echo", arguments: "text" },
    ]) {
      expect(await rpc(here, "tools/call", params)).toMatchObject({ status: 200, error: { code: -32602 } });
    }
    const wrong: object[] = [{ inputResponses: [] }, { inputResponses: "yes" }, { requestState: 5 }];
    for (const more of wrong) {
      expect(await rpc(here, "tools/call", { name: "greet", arguments: {}, ...more }), JSON.stringify(more)).toMatchObject({
        error: { code: -32602 },
      });
    }
    expect(created(here)).toBe(0);
  });

  test("with more answers than the server accepts is refused with -32602", async () => {
    const here = await front();
    const inputResponses = Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`k${index}`, { action: "decline" }]));
    const refused = await rpc(here, "tools/call", { name: "greet", arguments: {}, inputResponses }, { tasks: false });
    expect(refused.error).toMatchObject({ code: -32602, message: expect.stringContaining("PARLEY_REPLIES_MAX") });
    expect(created(here)).toBe(0);
  });
});

describe("a task id", () => {
  test("that is unknown, malformed or belongs to another caller is refused alike with -32602", async () => {
    const here = await front();
    const foreign = (await rpc(here, "tools/call", { name: "greet", arguments: {} }, { principal: "alice" })).result!["taskId"];
    const requests = [
      ["tasks/get", {}],
      ["tasks/update", { inputResponses: {} }],
      ["tasks/cancel", {}],
    ] as const;
    for (const [method, more] of requests) {
      for (const taskId of [foreign, "0-unknown", "x".repeat(500)]) {
        const refused = await rpc(here, method, { taskId, ...more }, { principal: "mallory" });
        expect(refused, method).toMatchObject({ status: 200, error: { code: -32602, message: expect.stringContaining("no task") } });
      }
    }
    expect((await rpc(here, "tasks/get", { taskId: foreign }, { principal: "alice" })).result).toMatchObject({ status: "input_required" });
  });

  test("that has expired is refused with -32602", async () => {
    const here = await front();
    const taskId = (await rpc(here, "tools/call", { name: "break", arguments: {} })).result!["taskId"];
    expect((await rpc(here, "tasks/get", { taskId })).result).toMatchObject({ status: "completed" });
    here.skip(366 * 24 * 60 * 60 * 1_000);
    expect(await rpc(here, "tasks/get", { taskId })).toMatchObject({ status: 200, error: { code: -32602 } });
  });

  test("is not looked up for a client without the extension: -32021 and HTTP 400", async () => {
    const here = await front();
    for (const method of ["tasks/get", "tasks/cancel"]) {
      expect(await rpc(here, method, { taskId: "0-unknown" }, { tasks: false })).toMatchObject({ status: 400, error: { code: -32021 } });
    }
  });
});

describe("an answer", () => {
  test("that violates the form is refused with its violations and leaves the question open; others in the request count", async () => {
    const here = await front();
    const taskId = (await rpc(here, "tools/call", { name: "approve", arguments: {} })).result!["taskId"];
    await rpc(here, "tasks/get", { taskId });
    const inputResponses = { ops: { action: "accept", content: { ok: "maybe" } }, legal: { action: "accept", content: { ok: true } } };
    const refused = await rpc(here, "tasks/update", { taskId, inputResponses });
    expect(refused).toMatchObject({ status: 200, error: { code: -32602, data: { violations: [{ path: "/ops/content/ok" }] } } });
    expect(refused.error).toMatchObject({
      message: expect.stringMatching(/The other answer was accepted$/),
      data: { accepted: ["legal"] },
    });
    const got = await rpc(here, "tasks/get", { taskId });
    expect(Object.keys(got.result!["inputRequests"]!)).toEqual(["ops"]);
    await rpc(here, "tasks/update", { taskId, inputResponses: { ops: { action: "accept", content: { ok: false } } } });
    expect((await rpc(here, "tasks/get", { taskId })).result).toMatchObject({ status: "completed" });
  });

  test("that is malformed is refused entry by entry", async () => {
    const here = await front();
    const taskId = (await rpc(here, "tools/call", { name: "greet", arguments: {} })).result!["taskId"];
    await rpc(here, "tasks/get", { taskId });
    for (const who of [null, 5, "Alice", [], {}, { action: "maybe" }, { action: "accept" }, { action: "accept", content: [] }]) {
      expect(await rpc(here, "tasks/update", { taskId, inputResponses: { who } }), JSON.stringify(who)).toMatchObject({
        error: { code: -32602 },
      });
    }
    expect((await rpc(here, "tasks/get", { taskId })).result).toMatchObject({ status: "input_required" });
  });

  test("to a key that was never asked, to an answered ask, or to a task that has ended is acknowledged", async () => {
    const here = await front();
    const taskId = (await rpc(here, "tools/call", { name: "greet", arguments: {} })).result!["taskId"];
    await rpc(here, "tasks/get", { taskId });
    const who = { action: "accept", content: { name: "Alice" } };
    const answers: object[] = [{ nobody: who }, { who }, { who }, { who: { action: "decline" } }];
    for (const inputResponses of answers) {
      expect((await rpc(here, "tasks/update", { taskId, inputResponses })).result, JSON.stringify(inputResponses)).toMatchObject({
        resultType: "complete",
      });
    }
    expect((await rpc(here, "tasks/get", { taskId })).result).toMatchObject({ result: { content: [{ text: "Hello, Alice!" }] } });
  });
});

describe("a listen stream", () => {
  test("of more tasks or resources than the server follows is refused with -32602 and the name of the setting", async () => {
    const here = await front({ listenTasksMax: 1, listenResourcesMax: 2 });
    for (const [notifications, setting] of [
      [{ taskIds: ["a", "b"] }, "PARLEY_LISTEN_TASKS_MAX"],
      [{ resourceSubscriptions: ["test://1", "test://2", "test://3"] }, "PARLEY_LISTEN_RESOURCES_MAX"],
    ] as const) {
      const refused = await rpc(here, "subscriptions/listen", { notifications });
      expect(refused.error).toMatchObject({
        code: -32602,
        message: expect.stringContaining(setting),
        data: { code: "TOO_MANY_SUBSCRIPTIONS" },
      });
    }
  });

  test("beyond the limit of the front end is refused with HTTP 503, so that a load balancer tries another one", async () => {
    const here = await front({ listensMax: 0 });
    const refused = await rpc(here, "subscriptions/listen", { notifications: { toolsListChanged: true } });
    expect(refused).toMatchObject({ status: 503, error: { code: -32603, data: { code: "OVERLOADED" } } });
  });
});

describe("a defect", () => {
  test("is shown only as an id, under which the log has the whole error", async () => {
    const deployment = await deploy({ catalogue: offered, fronts: 1 });
    Object.assign(deployment.services.store, { load: () => Promise.reject(new TypeError("secret detail")) });
    const failed = await rpc(deployment.fronts[0]!, "tasks/get", { taskId: "0-a" });
    expect(failed).toMatchObject({ status: 200, error: { code: -32603, message: "Internal error" } });
    expect(JSON.stringify(failed)).not.toContain("secret detail");
    const line = deployment.logged.find(({ message }) => message === "request failed");
    expect(line?.fields["defectId"]).toBe(failed.error!.data!["defectId"]);
    expect(line?.fields["err"]).toBeInstanceOf(TypeError);
  });
});

test("text with line separators is escaped in bodies and streams, because some readers end a line there", async () => {
  const here = await front();
  const text = "before\u2028 \u2029 \u0085after";
  for (const accept of ["application/json", "text/event-stream"]) {
    const headers = { accept };
    const response = await post(here, "tools/call", { name: "echo", arguments: { text } }, { headers });
    const body = await response.text();
    expect(body).toContain(String.raw`before\u2028 \u2029 \u0085after`);
    expect(body).not.toMatch(/[\u2028\u2029\u0085]/);
  }
});
