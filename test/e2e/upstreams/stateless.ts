/** A foreign server of 2026-07-28: `@modelcontextprotocol/server` 2, whose tools ask with `input_required` and hold nothing. */
import { appendFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { acceptedContent, createMcpHandler, inputRequired, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";

const mark = (line: string) => process.env["MARKS"] && appendFileSync(process.env["MARKS"], `${line}\n`);
const text = (said: string) => ({ content: [{ type: "text" as const, text: said }] });

const handler = createMcpHandler(() => {
  const server = new McpServer({ name: "stateless", version: "2" });
  server.registerTool("echo", { description: "Echoes.", inputSchema: z.object({ text: z.string() }) }, ({ text: said }) => text(said));
  server.registerTool("deploy", { description: "Deploys.", inputSchema: z.object({ text: z.string() }) }, ({ text: said }, ctx) => {
    const { inputResponses } = ctx.mcpReq;
    mark(`called deploy ${said}`);
    if (inputResponses === undefined) {
      return inputRequired({
        inputRequests: {
          confirm: inputRequired.elicit({ message: `Deploy ${said}?`, requestedSchema: z.object({ ok: z.boolean() }) as never }),
        },
        requestState: `state of ${said}`,
      });
    }
    const content = acceptedContent(inputResponses, "confirm");
    return text(JSON.stringify({ said, state: ctx.mcpReq.requestState(), response: inputResponses["confirm"], content }));
  });
  const asks = {
    form: (message: string) => inputRequired.elicit({ message, requestedSchema: z.object({ ok: z.boolean() }) as never }),
    page: (message: string, said: string) => inputRequired.elicitUrl({ message, url: `https://example.com/${said}` }),
  };
  for (const [name, ask] of Object.entries(asks)) {
    server.registerTool(name, { description: "Asks.", inputSchema: z.object({ text: z.string() }) }, ({ text: said }, ctx) => {
      const answer = ctx.mcpReq.inputResponses?.["only"];
      if (!answer) return inputRequired({ inputRequests: { only: ask(`Sure of ${said}?`, said) }, requestState: said });
      mark(`outcome ${said}`);
      return text(JSON.stringify({ said, ...answer }));
    });
  }
  return server;
});

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

const http = createServer((incoming, outgoing) => {
  void (async () => {
    const { method = "GET", url = "/", headers } = incoming;
    const body = method === "POST" ? await bodyOf(incoming) : undefined;
    const request = new Request(new URL(url, "http://localhost"), {
      method,
      headers: headers as Record<string, string>,
      ...(body !== undefined && { body }),
    });
    const response = await handler.fetch(request);
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    for await (const chunk of response.body ?? []) outgoing.write(chunk);
    outgoing.end();
  })();
});
http.listen(Number(process.argv[2] ?? 0), "127.0.0.1", () => console.log(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`));
