/** The error about a request is small, however large the request is. */
import { catalogue, definePrompt, defineTool, jsonSchema } from "@parley/sdk";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { rpc } from "./client.fixture.ts";
import { deploy, type Deployment, type Front } from "./deployment.fixture.ts";
import { openSession } from "./session-client.fixture.ts";
import { offered } from "./tools.fixture.ts";

const REPLY_MAX = 64 * 1_024;
/** Even longer as JSON, which escapes each character in six bytes. */
const HUGE = "\u0001".repeat(12_000);

const VERSION = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const _meta = {
  [VERSION]: "2026-07-28",
  [CAPABILITIES]: { elicitation: { form: {} }, extensions: { "io.modelcontextprotocol/tasks": {} } },
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  progressToken: "token",
};

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** Requests that are refused as soon as any of their strings, keys or values changes. */
const paramsOf: { readonly [method: string]: Json } = {
  "server/discover": {},
  "tools/list": { cursor: "x" },
  "tools/call": { name: "echo", arguments: { text: "hi" }, inputResponses: { a: { action: "decline" } }, requestState: "x" },
  "prompts/list": {},
  "prompts/get": { name: "salute", arguments: { who: "Ann" } },
  "resources/list": { cursor: "x" },
  "resources/templates/list": {},
  "resources/read": { uri: "test://nothing" },
  "completion/complete": {
    ref: { type: "ref/prompt", name: "none" },
    argument: { name: "to", value: "A" },
    context: { arguments: { to: "A" } },
  },
  "tasks/get": { taskId: "0-none", elicitationId: "none" },
  "tasks/update": { taskId: "0-none", inputResponses: { a: { action: "accept", content: { b: "c" } } } },
  "tasks/cancel": { taskId: "0-none" },
};
const inSession: { readonly [method: string]: Json } = {
  ...paramsOf,
  "tools/call": { name: "echo", arguments: { text: "hi" }, task: { ttl: 1 } },
  initialize: { protocolVersion: "2025-11-25", capabilities: { elicitation: {} }, clientInfo: { name: "a", version: "1" } },
  ping: {},
  "logging/setLevel": { level: "info" },
  "resources/subscribe": { uri: "test://text" },
  "resources/unsubscribe": { uri: "test://text" },
  "completion/complete": { ref: { type: "ref/resource", uri: "test://none" }, argument: { name: "to", value: "A" } },
  "tasks/list": { cursor: "x" },
  "tasks/result": { taskId: "0-none" },
  "tasks/sendInput": { taskId: "0-none", elicitationId: "none", response: { action: "accept", content: { b: "c" } } },
};

/** Copies of the message, in each of which one string, key or value is replaced by a huge one. */
function* enlarged(value: Json): Generator<Json> {
  if (typeof value !== "object" || value === null) {
    yield* [HUGE, LIST, RECORD];
    return;
  }
  for (const [key, item] of Object.entries(value)) {
    for (const larger of enlarged(item)) yield { ...(value as object), [key]: larger };
    yield { ...(value as object), [HUGE]: item };
    yield { ...(value as object), [key]: undefined as never, [HUGE]: item };
  }
  yield* [HUGE, LIST, { ...(value as object), ...RECORD }];
}

const LIST = Array<number>(24_000).fill(1_000);
const RECORD = Object.fromEntries(Array.from({ length: 2_500 }, (_, index) => [`a key of some length ${index}`, index]));

const salute = definePrompt({ name: "salute", arguments: { who: {} }, run: ({ who }) => `Hail, ${who}` });
const saluting = { ...offered, prompts: new Map([...offered.prompts, [salute.name, salute]]) };

async function one(request: Partial<Parameters<typeof deploy>[0]> = {}): Promise<Deployment & Front> {
  // A reply that took long enough to become a stream cannot be injected.
  const deployment = await deploy({ catalogue: saluting, fronts: 1, times: { resumableAfterMs: 60_000 }, ...request });
  return { ...deployment, ...deployment.fronts[0]! };
}

interface RpcReply {
  readonly error?: { readonly message: string; readonly data?: { readonly violations?: readonly object[] } };
  readonly result?: { readonly isError?: boolean; readonly content?: readonly { readonly text: string }[] };
}

describe("the reply to a request with something huge in it", () => {
  async function refusals(here: Front, message: { readonly [key: string]: Json }, headers: Record<string, string>): Promise<number> {
    let refused = 0;
    for (const larger of enlarged(message)) {
      const { statusCode, body } = await here.app.server.inject({
        method: "POST",
        url: "/mcp",
        headers: { "content-type": "application/json", ...headers },
        payload: JSON.stringify(larger),
      });
      const reply = body === "" ? {} : (JSON.parse(body) as RpcReply);
      if (!reply.error && !reply.result?.isError) continue;
      refused += 1;
      expect(statusCode).toBeLessThan(500);
      expect(Buffer.byteLength(body), body.slice(0, 500)).toBeLessThan(REPLY_MAX);
    }
    return refused;
  }

  test.each(Object.entries(paramsOf))("%s is small when it is refused", async (method, params) => {
    const here = await one();
    const { name, uri, taskId } = params as { readonly [key: string]: string | undefined };
    const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": method, "mcp-name": name ?? uri ?? taskId ?? "" };
    const message = { jsonrpc: "2.0", id: 1, method, params: { ...(params as object), _meta } };
    expect(await refusals(here, message, headers)).toBeGreaterThan(20);
  });

  test.each(Object.entries(inSession))("%s of a session is small when it is refused", async (method, params) => {
    const here = await one();
    const { sessionId } = await openSession(here);
    const headers = { "mcp-protocol-version": "2025-11-25", "mcp-session-id": sessionId };
    expect(await refusals(here, { jsonrpc: "2.0", id: 1, method, params }, headers)).toBeGreaterThan(10);
  });
});

describe("the violations of a value", () => {
  const listOf = jsonSchema({ type: "object", properties: { list: { type: "array", items: { type: "string" } } } });
  const byAuthor = z.object({ list: z.array(z.string().refine((text) => text !== "bad", "must not be bad")) });
  const inUnion = z.object({ list: z.array(z.union([z.object({ a: z.string() }), z.object({ b: z.string() })])) });
  const run = () => "done";
  const tools = catalogue([
    defineTool({ name: "by-json-schema", input: listOf, run }),
    defineTool({ name: "by-author", input: byAuthor, run }),
    defineTool({ name: "in-union", input: inUnion, run }),
    defineTool({ name: "nothing", run }),
    defineTool({ name: "distinct", input: jsonSchema({ type: "object", properties: { list: { uniqueItems: true } } }), run }),
    defineTool({
      name: "choose",
      async run(_args, ctx) {
        const choice = z.enum(["apollo", "gemini"]);
        const { list } = await ctx.elicit("which", { message: "Which?", schema: z.object({ list: z.array(choice) }) });
        return `${list.length} chosen`;
      },
    }),
  ]);
  const call = async (here: Front, name: string, args: object) => await rpc(here, "tools/call", { name, arguments: args });
  const textOf = (reply: RpcReply) => reply.result?.content?.[0]?.text ?? "";
  const times = (text: string, word: RegExp) => [...text.matchAll(word)].length;

  test("are reported up to eight, with a note that there are more", async () => {
    const here = await one({ catalogue: tools });
    for (const [name, wrong, word] of [
      ["by-json-schema", 0, /must be a text/g],
      ["by-author", "bad", /must not be bad/g],
    ] as const) {
      const eight = textOf(await call(here, name, { list: Array(8).fill(wrong) }));
      expect(times(eight, word)).toBe(eight.includes("arguments of") ? 16 : 8);
      expect(eight).not.toContain("and more");
      const nine = textOf(await call(here, name, { list: Array(9).fill(wrong) }));
      expect(times(nine, word)).toBe(times(eight, word));
      expect(nine).toContain("and more");
    }
  });

  test("are cut, both path and message", async () => {
    const here = await one({ catalogue: tools });
    const message = textOf(await call(here, "nothing", { [`a${"x".repeat(198)}`]: 1 }));
    expect(message).toContain(`/a${"x".repeat(198)} is not known`);
    expect(textOf(await call(here, "nothing", { [`a${"x".repeat(199)}`]: 1 }))).toContain(`/a${"x".repeat(198)}… is not known`);
  });

  test("end at the first one if the value is large", async () => {
    const here = await one({ catalogue: tools });
    const list = Array<unknown>(24_000).fill(0);
    for (const [name, args] of [
      ["by-json-schema", { list }],
      ["by-author", { list }],
      ["in-union", { list }],
      ["nothing", Object.fromEntries(list.map((_, index) => [`key${index}`, 0]))],
    ] as const) {
      await call(here, name, { list: [] }); // compiles
      const before = process.threadCpuUsage();
      const text = textOf(await call(here, name, args));
      const { user, system } = process.threadCpuUsage(before);
      expect(text, name).toMatch(/must be|is not known/);
      // The time of client and server together. Zod alone takes a second for 24,000 problems of a union, and a quarter of a second for
      // strings.
      expect((user + system) / 1_000, name).toBeLessThan(200);
    }
  });

  test("are found in one pass if the items of a list must be distinct", async () => {
    const here = await one({ catalogue: tools });
    const list = Array.from({ length: 24_000 }, (_, index) => index);
    const before = process.threadCpuUsage();
    expect((await call(here, "distinct", { list })).result).toHaveProperty("taskId");
    expect(textOf(await call(here, "distinct", { list: [...list, 7] }))).toContain("the same item twice");
    const { user, system } = process.threadCpuUsage(before);
    // Comparing every pair would take 10 s.
    expect((user + system) / 1_000).toBeLessThan(1_000);
    expect(
      textOf(
        await call(here, "distinct", {
          list: [
            { a: 1, b: 2 },
            { b: 2, a: 1 },
          ],
        }),
      ),
    ).toContain("the same item twice");
    expect((await call(here, "distinct", { list: [1, "1", [1], { 1: 1 }, null, false, 0, ""] })).result).toHaveProperty("taskId");
  });

  test("of an answer are small in the reply, in the store and in the question that is asked again", async () => {
    const here = await one({ catalogue: tools });
    const list = Array<unknown>(24_000).fill(0);
    const { result } = await call(here, "choose", {});
    const taskId = String(result?.["taskId"]);
    await rpc(here, "tasks/get", { taskId });
    const answered = await rpc(here, "tasks/update", { taskId, inputResponses: { which: { action: "accept", content: { list } } } });
    expect(answered.error?.data?.["violations"]).toEqual([
      { path: "/which/content/list/0", message: expect.stringMatching(/^must be/) as string },
    ]);

    const first = await rpc(here, "tools/call", { name: "choose", arguments: {} }, { tasks: false });
    const again = await rpc(
      here,
      "tools/call",
      {
        name: "choose",
        arguments: {},
        requestState: first.result?.["requestState"],
        inputResponses: { which: { action: "accept", content: { list } } },
      },
      { tasks: false },
    );
    expect(JSON.stringify(again.result).length).toBeLessThan(4_000);
    expect(again.result?.["inputRequests"]?.["which"]?.["params"]?.["message"]).toContain("could not be taken");
  });
});
