import { InputRequiredCallToolResultV2Schema } from "@modelcontextprotocol/ext-tasks/core/v2";
import { specTypeSchemas } from "@modelcontextprotocol/server";
import { describe, expect, test } from "vitest";
import type { Ask, Catalogue, JsonObject, Prompt, Tool } from "@parley/core";
import { rev20260728 } from "./index.ts";

const facts = {
  name: "parley",
  version: "1.2.3",
  title: "Parley",
  instructions: "Ask away.",
  pollInterval: () => 500,
  listTtlMs: 60_000,
  pageSize: 2,
};
const say = rev20260728.encoder(facts);
const _meta = { "io.modelcontextprotocol/serverInfo": { name: "parley", version: "1.2.3", title: "Parley" } };

const run = {
  earlyReplies: false,
  settings: { attempts: 1, backoffMs: 0, runTimeoutMs: 0, retentionMs: 0 },
  readArguments: (args: JsonObject) => ({ ok: true as const, args }),
  run: () => Promise.resolve({}),
};
const schema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: { address: { $anchor: "address", type: "object" } },
  properties: { to: { $ref: "#address" }, region: { type: "string", "x-mcp-header": "Region" } },
  allOf: [{ anyOf: [{ required: ["to"] }, { required: ["region"] }] }],
  dependentRequired: { to: ["region"] },
  additionalProperties: false,
};
const tool = (name: string, more: Partial<Tool> = {}): Tool => ({
  kind: "tool",
  name,
  inputSchema: { type: "object" },
  task: "optional",
  askFirst: false,
  needs: {},
  ...run,
  ...more,
});
const prompt: Prompt = {
  kind: "prompt",
  name: "brief",
  description: "A brief.",
  arguments: [{ name: "topic", description: "About what.", required: true, complete: () => ["rain"] }],
  ...run,
};
const contents = [{ uri: "test://static-text", mimeType: "text/plain", text: "text" }];
const catalogue: Catalogue = {
  tools: new Map(
    [
      tool("zeta"),
      tool("alpha", {
        title: "Alpha",
        description: "First.",
        inputSchema: schema,
        outputSchema: { type: "object" },
        annotations: { readOnlyHint: true },
        icons: [{ src: "https://example.com/a.png" }],
        meta: { "com.example/x": 1 },
        task: "required",
      }),
      tool("mid"),
    ].map((one) => [one.name, one]),
  ),
  prompts: new Map([["brief", prompt]]),
  resources: new Map([
    [
      "test://static-text",
      {
        uri: "test://static-text",
        name: "text",
        description: "Text.",
        mimeType: "text/plain",
        size: 4,
        read: () => Promise.resolve(contents),
      },
    ],
  ]),
  templates: [
    {
      uriTemplate: "test://template/{id}/data",
      name: "data",
      description: "Data.",
      mimeType: "application/json",
      match: () => undefined,
      read: () => Promise.resolve(contents),
    },
  ],
};
const empty: Catalogue = { tools: new Map(), prompts: new Map(), resources: new Map(), templates: [] };

/** Checks a message against the official schema of its type. */
function conforms(type: keyof typeof specTypeSchemas, message: unknown): void {
  expect(specTypeSchemas[type]["~standard"].validate(message)).not.toHaveProperty("issues");
}

describe("server/discover", () => {
  test("names what is served, tasks among the extensions and nowhere else", () => {
    const message = say.discover(catalogue);
    expect(message).toStrictEqual({
      resultType: "complete",
      supportedVersions: ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"],
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
        completions: {},
        logging: {},
        extensions: { "io.modelcontextprotocol/tasks": {} },
      },
      instructions: "Ask away.",
      ttlMs: 60_000,
      cacheScope: "public",
      _meta,
    });
    conforms("DiscoverResult", message);
  });

  test("does not promise what is not there", () => {
    const { instructions: _, ...silent } = facts;
    expect(rev20260728.encoder(silent).discover(empty)).toStrictEqual({
      resultType: "complete",
      supportedVersions: ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"],
      capabilities: { tools: { listChanged: true }, logging: {} },
      ttlMs: 60_000,
      cacheScope: "public",
      _meta,
    });
  });

  test("tells what upstreams say of themselves, and promises tasks before their tools are known", () => {
    const { instructions: _, ...silent } = facts;
    const upstreams = { ...empty, instructions: "The server crm says: hello.", grows: true };
    expect(rev20260728.encoder(silent).discover(upstreams)).toMatchObject({
      instructions: "The server crm says: hello.",
      capabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } },
    });
    expect(rev20260728.encoder(facts).discover(upstreams)).toMatchObject({ instructions: "Ask away.\n\nThe server crm says: hello." });
  });

  test("has no title where the server has none", () => {
    const { title: _, ...untitled } = facts;
    expect(rev20260728.encoder(untitled).discover(empty)).toHaveProperty("_meta", {
      "io.modelcontextprotocol/serverInfo": { name: "parley", version: "1.2.3" },
    });
  });
});

describe("lists", () => {
  test("keep the catalogue's order, send schemas word for word, and say nothing about tasks", () => {
    const first = say.toolList(catalogue);
    expect(first).toStrictEqual({
      resultType: "complete",
      tools: [
        { name: "zeta", inputSchema: { type: "object" } },
        {
          name: "alpha",
          title: "Alpha",
          description: "First.",
          inputSchema: schema,
          outputSchema: { type: "object" },
          annotations: { readOnlyHint: true },
          icons: [{ src: "https://example.com/a.png" }],
          _meta: { "com.example/x": 1 },
        },
      ],
      nextCursor: "YWxwaGE",
      ttlMs: 60_000,
      cacheScope: "public",
      _meta,
    });
    conforms("ListToolsResult", first);
  });

  test("continue behind the cursor, and end without one", () => {
    const last = say.toolList(catalogue, "YWxwaGE");
    expect(last).toStrictEqual({
      resultType: "complete",
      tools: [{ name: "mid", inputSchema: { type: "object" } }],
      ttlMs: 60_000,
      cacheScope: "public",
      _meta,
    });
  });

  test("refuse a cursor that they did not give out", () => {
    expect(() => say.toolList(catalogue, "nonsense")).toThrow(expect.objectContaining({ code: "INVALID_CURSOR" }));
    expect(() => say.promptList(catalogue, "")).toThrow(expect.objectContaining({ code: "INVALID_CURSOR" }));
  });

  test("show prompts without their completions", () => {
    const message = say.promptList(catalogue);
    expect(message).toStrictEqual({
      resultType: "complete",
      prompts: [{ name: "brief", description: "A brief.", arguments: [{ name: "topic", description: "About what.", required: true }] }],
      ttlMs: 60_000,
      cacheScope: "public",
      _meta,
    });
    conforms("ListPromptsResult", message);
  });

  test("show resources and templates", () => {
    const resources = say.resourceList(catalogue);
    expect(resources).toStrictEqual({
      resultType: "complete",
      resources: [{ uri: "test://static-text", name: "text", description: "Text.", mimeType: "text/plain", size: 4 }],
      ttlMs: 60_000,
      cacheScope: "public",
      _meta,
    });
    conforms("ListResourcesResult", resources);
    const templates = say.templateList(catalogue);
    expect(templates).toStrictEqual({
      resultType: "complete",
      resourceTemplates: [{ uriTemplate: "test://template/{id}/data", name: "data", description: "Data.", mimeType: "application/json" }],
      ttlMs: 60_000,
      cacheScope: "public",
      _meta,
    });
    conforms("ListResourceTemplatesResult", templates);
  });

  test("are empty where nothing is served", () => {
    expect(say.toolList(empty)).toStrictEqual({ resultType: "complete", tools: [], ttlMs: 60_000, cacheScope: "public", _meta });
  });
});

test("resource contents are not to be kept", () => {
  const message = say.resourceContents(contents);
  expect(message).toStrictEqual({ resultType: "complete", contents, ttlMs: 0, cacheScope: "private", _meta });
  conforms("ReadResourceResult", message);
});

test("completions end after a hundred and say so", () => {
  expect(say.completion(["rain"])).toStrictEqual({
    resultType: "complete",
    completion: { values: ["rain"], total: 1, hasMore: false },
    _meta,
  });
  const many = say.completion(Array.from({ length: 101 }, (_, index) => `v${index}`));
  expect(many).toMatchObject({ completion: { total: 101, hasMore: true } });
  conforms("CompleteResult", many);
});

describe("answers to calls", () => {
  test("a result is complete, keeps its own _meta and names the server", () => {
    const message = say.callResult({ content: [{ type: "text", text: "hi" }], isError: true, _meta: { "com.example/x": 1 } });
    expect(message).toStrictEqual({
      resultType: "complete",
      content: [{ type: "text", text: "hi" }],
      isError: true,
      _meta: { "com.example/x": 1, ..._meta },
    });
    conforms("CallToolResult", message);
  });

  test("a prompt's result is complete", () => {
    const message = say.promptResult({ messages: [{ role: "user", content: { type: "text", text: "hi" } }] });
    expect(message).toStrictEqual({ resultType: "complete", messages: [{ role: "user", content: { type: "text", text: "hi" } }], _meta });
    conforms("GetPromptResult", message);
  });

  const asks: readonly Ask[] = [
    {
      key: "user_name",
      digest: "d",
      calledAt: "0",
      request: { type: "form", message: "Who?", schema: { type: "object", properties: {} } },
      askedAtMs: 0,
      deadlineMs: 1,
      onTimeout: "cancel",
    },
  ];

  test("a question to the caller carries the asks and the state", () => {
    const message = say.inputRequired(asks, "sealed");
    expect(message).toStrictEqual({
      resultType: "input_required",
      inputRequests: {
        user_name: {
          method: "elicitation/create",
          params: { mode: "form", message: "Who?", requestedSchema: { type: "object", properties: {} } },
        },
      },
      requestState: "sealed",
      _meta,
    });
    InputRequiredCallToolResultV2Schema.parse(message);
  });

  test("either may be absent, but not both", () => {
    expect(say.inputRequired(asks)).not.toHaveProperty("requestState");
    expect(say.inputRequired([], "sealed")).toStrictEqual({ resultType: "input_required", requestState: "sealed", _meta });
    expect(() => say.inputRequired([])).toThrow("neither");
  });
});

describe("a listen stream", () => {
  test("begins with what was agreed to and no more", () => {
    const message = say.acknowledged(12, {
      taskIds: ["t1"],
      toolsListChanged: true,
      promptsListChanged: false,
      resourcesListChanged: false,
      resourceSubscriptions: [],
    });
    expect(message).toStrictEqual({
      jsonrpc: "2.0",
      method: "notifications/subscriptions/acknowledged",
      params: { _meta: { "io.modelcontextprotocol/subscriptionId": 12 }, notifications: { taskIds: ["t1"], toolsListChanged: true } },
    });
    conforms("SubscriptionsAcknowledgedNotification", message);
  });

  test("leaves out the tasks where none were agreed to", () => {
    const message = say.acknowledged("s", {
      taskIds: [],
      toolsListChanged: false,
      promptsListChanged: true,
      resourcesListChanged: true,
      resourceSubscriptions: ["test://a"],
    });
    expect(message.params).toStrictEqual({
      _meta: { "io.modelcontextprotocol/subscriptionId": "s" },
      notifications: { promptsListChanged: true, resourcesListChanged: true, resourceSubscriptions: ["test://a"] },
    });
  });

  test("names itself in every notification", () => {
    const tools = say.changed({ type: "tools" }, "s");
    expect(tools).toStrictEqual({
      jsonrpc: "2.0",
      method: "notifications/tools/list_changed",
      params: { _meta: { "io.modelcontextprotocol/subscriptionId": "s" } },
    });
    conforms("ToolListChangedNotification", tools);
    expect(say.changed({ type: "prompts" }, 0)).toMatchObject({ method: "notifications/prompts/list_changed" });
    expect(say.changed({ type: "resources" }, 0)).toMatchObject({ method: "notifications/resources/list_changed" });
    const updated = say.changed({ type: "resource", uri: "test://x" }, 12);
    expect(updated).toStrictEqual({
      jsonrpc: "2.0",
      method: "notifications/resources/updated",
      params: { _meta: { "io.modelcontextprotocol/subscriptionId": 12 }, uri: "test://x" },
    });
    conforms("ResourceUpdatedNotification", updated);
  });

  test("ends with the answer to its request", () => {
    const message = say.listenEnd(12);
    expect(message).toStrictEqual({ resultType: "complete", _meta: { ..._meta, "io.modelcontextprotocol/subscriptionId": 12 } });
    conforms("SubscriptionsListenResult", message);
  });
});

describe("the feed of a call", () => {
  const progress = { type: "progress", progress: 50, total: 100, message: "half" } as const;
  const log = { type: "log", level: "info", data: { at: 1 }, logger: "tool" } as const;

  test("shows progress to clients that gave a token, even if it is 0", () => {
    const message = say.feedNotification(progress, { progressToken: 0 });
    expect(message).toStrictEqual({
      jsonrpc: "2.0",
      method: "notifications/progress",
      params: { progressToken: 0, progress: 50, total: 100, message: "half" },
    });
    conforms("ProgressNotification", message);
    expect(say.feedNotification(progress, { logLevel: "debug" })).toBeUndefined();
  });

  test("shows logs from the level that was asked for", () => {
    const message = say.feedNotification(log, { logLevel: "info" });
    expect(message).toStrictEqual({
      jsonrpc: "2.0",
      method: "notifications/message",
      params: { level: "info", data: { at: 1 }, logger: "tool" },
    });
    conforms("LoggingMessageNotification", message);
    expect(say.feedNotification({ ...log, level: "emergency" }, { logLevel: "warning" })).toBeDefined();
    expect(say.feedNotification(log, { logLevel: "warning" })).toBeUndefined();
    expect(say.feedNotification(log, { progressToken: 1 })).toBeUndefined();
  });

  test("says nothing about a connection that may be released", () => {
    expect(say.feedNotification({ type: "release" }, { progressToken: 1, logLevel: "debug" })).toBeUndefined();
  });

  test("says nothing if MCP has no notification for it", () => {
    const toast = { type: "emit", kind: "toast", data: { message: "Saved" } } as const;
    expect(say.feedNotification(toast, { progressToken: 1, logLevel: "debug" })).toBeUndefined();
  });
});
