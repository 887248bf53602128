/**
 * A foreign server of 2025-11-25 whose tools run as tasks of SDK 1, with its stores in memory. It forgets everything when it ends.
 *
 *   node session-tasks.ts [port]     prints its address
 *
 *   plain    answers at once, without a task
 *   review   asks twice, one after the other, and ends with the answers
 *   form     asks once, with a form; page: with a page to visit
 *   strike   asks once; after the first question was sent, it kills the process whose id is given in `text`
 *
 * Each effect is a line in the file MARKS. `/open/TEXT` says whether the session is open in which a call came with that text.
 */
import { randomUUID } from "node:crypto";
import { appendFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { InMemoryTaskMessageQueue, InMemoryTaskStore } from "@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { CallToolRequestSchema, ElicitResultSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { createSessionServer } from "../../support/session-server.ts";

const [port = "0"] = process.argv.slice(2);
const mark = (line: string) => appendFileSync(process.env["MARKS"] ?? "/dev/null", `${line}\n`);

const inputSchema = { type: "object", properties: { text: { type: "string" } } } as const;
const requestedSchema = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] } as const;
const text = (said: unknown) => ({ content: [{ type: "text" as const, text: JSON.stringify(said) }] });
const struck = new Set<string>();
/** By the text of the call that came in it. */
const sessionOf = new Map<string, string | undefined>();

/** Kills a process as soon as it has been sent a question of its task: before it can have recorded that. */
class StrikingQueue extends InMemoryTaskMessageQueue {
  override async dequeue(taskId: string): ReturnType<InMemoryTaskMessageQueue["dequeue"]> {
    const queued = await super.dequeue(taskId);
    const { params } = (queued?.message ?? {}) as { params?: { message?: string } };
    const [, pid] = /^strike (\d+)$/.exec(params?.message ?? "") ?? [];
    if (pid !== undefined && !struck.has(pid)) {
      struck.add(pid);
      // Once the question is on its way.
      setImmediate(() => process.kill(Number(pid), "SIGKILL"));
    }
    return queued;
  }
}

function build(): Server {
  const taskStore = new InMemoryTaskStore();
  const server = new Server(
    { name: "session-tasks", version: "1" },
    {
      capabilities: { tools: {}, tasks: { requests: { tools: { call: {} } }, cancel: {} } },
      taskStore,
      taskMessageQueue: new StrikingQueue(),
      defaultTaskPollInterval: 100,
    },
  );
  const asTask = { taskSupport: "required" as const };
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [
      { name: "plain", inputSchema },
      ...["review", "form", "page", "strike", "strike-again"].map((name) => ({ name, inputSchema, execution: asTask })),
    ],
  }));
  server.setRequestHandler(
    CallToolRequestSchema,
    async ({ params: { name, arguments: args, task } }, { sendRequest, sessionId, taskStore: tasks }) => {
      const { text: given } = args ?? {};
      const said = typeof given === "string" ? given : "";
      sessionOf.set(said, sessionId);
      mark(`called ${name} ${said}`);
      if (!task || !tasks) return text(said);
      const { taskId, ...rest } = await tasks.createTask({ ttl: task.ttl ?? null, pollInterval: 100 });
      const ask = async (message: string) => {
        await tasks.updateTaskStatus(taskId, "input_required");
        const page = { mode: "url", message, url: `https://example.com/${said}`, elicitationId: randomUUID() } as const;
        const params = name === "page" ? page : ({ mode: "form", message, requestedSchema } as const);
        const options = { relatedTask: { taskId }, timeout: 600_000 };
        const answer = await sendRequest({ method: "elicitation/create", params }, ElicitResultSchema, options);
        mark(`answered ${message}`);
        await tasks.updateTaskStatus(taskId, "working");
        return answer;
      };
      const work = async () => {
        if (name === "form" || name === "page") {
          const answer = await ask(`Sure of ${said}?`);
          mark(`outcome ${said}`);
          return await tasks.storeTaskResult(taskId, "completed", text({ said, ...answer }));
        }
        const answers = name === "review" ? [await ask(`first of ${said}`), await ask(`second of ${said}`)] : [await ask(`strike ${said}`)];
        await tasks.storeTaskResult(taskId, "completed", text(answers));
      };
      // A task that is cancelled takes no answer and no result.
      void work().catch(async () => {
        const { status } = await tasks.getTask(taskId);
        mark(`${status} ${name} ${said}`);
      });
      return { task: { taskId, ...rest } };
    },
  );
  return server;
}

const { sessions, serve: serveSession } = createSessionServer(build);

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, text] = /^\/open\/(\w+)$/.exec(request.url ?? "") ?? [];
  if (text !== undefined) return void response.end(String(sessions.has(sessionOf.get(text) ?? "")));
  await serveSession(request, response);
}

const http = createServer((request, response) => void serve(request, response));
http.listen(Number(port), "127.0.0.1", () => console.log(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`));
