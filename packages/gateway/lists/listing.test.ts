/** The lists of an upstream, and their limits. */
import { Client, type FetchLike, type Transport } from "@modelcontextprotocol/client";
import { createMcpHandler, Server } from "@modelcontextprotocol/server";
import { describe, expect, test } from "vitest";
import {
  ARGUMENTS_MAX,
  boundedListing,
  EVENT_TYPES_MAX,
  type ListedEvent,
  LISTING_CHARS_MAX,
  type ListedPrompt,
  type ListedResource,
  type ListedTemplate,
  type ListedTool,
  PROMPTS_MAX,
  readListing,
  RESOURCES_MAX,
  TEMPLATES_MAX,
  TOOLS_MAX,
  URI_CHARS_MAX,
} from "./listing.ts";
import { createConnector } from "../connection/upstream-session.ts";
import { parseUpstreams } from "../config/upstreams.ts";
import { HOPS_MAX, withVia } from "./passed-gateways.ts";

const [UPSTREAM] = parseUpstreams(
  "up.json",
  JSON.stringify({ upstreams: [{ name: "up", url: "https://up.example.com", exclude: ["hidden"] }] }),
);
const tool = (name: string, rest: Partial<ListedTool> = {}): ListedTool => ({ name, inputSchema: { type: "object" }, ...rest });
const NONE = { tools: [], prompts: [], resources: [], templates: [], events: [] };
const listing = (tools: readonly ListedTool[], prompts: readonly ListedPrompt[] = []) =>
  boundedListing({ ...NONE, tools, prompts }, UPSTREAM!);

test("tools are kept unchanged, except for those that the file leaves out and members that tools do not have", () => {
  const whole = tool("a", { title: "A", annotations: { readOnlyHint: true }, icons: [{ src: "x" }], _meta: { y: 1 } });
  expect(listing([{ ...whole, execution: {} } as ListedTool, tool("hidden")])).toEqual({ ...NONE, tools: [whole], leftOut: [] });
});

test("tools with a duplicate or invalid name are left out and reported", () => {
  const { tools, leftOut } = listing([tool("a"), tool("a"), tool("b c"), tool("x".repeat(125)), tool("x".repeat(126))]);
  expect(tools.map(({ name }) => name)).toEqual(["a", "x".repeat(125)]);
  expect(leftOut).toEqual(["a is listed twice", expect.stringMatching(/^b c has/), expect.stringMatching(/^x{126} has/)]);
});

test("an upstream may have up to the limit of tools, and one more is left out", () => {
  const { tools, leftOut } = listing(Array.from({ length: TOOLS_MAX + 1 }, (_, index) => tool(`t${index}`)));
  expect(tools).toHaveLength(TOOLS_MAX);
  expect(leftOut).toEqual([expect.stringContaining(`t${TOOLS_MAX} exceeds the limit of`)]);
});

test("a listing may have up to the limit of characters, and a tool beyond it is left out", () => {
  const empty = JSON.stringify(tool("a", { description: "" })).length;
  const large = (extra: number) => listing([tool("a", { description: "x".repeat(LISTING_CHARS_MAX - empty + extra) })]);
  expect(large(0).tools).toHaveLength(1);
  expect(large(1)).toEqual({ ...NONE, leftOut: [expect.stringContaining("a exceeds the limit of")] });
});

test("prompts are kept unchanged, up to the limits of prompts and of arguments", () => {
  const whole: ListedPrompt = {
    name: "p",
    title: "P",
    description: "Says p.",
    arguments: [{ name: "x", required: true }],
    _meta: { y: 1 },
  };
  expect(listing([], [{ ...whole, other: {} } as ListedPrompt, { name: "hidden" }])).toEqual({ ...NONE, prompts: [whole], leftOut: [] });
  const many = Array.from({ length: PROMPTS_MAX + 1 }, (_, index) => ({ name: `p${index}` }));
  const { prompts, leftOut } = listing([], many);
  expect(prompts).toHaveLength(PROMPTS_MAX);
  expect(leftOut).toEqual([expect.stringContaining(`p${PROMPTS_MAX} exceeds the limit of`)]);
  const wide = (length: number) => listing([], [{ name: "p", arguments: Array.from({ length }, (_, index) => ({ name: `a${index}` })) }]);
  expect(wide(ARGUMENTS_MAX).prompts[0]?.arguments).toHaveLength(ARGUMENTS_MAX);
  expect(wide(ARGUMENTS_MAX + 1).prompts[0]?.arguments).toHaveLength(ARGUMENTS_MAX);
});

test("resources and templates are kept unchanged, up to their limits and without invalid uris", () => {
  const listed = (resources: readonly ListedResource[], templates: readonly ListedTemplate[] = []) =>
    boundedListing({ ...NONE, resources, templates }, UPSTREAM!);
  const facts = {
    name: "a",
    title: "A",
    description: "Is a.",
    mimeType: "text/plain",
    annotations: { priority: 1 },
    icons: [{ src: "x" }],
    _meta: { y: 1 },
  };
  const resource: ListedResource = { uri: "file:///a", size: 3, ...facts };
  const template: ListedTemplate = { uriTemplate: "file:///{path}", ...facts };
  expect(listed([{ ...resource, other: 1 } as ListedResource, { uri: "file:///b", name: "hidden" }], [template])).toEqual({
    ...NONE,
    resources: [resource],
    templates: [template],
    leftOut: [],
  });
  const long = (length: number) => `x:${"y".repeat(length - 2)}`;
  const bad = listed(
    [long(URI_CHARS_MAX), long(URI_CHARS_MAX + 1), "no uri", "x:a b", "/a", long(URI_CHARS_MAX)].map((uri) => ({ uri, name: "a" })),
  );
  expect(bad.resources.map(({ uri }) => uri)).toEqual([long(URI_CHARS_MAX)]);
  expect(bad.leftOut.map((why) => why.replace(/^x:y+ /, ""))).toEqual([
    expect.stringContaining("is not a uri"),
    expect.stringContaining("is not a uri"),
    expect.stringContaining("is not a uri"),
    expect.stringContaining("is not a uri"),
    "is listed twice",
  ]);
  const many = listed(
    Array.from({ length: RESOURCES_MAX + 1 }, (_, index) => ({ uri: `x:${index}`, name: "a" })),
    Array.from({ length: TEMPLATES_MAX + 1 }, (_, index) => ({ uriTemplate: `x:${index}/{y}`, name: "a" })),
  );
  expect([many.resources.length, many.templates.length]).toEqual([RESOURCES_MAX, TEMPLATES_MAX]);
  expect(many.leftOut).toEqual([expect.stringContaining("1000 resources"), expect.stringContaining("1000 templates")]);
});

test("event types that can be polled are kept unchanged, up to their limit", () => {
  const facts = { inputSchema: { type: "object" }, payloadSchema: {}, _meta: { a: 1 } };
  const events = Array.from({ length: EVENT_TYPES_MAX + 1 }, (_, index) => ({ name: `e.${index}`, description: "d", ...facts }));
  const listed = boundedListing({ ...NONE, events: [{ ...events[0]!, delivery: ["poll"] } as ListedEvent, ...events.slice(1)] }, UPSTREAM!);
  expect(listed.events).toEqual(events.slice(0, EVENT_TYPES_MAX));
  expect(listed.leftOut).toEqual([`e.${EVENT_TYPES_MAX} exceeds the limit of ${EVENT_TYPES_MAX} event types for one upstream`]);
});

test("items of any kind that came through this deployment, or through too many deployments, are left out", () => {
  const through = <Of extends object>(item: Of, hops: readonly string[]) => hops.reduce((listed, hop) => withVia(listed, hop), item);
  const far = (hops: number) => Array.from({ length: hops }, (_, hop) => `other-${hop}`);
  const facts = { name: "x" };
  const back = ["me", "other"];
  const listed = boundedListing(
    {
      tools: [through(tool("back"), back), through(tool("far"), far(HOPS_MAX - 1)), through(tool("further"), far(HOPS_MAX))],
      prompts: [through({ name: "back" }, back)],
      resources: [through({ uri: "x:back", ...facts }, back)],
      templates: [through({ uriTemplate: "x:{back}", ...facts }, back)],
      events: [through({ name: "back", inputSchema: {}, payloadSchema: {} }, back)],
    },
    UPSTREAM!,
    "me",
  );
  expect(listed).toMatchObject({ tools: [{ name: "far" }], prompts: [], resources: [], templates: [], events: [] });
  expect(listed.leftOut).toEqual([
    expect.stringContaining("back comes back to the gateway"),
    expect.stringContaining(`further has come through ${HOPS_MAX} gateways`),
    ...["back", "x:back", "x:{back}", "back"].map((name) => expect.stringContaining(`${name} comes back`)),
  ]);
});

const REVISIONS = ["2025-06-18", "2025-11-25", "2026-07-28"];

describe("a list that is read", () => {
  /** A session with a server that answers `tools/list` with these pages. */
  async function reading(
    page: (requests: number) => object,
    revision = "2025-11-25",
    kept: object = { ttlMs: 3_600_000, cacheScope: "private" },
    capabilities: object = { tools: {}, prompts: {}, resources: {} },
  ) {
    let requests = 0;
    const about = { resultType: "complete", ...kept };
    const serverInfo = { name: "test", version: "1" };
    const transport: Transport = {
      start: async () => undefined,
      close: async () => undefined,
      async send(message) {
        if (!("method" in message && "id" in message)) return;
        const { id, method } = message;
        const opened = { protocolVersion: revision, supportedVersions: [revision], capabilities, serverInfo };
        if (method === "tools/list") requests += 1;
        const whole = { tools: [], prompts: [], resources: [], resourceTemplates: [] };
        const result = method.endsWith("/list") ? { ...whole, ...page(requests) } : opened;
        setImmediate(() => transport.onmessage?.({ jsonrpc: "2.0", id, result: { ...about, ...result } }));
      },
    };
    const client = new Client({ name: "test", version: "1" }, revision === "2026-07-28" ? { versionNegotiation: { mode: "auto" } } : {});
    await client.connect(transport);
    const session = { client, isStateless: revision === "2026-07-28", begin: () => undefined, close: async () => undefined };
    return { read: () => readListing(session, UPSTREAM!), requests: () => requests };
  }

  test("is read from the upstream each time, however long it says that its list may be kept", async () => {
    const { read, requests } = await reading(() => ({ tools: [tool("a")] }), "2026-07-28");
    await read();
    await read();
    expect(requests()).toBe(2);
  });

  test.each(REVISIONS)("is not refused for an item that MCP does not allow: the item is left out and reported: %s", async (revision) => {
    const bad = [
      { ...tool("no-type"), inputSchema: {} },
      { ...tool("x"), name: 5 },
      null,
      { ...tool("hint"), annotations: { readOnlyHint: "yes" } },
    ];
    const { read } = await reading(
      () => ({
        tools: [tool("a"), ...bad, tool("b")],
        prompts: [{ name: "p" }, { name: "q", arguments: "none" }],
        resources: [
          { uri: "x:a", name: "a" },
          { uri: 5, name: "r" },
        ],
        resourceTemplates: [{ name: "t" }, { uriTemplate: "x:{a}", name: "a" }],
      }),
      revision,
    );
    const { tools, prompts, resources, templates, leftOut } = await read();
    expect(tools.map(({ name }) => name)).toEqual(["a", "b"]);
    expect([prompts, resources, templates]).toEqual([[{ name: "p" }], [{ uri: "x:a", name: "a" }], [{ uriTemplate: "x:{a}", name: "a" }]]);
    expect(leftOut).toEqual([
      "no-type of tools is not as MCP requires: /inputSchema/type",
      "an item of tools is not as MCP requires: /name",
      "an item of tools is not as MCP requires: /",
      "hint of tools is not as MCP requires: /annotations/readOnlyHint",
      "q of prompts is not as MCP requires: /arguments",
      "r of resources is not as MCP requires: /uri",
      "t of templates is not as MCP requires: /uriTemplate",
    ]);
  });

  test.each([1_200, 4_000])(
    "leaves out an item that nests %i levels deep: a front end that lists it could list nothing",
    async (levels) => {
      const deep = JSON.parse(`${"[".repeat(levels)}${"]".repeat(levels)}`) as unknown;
      const { read } = await reading(() => ({ tools: [tool("a"), { ...tool("deep"), _meta: { deep } }, tool("b")] }), "2025-11-25");
      const { tools, leftOut } = await read();
      expect(tools.map(({ name }) => name)).toEqual(["a", "b"]);
      expect(leftOut).toEqual(["deep of tools nests deeper than 1000 levels"]);
    },
  );

  test.each(REVISIONS)("is an error if it is no list: %s", async (revision) => {
    const { read } = await reading(() => ({ tools: { a: tool("a") } }), revision);
    await expect(read()).rejects.toMatchObject({ code: "INVALID_RESULT" });
  });

  test.each([
    ["resources", true],
    ["tools", false],
  ])("says whether resources can be read: an upstream with %s", async (declared, readsResources) => {
    const { read } = await reading(() => ({ tools: [] }), "2025-11-25", {}, { [declared]: {} });
    expect(await read()).toMatchObject({ readsResources, resources: [], templates: [] });
  });

  test("need not say how long it may be kept: each reading asks the upstream", async () => {
    const { read } = await reading(() => ({ tools: [tool("a")], nextCursor: null, _meta: null }), "2026-07-28", {});
    expect(await read()).toMatchObject({ tools: [tool("a")], leftOut: [] });
  });

  test("may have such nulls in the members of an item too, and keeps those that are values", async () => {
    const properties = { a: { type: "string", default: null }, b: { enum: [null, 1] } };
    const given = {
      annotations: { title: null, readOnlyHint: true },
      icons: [{ src: "https://up.example.com/a.png", mimeType: null, sizes: null }],
      inputSchema: { type: "object", properties, required: null, description: null },
      _meta: { x: null },
    };
    const prompt = { name: "p", arguments: [{ name: "x", description: null, required: null }] };
    const { read } = await reading(() => ({ tools: [tool("a", given as never)], prompts: [prompt] }));
    expect(await read()).toMatchObject({
      tools: [
        {
          name: "a",
          annotations: { readOnlyHint: true },
          icons: [{ src: "https://up.example.com/a.png" }],
          inputSchema: { type: "object", properties },
          _meta: { x: null },
        },
      ],
      prompts: [{ name: "p", arguments: [{ name: "x" }] }],
      leftOut: [],
    });
  });

  test("of templates is empty if its server does not know the method, which is HTTP 404 in 2026-07-28", async () => {
    const handler = createMcpHandler(() => {
      const server = new Server({ name: "test", version: "1" }, { capabilities: { tools: {}, prompts: {}, resources: {} } });
      server.setRequestHandler("tools/list", () => ({ tools: [{ name: "a", inputSchema: { type: "object" as const } }] }));
      server.setRequestHandler("resources/list", () => ({ resources: [{ uri: "x:a", name: "a" }] }));
      return server;
    });
    const statuses: number[] = [];
    const fetch: FetchLike = async (url, init) => {
      const response = await handler.fetch(new Request(url, init));
      statuses.push(response.status);
      return response;
    };
    const [upstream] = parseUpstreams(
      "up.json",
      JSON.stringify({ upstreams: [{ name: "up", url: "https://up.example.com", revisions: "newest" }] }),
    );
    const session = await createConnector({ fetch, version: "1", deployment: "d" }).open(upstream!, { capabilities: {} });
    const { tools, resources, templates, leftOut } = await readListing(session, upstream!);
    expect([tools.length, resources.length, templates.length]).toEqual([1, 1, 0]);
    expect(leftOut).toEqual(["prompts are declared, but listing them fails with -32601"]);
    expect(statuses).toContain(404);
  });

  test("comes with the instructions of its server, but not with those of a gateway that this one is behind", async () => {
    const reads = async (meta: { readonly [key: string]: unknown }) => {
      const handler = createMcpHandler(() => {
        const server = new Server({ name: "test", version: "1" }, { capabilities: { tools: {} }, instructions: " Ask first. " });
        server.setRequestHandler("tools/list", () => ({ tools: [{ name: "a", inputSchema: { type: "object" as const }, _meta: meta }] }));
        return server;
      });
      const fetch: FetchLike = (url, init) => handler.fetch(new Request(url, init));
      const connector = createConnector({ fetch, version: "1", deployment: "d" });
      const session = await connector.open(UPSTREAM!, { capabilities: {}, options: { listChanged: {} } });
      return (await readListing(session, UPSTREAM!, { deployment: "d" })).instructions;
    };
    expect(await reads({ "parley/via": ["other"] })).toBe("Ask first.");
    expect(await reads({ "parley/via": ["other", "d"] })).toBeUndefined();
  });

  test("has no tool whose headers MCP does not allow, where the arguments of a call are repeated in headers", async () => {
    const share = (type: string) =>
      tool(type, { inputSchema: { type: "object", properties: { share: { type, "x-mcp-header": "Share" } } } });
    const page = () => ({ tools: [share("integer"), share("number")] });
    const { tools, leftOut } = await (await reading(page, "2026-07-28")).read();
    expect(tools).toEqual([share("integer")]);
    expect(leftOut).toEqual(["number of tools is not as MCP requires: /properties/share/x-mcp-header"]);
    expect((await (await reading(page)).read()).tools).toEqual(page().tools);
  });

  test("may have null in place of members that are absent", async () => {
    const nulls = { title: null, description: null, annotations: null, outputSchema: null, _meta: null };
    const { read } = await reading(() => ({ tools: [{ ...tool("a"), ...nulls }], nextCursor: null }));
    expect(await read()).toMatchObject({ tools: [tool("a")], leftOut: [] });
  });

  test.each([
    ["knows no cursor", ["unknown"], 2],
    ["writes an empty cursor on its only page", [""], 2],
    ["writes an empty cursor on its last page, and takes it for none", ["second", ""], 3],
    ["goes round", ["second", "third", "first"], 4],
  ] as const)("ends where its server begins again: it %s", async (_, cursors, requests) => {
    const around = await reading((page) => {
      const at = (page - 1) % cursors.length;
      return { tools: [tool(`a${at}`)], nextCursor: cursors[at] };
    });
    const { tools, leftOut } = await around.read();
    expect([tools.map(({ name }) => name), leftOut, around.requests()]).toEqual([cursors.map((_each, at) => `a${at}`), [], requests]);
  });

  test("has one cursor for all of its pages, if its server counts them itself", async () => {
    const { read } = await reading((page) => ({ tools: [tool(`a${page}`)], ...(page < 4 && { nextCursor: "more" }) }));
    expect((await read()).tools).toHaveLength(4);
  });

  test("ends after 64 pages with an error", async () => {
    const endless = await reading((page) => ({ tools: [tool(`a${page}`)], nextCursor: String(page % 2) }));
    await expect(endless.read()).rejects.toMatchObject({ code: "LIST_PAGINATION_EXCEEDED" });
    expect(endless.requests()).toBe(64);
  });

  test("ends with an error beyond 16 million characters, and those of items that are left out count", async () => {
    const large = { ...tool("a"), inputSchema: { description: "x".repeat(3_000_000) } };
    const { read, requests } = await reading((page) => ({ tools: [large], nextCursor: String(page) }));
    await expect(read()).rejects.toMatchObject({ code: "LIST_PAGINATION_EXCEEDED" });
    expect(requests()).toBe(6);
  });
});

describe("event types of an upstream whose events/list", () => {
  const KEPT = { name: "kept", inputSchema: {}, payloadSchema: {} };
  const listedType = (name: string) => ({ name, delivery: ["poll"], inputSchema: {}, payloadSchema: {} });

  /** What is listed, and after how long, if the server answers each page so; nothing if that is undefined. */
  async function listing(page: (pages: number) => object | undefined | Promise<object | undefined>) {
    const [upstream] = parseUpstreams(
      "up.json",
      JSON.stringify({ upstreams: [{ name: "up", url: "https://up.example.com", connectTimeout: "300ms" }] }),
    );
    let pages = 0;
    const introduction = { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "up", version: "1" } };
    const transport: Transport = {
      start: async () => undefined,
      close: async () => undefined,
      async send(message) {
        if (!("method" in message && "id" in message)) return;
        const { id, method } = message;
        const said =
          method === "events/list" ? await page((pages += 1)) : { result: method === "tools/list" ? { tools: [tool("a")] } : introduction };
        if (said) setImmediate(() => transport.onmessage?.({ jsonrpc: "2.0", id, ...said } as never));
      },
    };
    const client = new Client({ name: "test", version: "1" });
    await client.connect(transport);
    const session = { client, isStateless: false, hasEvents: true, begin: () => undefined, close: async () => undefined };
    const startedMs = performance.now();
    const { tools, events, leftOut } = await readListing(session, upstream!, { before: async () => ({ events: [KEPT] }) });
    expect(tools.map(({ name }) => name)).toEqual(["a"]);
    // Its own time, and not that of each page.
    expect(performance.now() - startedMs).toBeLessThan(1_500);
    return { names: events.map(({ name }) => name), leftOut };
  }

  test("is answered are those of all of its pages", async () => {
    const pages = await listing((page) => ({
      result: { events: [listedType(`e${page}`)], ...(page < 3 && { nextCursor: String(page) }) },
    }));
    expect(pages).toEqual({ names: ["e1", "e2", "e3"], leftOut: [] });
  });

  const slow = async (page: number) => {
    await new Promise((passed) => setTimeout(passed, 100));
    return { result: { events: [], nextCursor: String(page) } };
  };
  test.each([
    ["hangs", () => undefined, ["kept"], "takes more than 300 ms"],
    ["has pages without an end, each in its time", slow, ["kept"], "takes more than 300 ms"],
    ["cannot be sent", () => Promise.reject(new Error("the connection is gone")), ["kept"], "fails"],
    ["is no list", () => ({ result: { events: 5 } }), ["kept"], "fails"],
    ["fails", () => ({ error: { code: -32_603, message: "secret" } }), ["kept"], "fails with -32603"],
    ["is not known", () => ({ error: { code: -32_601, message: "no" } }), [], "fails with -32601"],
  ])("%s keep its tools from nobody, and are reported", async (_what, page, names, why) => {
    expect(await listing(page)).toEqual({ names, leftOut: [`events are declared, but listing them ${why}`] });
  });
});
