/** 2026-07-28: no sessions. Every request says who sends it and what it can be asked. */
import type { JsonObject } from "@parley/core/form";
import { type Endpoint, headerValue, type Message, request as sendRequest, RpcError } from "../wire/endpoint.ts";
import { paramHeaders } from "./param-headers.ts";
import { allPages, backoff, endOf, isPassing, pause, problemIn, questionOf, takenOf } from "./shared.ts";
import {
  type Call,
  CLIENT_INFO,
  type Dialect,
  ELICITATION,
  type Question,
  type Reply,
  type Running,
  type Status,
  type Taken,
  type Told,
  type Tool,
} from "./types.ts";

const REVISION = "2026-07-28";
const TASKS = "io.modelcontextprotocol/tasks";
/** A reply that was not refused within this time was taken: the answer to it comes when the tool is done, or asks again. */
const REFUSED_WITHIN_MS = 800;

let ids = 0;

interface Ask {
  readonly method: string;
  readonly params: object;
  readonly name?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly meta?: object;
  readonly signal?: AbortSignal;
  readonly onMessage?: (message: Message) => void;
}

function client(endpoint: Endpoint, speaksTasks: boolean) {
  const capabilities = { ...ELICITATION, ...(speaksTasks && { extensions: { [TASKS]: {} } }) };

  async function ask({ method, params, name, headers, meta, ...rest }: Ask): Promise<Record<string, unknown>> {
    const { result } = await sendRequest(endpoint, {
      ...rest,
      id: (ids += 1),
      method,
      params: {
        ...params,
        _meta: {
          "io.modelcontextprotocol/protocolVersion": REVISION,
          "io.modelcontextprotocol/clientInfo": CLIENT_INFO,
          "io.modelcontextprotocol/clientCapabilities": capabilities,
          ...meta,
        },
      },
      headers: {
        "mcp-protocol-version": REVISION,
        "mcp-method": method,
        ...(name !== undefined && { "mcp-name": headerValue(name) }),
        ...headers,
      },
    });
    return result;
  }

  return {
    ask,
    listTools: () => allPages<Tool>((cursor) => ask({ method: "tools/list", params: cursor === undefined ? {} : { cursor } }), "tools"),
  };
}

type InputRequests = Readonly<Record<string, { readonly method?: unknown; readonly params?: unknown }>>;

function questionsIn(requests: unknown): Question[] {
  return Object.entries((requests ?? {}) as InputRequests).flatMap(([key, asked]) => questionOf(key, asked) ?? []);
}

/** Task and questions by the tasks extension: its states are pushed on a stream, which any front end can open again. */
export function statelessTasks(endpoint: Endpoint): Dialect {
  const { ask, listTools } = client(endpoint, true);
  const onTask = (method: string, taskId: string, params: object = {}) => ask({ method, params: { taskId, ...params }, name: taskId });

  function follow(taskId: string, told: Told): Running {
    const left = new AbortController();
    let over = false;

    function apply(task: Record<string, unknown>): void {
      if (over || task["taskId"] !== taskId) return;
      const status = task["status"] as Status;
      told.state(status, task["statusMessage"] as string | undefined);
      told.questions(questionsIn(task["inputRequests"]));
      if (status === "working" || status === "input_required") return;
      over = true;
      if (status === "completed") told.ended({ type: "result", result: (task["result"] ?? {}) as Record<string, unknown> });
      else if (status === "cancelled") told.ended({ type: "cancelled" });
      else told.ended(endOf(new RpcError(task["error"] as never, 200)));
      left.abort();
    }

    async function listen(): Promise<void> {
      apply(await onTask("tasks/get", taskId));
      if (over) return;
      const params = { notifications: { taskIds: [taskId] } };
      const onMessage = ({ method, params: said }: Message) => method === "notifications/tasks" && said && apply(said);
      await ask({ method: "subscriptions/listen", params, signal: left.signal, onMessage });
    }

    async function keepListening(): Promise<void> {
      const attempts = backoff();
      while (!over && !left.signal.aborted) {
        try {
          told.connected(true);
          await listen();
          attempts.succeeded();
        } catch (error) {
          if (left.signal.aborted) return;
          if (!isPassing(error)) {
            over = true;
            return told.ended(endOf(error));
          }
          told.connected(false);
        }
        if (!over) await attempts.wait(left.signal);
      }
    }

    void keepListening();
    return {
      async answer(key, reply): Promise<Taken> {
        try {
          const { _meta: meta } = await onTask("tasks/update", taskId, { inputResponses: { [key]: reply } });
          const receipts = (meta as Record<string, Record<string, string> | undefined> | undefined)?.["parley/receipts"];
          const receipt = receipts?.[key];
          return { type: receipt === "late" || receipt === "unknown" ? "late" : "taken" };
        } catch (error) {
          return takenOf(error);
        }
      },
      async cancel() {
        await onTask("tasks/cancel", taskId);
      },
      leave: () => left.abort(),
    };
  }

  return {
    id: "2026-07-28+tasks",
    title: "2026-07-28, tasks",
    note: "Stateless, with the tasks extension: the call returns a task, questions come with its state.",
    hasTasks: true,
    listTools,
    follow,
    resume: () => nothingKept(),
    call({ tool, args }, told) {
      const left = new AbortController();
      let running: Running | undefined;
      const params = { name: tool.name, arguments: args };
      ask({ method: "tools/call", params, name: tool.name, headers: paramHeaders(tool.inputSchema, args), signal: left.signal }).then(
        (result) => {
          if (result["resultType"] !== "task") return told.ended({ type: "result", result });
          const taskId = String(result["taskId"]);
          told.handle(taskId);
          running = follow(taskId, told);
        },
        (error: unknown) => left.signal.aborted || told.ended(endOf(error)),
      );
      return {
        answer: async (id, reply) => (running ? await running.answer(id, reply) : { type: "late" }),
        cancel: async () => await running?.cancel(),
        leave() {
          left.abort();
          running?.leave();
        },
      };
    },
  };
}

/** What a call without a handle continues from: sent again, with the answers. */
interface Kept {
  readonly name: string;
  readonly arguments: JsonObject;
  readonly headers: Readonly<Record<string, string>>;
  readonly requestState?: string;
  readonly inputRequests?: InputRequests;
}

/** Questions are the answer to the call itself, which is sent again with theirs. */
export function statelessCalls(endpoint: Endpoint): Dialect {
  const { ask, listTools } = client(endpoint, false);

  function run(kept: Kept, told: Told): Running {
    const left = new AbortController();
    let state = kept;
    let cancelled = false;
    /** One retry at a time: each needs the state that the one before came back with. */
    let last: Promise<unknown> = Promise.resolve();

    async function send(inputResponses?: Readonly<Record<string, Reply>>): Promise<void> {
      const { name, arguments: args, headers, requestState } = state;
      const attempts = backoff();
      for (;;) {
        try {
          told.connected(true);
          const result = await ask({
            method: "tools/call",
            name,
            headers,
            params: {
              name,
              arguments: args,
              ...(requestState !== undefined && { requestState }),
              ...(inputResponses && { inputResponses }),
            },
            meta: { progressToken: `call-${ids}`, "io.modelcontextprotocol/logLevel": "debug" },
            signal: left.signal,
            onMessage: ({ method, params }) => method !== undefined && told.notice({ method, params: params ?? {} }),
          });
          return apply(result);
        } catch (error) {
          if (left.signal.aborted) return;
          // Without a state nothing leads back to the call, which ended with its connection.
          if (requestState === undefined || !isPassing(error)) return end(() => told.ended(endOf(error)));
          told.connected(false);
          await attempts.wait(left.signal);
        }
      }
    }

    function end(tell: () => void): void {
      told.keep(undefined);
      told.questions([]);
      tell();
    }

    function apply(result: Record<string, unknown>): void {
      if (result["resultType"] !== "input_required") {
        return end(() => {
          told.state(result["isError"] === true ? "failed" : "completed");
          told.ended({ type: "result", result });
        });
      }
      const { requestState, inputRequests } = result as { requestState?: string; inputRequests?: InputRequests };
      const { requestState: _, inputRequests: __, ...call } = state;
      state = { ...call, ...(requestState !== undefined && { requestState }), ...(inputRequests && { inputRequests }) };
      told.keep(state as unknown as JsonObject);
      show();
      // It was handed over: nothing is asked, and the call comes back for what became of it.
      if (!inputRequests && requestState !== undefined) void (last = send());
    }

    function show(): void {
      const open = questionsIn(state.inputRequests);
      told.state(open.length > 0 ? "input_required" : "working");
      told.questions(open);
    }

    if (state.requestState !== undefined) told.keep(state as unknown as JsonObject);
    if (state.inputRequests) show();
    else void (last = send());
    return {
      async answer(key, reply): Promise<Taken> {
        const sent = last.then(() => send({ [key]: reply }));
        last = sent;
        told.state("working");
        await Promise.race([sent, pause(REFUSED_WITHIN_MS)]);
        const again = questionsIn(state.inputRequests).find(({ id }) => id === key);
        const problem = again && problemIn(again.message);
        return problem === undefined ? { type: "taken" } : { type: "refused", message: `refused: ${problem}`, violations: [] };
      },
      async cancel() {
        if (cancelled) return;
        cancelled = true;
        left.abort();
        end(() => told.ended({ type: "cancelled" }));
      },
      leave: () => left.abort(),
    };
  }

  return {
    id: "2026-07-28",
    title: "2026-07-28",
    note: "Stateless, without tasks: a question answers the call, which is sent again with what the person said.",
    hasTasks: false,
    listTools,
    follow: () => nothingKept(),
    resume: (kept, told) => run(kept as unknown as Kept, told),
    call: ({ tool, args }: Call, told) => run({ name: tool.name, arguments: args, headers: paramHeaders(tool.inputSchema, args) }, told),
  };
}

function nothingKept(): never {
  throw new Error("this dialect has no such call to come back to");
}
