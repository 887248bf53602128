/**
 * A foreign server with sessions: `@modelcontextprotocol/sdk` 1, as most servers are built. Its tools ask with `elicitation/create` and
 * block.
 *
 *   node classic.ts http [port]     prints its address
 *   node classic.ts stdio
 *
 * Each effect is a line in the file MARKS, so that a test counts what was really done.
 */
import { hash, randomUUID } from "node:crypto";
import { appendFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import {
  CallToolRequestSchema,
  ElicitResultSchema,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListToolsRequestSchema,
  UrlElicitationRequiredError,
} from "@modelcontextprotocol/sdk/types.js";

const [kind = "stdio", port = "0"] = process.argv.slice(2);
const mark = (line: string) => process.env["MARKS"] && appendFileSync(process.env["MARKS"], `${line}\n`);

const STRING = { type: "object", properties: { text: { type: "string" } } } as const;
const CONFIRM = { type: "object", properties: { ok: { type: "boolean", title: "Sure?" } }, required: ["ok"] } as const;
/** As `zodToJsonSchema` writes it, which many servers use. */
const SIZE = {
  $schema: "http://json-schema.org/draft-07/schema#",
  type: "object",
  properties: { size: { type: "integer" } },
  required: ["size"],
} as const;
const tool = (name: string, annotations: object = {}) => ({ name, description: `Does ${name}.`, inputSchema: STRING, annotations });
const TOOLS = [
  {
    ...tool("plain", { readOnlyHint: true }),
    title: "Plain",
    icons: [{ src: "https://example.com/plain.png", mimeType: "image/png" }],
    _meta: { "example.com/kept": { as: "it is" } },
    outputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  },
  tool("pid"),
  tool("confirm"),
  tool("confirm-again", { idempotentHint: true }),
  tool("ask"),
  tool("visit"),
  tool("two"),
  tool("ask-loop", { readOnlyHint: true }),
  tool("impatient"),
  tool("slow"),
  tool("never"),
  tool("hangs-once"),
  tool("die"),
  tool("nested"),
  tool("secret"),
  tool("login"),
  tool("large"),
  tool("ask-large"),
  tool("fails"),
  tool("url-first"),
  tool("capabilities"),
  tool("traced", { readOnlyHint: true }),
  tool("sampled"),
  tool("rooted"),
  tool("form"),
  tool("page"),
];

const TOPIC = { name: "topic", title: "Topic", description: "About what.", required: true };
const PROMPTS = ["about", "asking"].map((name) => ({ name, title: "About", description: `Says ${name}.`, arguments: [TOPIC] }));

const text = (said: unknown) => ({ content: [{ type: "text" as const, text: typeof said === "string" ? said : JSON.stringify(said) }] });
/** How often each visit was required. */
const visits = new Map<string, number>();
const hung = new Set<string>();
let late = 0;

function build(): McpServer {
  const mcp = new McpServer(
    { name: "classic", version: "1" },
    { capabilities: { tools: { listChanged: true }, prompts: { listChanged: true }, logging: {} } },
  );
  const { server } = mcp;
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: late > 0 ? [...TOOLS, tool(`late-${late}`)] : TOOLS }) as never);
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal, sendNotification, _meta }) => {
    const { text: given } = params.arguments ?? {};
    const said = typeof given === "string" ? given : "";
    const elicit = (message: string, requestedSchema: object = CONFIRM, options = {}) =>
      server.request({ method: "elicitation/create", params: { mode: "form", message, requestedSchema } as never }, ElicitResultSchema, {
        timeout: 600_000,
        signal,
        ...options,
      });
    mark(`called ${params.name} ${said}`);
    signal.addEventListener("abort", () => mark(`cancelled ${params.name} ${said}`));
    switch (params.name) {
      case "plain":
        return { ...text(said), structuredContent: { text: said }, _meta: { "example.com/result": true } };
      case "pid":
        return text(process.pid);
      case "confirm":
      case "confirm-again": {
        const answer = await elicit(`Really ${said}?`);
        mark(`answered ${said} ${JSON.stringify(answer)}`);
        return text({ said, ...answer });
      }
      case "ask": {
        const { content } = await elicit(`How many for ${said}?`, SIZE);
        return text(`${said}: ${String(content?.["size"])}`);
      }
      case "form":
      case "page": {
        const url = { mode: "url", message: `Sure of ${said}?`, url: `https://example.com/${said}`, elicitationId: randomUUID() } as const;
        const asked = params.name === "form" ? elicit(`Sure of ${said}?`) : server.elicitInput(url, { timeout: 600_000 });
        const answer = await asked.catch(({ code }: { code?: number }) => ({ refused: code ?? "by the SDK" }));
        mark(`outcome ${said}`);
        return text({ said, ...answer });
      }
      case "visit": {
        const elicitationId = randomUUID();
        const answer = await server.elicitInput({
          mode: "url",
          message: `Visit for ${said}`,
          url: `https://example.com/${said}`,
          elicitationId,
        });
        if (answer.action === "accept") await server.createElicitationCompletionNotifier(elicitationId)();
        return text({ said, ...answer });
      }
      case "two": {
        const answers = await Promise.all([elicit(`first ${said}`), elicit(`second ${said}`)]);
        return text(answers.map(({ content }) => content?.["ok"]));
      }
      case "ask-loop": {
        let asked = 0;
        try {
          for (; asked < 200; asked += 1) await elicit(`${asked}?`);
        } catch (error) {
          return text({ asked, error: (error as Error).message });
        }
        return text({ asked });
      }
      case "impatient":
        try {
          return text(await elicit(`Quick, ${said}?`, CONFIRM, { timeout: Number(said) || 5_000 }));
        } catch (error) {
          return text({ gaveUp: (error as Error).message });
        }
      case "slow":
        await new Promise((resolve) => setTimeout(resolve, Number(said)));
        return text("slept");
      case "never":
        return await new Promise<never>(() => undefined);
      case "hangs-once":
        if (hung.has(said)) return text("here");
        hung.add(said);
        return await new Promise<never>(() => undefined);
      case "die":
        process.exit(1);
        break;
      case "nested":
        return await elicit("Nested?", { type: "object", properties: { a: { type: "object", properties: {} } } }).then(
          text,
          (error: Error) => text({ refused: error.message }),
        );
      case "secret":
        return await elicit("Password?", { type: "object", properties: { password: { type: "string" } } }).then(text, (error: Error) =>
          text({ refused: error.message }),
        );
      case "login": {
        const { action, content } = await elicit("Password?", { type: "object", properties: { password: { type: "string" } } });
        return text({ action, digest: hash("sha256", String(content?.["password"])) });
      }
      case "ask-large":
        return await elicit("x".repeat(1_000_000)).then(text, (error: Error) => text({ refused: error.message.slice(0, 200) }));
      case "large":
        return text("x".repeat(Number(said)));
      case "fails":
        return { ...text("it did not work"), isError: true };
      case "url-first":
        visits.set(said, (visits.get(said) ?? 0) + 1);
        // A person who is slow has not finished when the call is made for the second time.
        if ((visits.get(said) ?? 0) > (said.startsWith("slow") ? 2 : 1)) return text("visited");
        throw new UrlElicitationRequiredError([
          {
            mode: "url",
            message: "Visit first",
            url: `https://example.com/${said}?visit=${visits.get(said)}`,
            elicitationId: randomUUID(),
          },
        ]);
      case "capabilities":
        if (_meta?.progressToken !== undefined) {
          await sendNotification({
            method: "notifications/progress",
            params: { progressToken: _meta.progressToken, progress: 1, message: "half" },
          });
        }
        return text(server.getClientCapabilities() ?? {});
      case "traced":
        return text(_meta?.["traceparent"] ?? "");
      case "sampled":
        return text(await server.createMessage({ maxTokens: 5, messages: [{ role: "user", content: { type: "text", text: said } }] }));
      case "rooted":
        return text(await server.listRoots());
    }
    return { ...text("no such tool"), isError: true };
  });
  server.setRequestHandler(ListPromptsRequestSchema, () => ({ prompts: PROMPTS }));
  server.setRequestHandler(GetPromptRequestSchema, async ({ params: { name, arguments: args } }) => {
    const { topic = "nothing" } = args ?? {};
    const params = { mode: "form", message: `How long about ${topic}?`, requestedSchema: CONFIRM } as never;
    const asked = name === "asking" ? await server.request({ method: "elicitation/create", params }, ElicitResultSchema) : {};
    const said = JSON.stringify({ topic, ...asked });
    return { description: "About a topic", messages: [{ role: "user", content: { type: "text", text: said } }] };
  });
  return mcp;
}

const sessions = new Map<string, { readonly transport: StreamableHTTPServerTransport; readonly mcp: McpServer }>();

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url === "/sessions") return void response.end(String(sessions.size));
  if (request.url?.startsWith("/late/")) {
    late = Number(request.url.split("/")[2]);
    for (const { mcp } of sessions.values()) void mcp.server.sendToolListChanged().catch(() => undefined);
    return void response.end("told");
  }
  const known = sessions.get(String(request.headers["mcp-session-id"]));
  if (known) return await known.transport.handleRequest(request, response);
  const mcp = build();
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void sessions.set(id, { transport, mcp }),
    onsessionclosed: (id) => void sessions.delete(id),
  });
  await mcp.connect(transport as never);
  await transport.handleRequest(request, response);
}

if (kind === "stdio") await build().connect(new StdioServerTransport());
else {
  const http = createServer((request, response) => void serve(request, response));
  http.listen(Number(port), "127.0.0.1", () => console.log(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`));
}
