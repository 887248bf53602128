import {
  CompleteResultSchema,
  EmptyResultSchema,
  InitializeResultSchema,
  ListPromptsResultSchema,
  ListResourcesResultSchema,
  ListResourceTemplatesResultSchema,
  ListToolsResultSchema,
  ReadResourceResultSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, test } from "vitest";
import type { Catalogue } from "@parley/core";
import { SESSION_DIALECTS, sessionDialect, type SessionEncoder } from "./index.ts";
import { brief, nothing, served, tool } from "./catalogue.fixture.ts";

const facts = {
  name: "parley",
  version: "1.2.3",
  title: "Parley",
  instructions: "Ask away.",
  pollInterval: () => 500,
  listTtlMs: 60_000,
  pageSize: 2,
};

function encoderOf(version: string): SessionEncoder {
  const dialect = sessionDialect(version);
  if (!dialect) throw new Error(`${version} is not served`);
  return dialect.encoder(facts);
}

const ALL = SESSION_DIALECTS.map(({ version }) => ({ version, say: encoderOf(version) }));

const lists = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  completions: {},
  logging: {},
};

describe("the answer to initialize", () => {
  test("of 2025-11-25 offers tasks", () => {
    expect(encoderOf("2025-11-25").initialize(served)).toStrictEqual({
      protocolVersion: "2025-11-25",
      capabilities: { ...lists, tasks: { cancel: {}, requests: { tools: { call: {} } } } },
      serverInfo: { name: "parley", version: "1.2.3", title: "Parley" },
      instructions: "Ask away.",
    });
  });

  test("of 2025-11-25 says that tasks are listed only where each caller sees its own", () => {
    const knowing = sessionDialect("2025-11-25")?.encoder({ ...facts, knowsCallers: true });
    expect(knowing?.initialize(served)).toMatchObject({ capabilities: { tasks: { list: {}, cancel: {} } } });
  });

  test("of 2025-06-18 does not", () => {
    expect(encoderOf("2025-06-18").initialize(served)).toStrictEqual({
      protocolVersion: "2025-06-18",
      capabilities: lists,
      serverInfo: { name: "parley", version: "1.2.3", title: "Parley" },
      instructions: "Ask away.",
    });
  });

  test("of 2025-03-26 has no titles either", () => {
    expect(encoderOf("2025-03-26").initialize(served)).toStrictEqual({
      protocolVersion: "2025-03-26",
      capabilities: lists,
      serverInfo: { name: "parley", version: "1.2.3" },
      instructions: "Ask away.",
    });
  });

  test.each(ALL)("of $version promises nothing that is not there, and is one by the official schema", ({ version, say }) => {
    InitializeResultSchema.parse(say.initialize(served));
    expect(say.initialize(nothing)).toMatchObject({
      protocolVersion: version,
      capabilities: { tools: { listChanged: true }, logging: {} },
    });
    const { instructions: _, ...silent } = facts;
    expect(Object.keys(sessionDialect(version)?.encoder(silent).initialize(nothing) ?? {})).toStrictEqual([
      "protocolVersion",
      "capabilities",
      "serverInfo",
    ]);
    const { capabilities } = say.initialize(nothing) as { capabilities: object };
    expect(Object.keys(capabilities)).toStrictEqual(["tools", "logging"]);
  });
});

test("models are told how to use the server, and then what its upstreams say of themselves", () => {
  const told = (say: { initialize(catalogue: Catalogue): object }, catalogue: Catalogue) =>
    (say.initialize(catalogue) as { readonly instructions?: string }).instructions;
  const withUpstreams = { ...nothing, instructions: "The server crm says: hello." };
  for (const { say, version } of ALL) {
    const { instructions: _, ...silent } = facts;
    const silently = sessionDialect(version)!.encoder(silent);
    expect([told(say, withUpstreams), told(silently, withUpstreams)]).toEqual([
      "Ask away.\n\nThe server crm says: hello.",
      "The server crm says: hello.",
    ]);
  }
});

test("tasks are promised before there are tools, where tools may come later", () => {
  const promised = encoderOf("2025-11-25").initialize({ ...nothing, grows: true }) as { readonly capabilities: object };
  expect(promised.capabilities).toHaveProperty("tasks");
});

describe("what is promised", () => {
  const promised = (catalogue: Catalogue): object =>
    (encoderOf("2025-06-18").initialize(catalogue) as { readonly capabilities: object }).capabilities;
  const always = { tools: { listChanged: true }, logging: {} };
  const resources = { listChanged: true, subscribe: true };
  const [template] = served.templates;
  if (!template) throw new Error("no template");

  test("is what upstreams may bring, before they have been listed: a client asks for nothing that was not promised", () => {
    const later = { ...always, resources, prompts: { listChanged: true }, completions: {} };
    for (const { version } of ALL) {
      const { capabilities } = encoderOf(version).initialize({ ...nothing, grows: true }) as { readonly capabilities: object };
      expect(capabilities).toMatchObject(later);
    }
  });

  test("are resources where there are only resources, or only templates of them", () => {
    expect(promised({ ...nothing, resources: served.resources })).toStrictEqual({ ...always, resources });
    expect(promised({ ...nothing, templates: served.templates })).toStrictEqual({ ...always, resources });
  });

  test("are completions where something completes: an argument of a prompt, or a template", () => {
    const complete = { ...template, complete: () => ["1"] };
    expect(promised({ ...nothing, templates: [complete] })).toStrictEqual({ ...always, resources, completions: {} });
    const silent = { ...brief, arguments: [{ name: "topic", required: true }] };
    expect(promised({ ...nothing, prompts: new Map([["brief", silent]]) })).toStrictEqual({ ...always, prompts: { listChanged: true } });
    expect(promised({ ...nothing, prompts: new Map([["brief", brief]]) })).toHaveProperty("completions");
  });
});

const alpha = {
  name: "alpha",
  description: "First.",
  inputSchema: {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    properties: { to: { $anchor: "a", type: "string" } },
  },
};
const outputSchema = { type: "object", properties: { n: { type: "number" } } };
const _meta = { "com.example/x": 1 };

/** The second entry has every member; the third is on the next page. */
function toolsOf(version: string): readonly unknown[] {
  const say = encoderOf(version);
  const first = say.toolList(served) as { tools: unknown[]; nextCursor: string };
  const second = say.toolList(served, first.nextCursor) as { tools: unknown[] };
  return [...first.tools, ...second.tools];
}

describe("tools", () => {
  test("of 2025-11-25 say how they become tasks, in the words of the specification and of proposal #1869", () => {
    expect(toolsOf("2025-11-25")).toStrictEqual([
      { name: "plain", inputSchema: { type: "object" } },
      {
        ...alpha,
        title: "Alpha",
        outputSchema,
        annotations: { readOnlyHint: true, taskHint: "always" },
        icons: [{ src: "https://example.com/a.png" }],
        execution: { taskSupport: "required" },
        _meta,
      },
      { name: "omega", inputSchema: { type: "object" }, annotations: { taskHint: "optional" }, execution: { taskSupport: "optional" } },
    ]);
  });

  test("of 2025-06-18 have titles and output schemas", () => {
    expect(toolsOf("2025-06-18")).toStrictEqual([
      { name: "plain", inputSchema: { type: "object" } },
      { ...alpha, title: "Alpha", outputSchema, annotations: { readOnlyHint: true }, _meta },
      { name: "omega", inputSchema: { type: "object" } },
    ]);
  });

  test("of 2025-03-26 have their title among the annotations, where that revision has one", () => {
    expect(toolsOf("2025-03-26")).toStrictEqual([
      { name: "plain", inputSchema: { type: "object" } },
      { ...alpha, annotations: { title: "Alpha", readOnlyHint: true } },
      { name: "omega", inputSchema: { type: "object" } },
    ]);
  });

  test.each(["2025-06-18", "2025-03-26"])("of %s have no members that the tool does not have, undefined or not", (version) => {
    expect(toolsOf(version)[0]).toStrictEqual({ name: "plain", inputSchema: { type: "object" } });
  });

  test.each(ALL)("of $version with results that are no object announce no schema for them: that is newer", ({ version, say }) => {
    const list = tool("list", { outputSchema: { type: "array" } });
    const { tools } = say.toolList({ ...nothing, tools: new Map([["list", list]]) }) as { tools: object[] };
    expect({ version, tools }).toStrictEqual({ version, tools: [{ name: "list", inputSchema: { type: "object" } }] });
  });
});

const annotations = { audience: ["user"], priority: 0.5 };
const lastModified = "2025-01-12T15:00:58Z";

describe("the other lists", () => {
  test.each(["2025-11-25", "2025-06-18"])("of %s have titles", (version) => {
    const say = encoderOf(version);
    expect(say.promptList(served)).toStrictEqual({
      prompts: [
        {
          name: "brief",
          title: "Brief",
          description: "A brief.",
          arguments: [{ name: "topic", title: "Topic", description: "About what.", required: true }],
        },
      ],
    });
    const shown = { title: "The a", description: "All of it.", mimeType: "text/plain", annotations: { ...annotations, lastModified } };
    expect(say.resourceList(served)).toStrictEqual({ resources: [{ uri: "test://a", name: "a", ...shown, size: 4 }] });
    expect(say.templateList(served)).toStrictEqual({
      resourceTemplates: [{ uriTemplate: "test://{id}", name: "data", ...shown, title: "Data", description: "Data." }],
    });
  });

  test("of 2025-03-26 have names", () => {
    const say = encoderOf("2025-03-26");
    expect(say.promptList(served)).toStrictEqual({
      prompts: [{ name: "brief", description: "A brief.", arguments: [{ name: "topic", description: "About what.", required: true }] }],
    });
    const shown = { description: "All of it.", mimeType: "text/plain", annotations };
    expect(say.resourceList(served)).toStrictEqual({ resources: [{ uri: "test://a", name: "a", ...shown, size: 4 }] });
    expect(say.templateList(served)).toStrictEqual({
      resourceTemplates: [{ uriTemplate: "test://{id}", name: "data", ...shown, description: "Data." }],
    });
  });

  test.each(ALL)("of $version have no members that a resource does not have", ({ say }) => {
    const bare = { uri: "test://b", name: "b", read: () => Promise.resolve([]) };
    expect(say.resourceList({ ...nothing, resources: new Map([["test://b", bare]]) })).toStrictEqual({
      resources: [{ uri: "test://b", name: "b" }],
    });
  });

  test.each(ALL)("of $version are some by the official schemas, and know their pages", ({ say }) => {
    const first = ListToolsResultSchema.parse(say.toolList(served));
    expect(ListToolsResultSchema.parse(say.toolList(served, first.nextCursor)).nextCursor).toBeUndefined();
    expect(() => say.toolList(served, "nonsense")).toThrow("cursor was not issued");
    ListPromptsResultSchema.parse(say.promptList(served));
    ListResourcesResultSchema.parse(say.resourceList(served));
    ListResourceTemplatesResultSchema.parse(say.templateList(served));
  });

  test("continue after their cursors, which are names of prompts, uris of resources, and uri templates", () => {
    const say = sessionDialect("2025-06-18")?.encoder({ ...facts, pageSize: 1 });
    if (!say) throw new Error("no dialect");
    const catalogue: Catalogue = {
      ...nothing,
      prompts: new Map([
        ["brief", brief],
        ["second", { ...brief, name: "second" }],
      ]),
      resources: new Map([
        ...served.resources,
        ...[...served.resources.values()].map((one) => ["second", { ...one, uri: "second" }] as const),
      ]),
      templates: served.templates.flatMap((one) => [one, { ...one, uriTemplate: "second" }]),
    };
    const cursorOf = (list: object): string => (list as { readonly nextCursor: string }).nextCursor;
    expect(say.promptList(catalogue, cursorOf(say.promptList(catalogue)))).toMatchObject({ prompts: [{ name: "second" }] });
    expect(say.resourceList(catalogue, cursorOf(say.resourceList(catalogue)))).toMatchObject({ resources: [{ uri: "second" }] });
    expect(say.templateList(catalogue, cursorOf(say.templateList(catalogue)))).toMatchObject({
      resourceTemplates: [{ uriTemplate: "second" }],
    });
  });

  test.each(ALL)("of $version say nothing that came with 2026", ({ say }) => {
    for (const list of [say.toolList(served), say.promptList(served), say.resourceList(served), say.templateList(served)]) {
      for (const word of ["resultType", "ttlMs", "cacheScope", "_meta"]) expect(list).not.toHaveProperty([word]);
    }
  });
});

describe.each(ALL)("small answers of $version", ({ say }) => {
  test("are as the official schemas have them", () => {
    expect(say.empty()).toStrictEqual({});
    EmptyResultSchema.parse(say.empty());
    expect(say.resourceContents([{ uri: "test://a", text: "a" }])).toStrictEqual({ contents: [{ uri: "test://a", text: "a" }] });
    ReadResourceResultSchema.parse(say.resourceContents([{ uri: "test://a", blob: "AA==" }]));
    expect(say.completion(["rain"])).toStrictEqual({ completion: { values: ["rain"], total: 1, hasMore: false } });
    const many = say.completion(Array.from({ length: 101 }, (_, index) => `v${index}`));
    expect(many).toMatchObject({ completion: { total: 101, hasMore: true } });
    expect((many as { completion: { values: string[] } }).completion.values).toHaveLength(100);
    CompleteResultSchema.parse(many);
    const hundred = Array.from({ length: 100 }, (_, index) => `v${index}`);
    expect(say.completion(hundred)).toStrictEqual({ completion: { values: hundred, total: 100, hasMore: false } });
  });
});
