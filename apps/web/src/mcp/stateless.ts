/** 2026-07-28: there are no sessions. Every request names its client and the client's capabilities. */
import type { JsonObject } from "@parley/core/form";
import { filled } from "../../texts/words.ts";
import { TEXTS } from "../play-texts.ts";
import { type Endpoint, headerValue, type Message, request as sendRequest, RpcError } from "../wire/endpoint.ts";
import { paramHeaders } from "./param-headers.ts";
import { allPages, backoff, callThenFollow, endOf, isPassing, nothingKept, pause, problemIn, questionOf, outcomeOf } from "./shared.ts";
import {
  type Call,
  CLIENT_INFO,
  type Dialect,
  ELICITATION,
  type Question,
  type Reply,
  type Running,
  type Status,
  type ReplyOutcome,
  type CallListener,
  type Tool,
} from "./types.ts";

const REVISION = "2026-07-28";
const TASKS = "io.modelcontextprotocol/tasks";
/** A reply that is not refused within this time counts as accepted: the response arrives only when the tool ends or asks again. */
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

/** Follows tasks with the tasks extension: the server pushes their states on a stream, which can be reopened at any front end. */
export function statelessTasks(endpoint: Endpoint): Dialect {
  const { ask, listTools } = client(endpoint, true);
  const onTask = (method: string, taskId: string, params: object = {}) => ask({ method, params: { taskId, ...params }, name: taskId });

  function follow(taskId: string, listener: CallListener): Running {
    const left = new AbortController();
    let over = false;

    function apply(task: Record<string, unknown>): void {
      if (over || task["taskId"] !== taskId) return;
      const status = task["status"] as Status;
      listener.state(status, task["statusMessage"] as string | undefined);
      listener.questions(questionsIn(task["inputRequests"]));
      if (status === "working" || status === "input_required") return;
      over = true;
      if (status === "completed") listener.ended({ type: "result", result: (task["result"] ?? {}) as Record<string, unknown> });
      else if (status === "cancelled") listener.ended({ type: "cancelled" });
      else listener.ended(endOf(new RpcError(task["error"] as never, 200)));
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
      const attempts = backoff(endpoint);
      while (!over && !left.signal.aborted) {
        try {
          listener.connected(true);
          await listen();
          attempts.succeeded();
        } catch (error) {
          if (left.signal.aborted) return;
          if (!isPassing(error)) {
            over = true;
            return listener.ended(endOf(error));
          }
          listener.connected(false);
        }
        if (!over) await attempts.wait(left.signal);
      }
    }

    void keepListening();
    return {
      async answer(key, reply): Promise<ReplyOutcome> {
        try {
          const { _meta: meta } = await onTask("tasks/update", taskId, { inputResponses: { [key]: reply } });
          const receipts = (meta as Record<string, Record<string, string> | undefined> | undefined)?.["parley/receipts"];
          const receipt = receipts?.[key];
          return { type: receipt === "late" || receipt === "unknown" ? "late" : "accepted" };
        } catch (error) {
          return outcomeOf(error);
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
    title: filled(TEXTS.withTasks, { version: "2026-07-28" }),
    note: TEXTS.statelessTasks,
    hasTasks: true,
    listTools,
    follow,
    resume: () => nothingKept(),
    call({ tool, args }, listener) {
      const call = { method: "tools/call", name: tool.name, headers: paramHeaders(tool.inputSchema, args) };
      return callThenFollow(listener, {
        call: (signal) => ask({ ...call, params: { name: tool.name, arguments: args }, signal }),
        handleIn: (result) => (result["resultType"] === "task" ? String(result["taskId"]) : undefined),
        follow,
      });
    },
  };
}

/** The state from which a call without a task continues: the call is repeated with the answers. */
interface Kept {
  readonly name: string;
  readonly arguments: JsonObject;
  readonly headers: Readonly<Record<string, string>>;
  readonly requestState?: string;
  readonly inputRequests?: InputRequests;
}

/** Questions are the response to the call, which is then repeated with the answers. */
export function statelessCalls(endpoint: Endpoint): Dialect {
  const { ask, listTools } = client(endpoint, false);

  function run(kept: Kept, listener: CallListener): Running {
    const left = new AbortController();
    let state = kept;
    let cancelled = false;
    /** One retry at a time: each needs the state that the previous one returned. */
    let last: Promise<unknown> = Promise.resolve();

    async function send(inputResponses?: Readonly<Record<string, Reply>>): Promise<void> {
      const { name, arguments: args, headers, requestState } = state;
      const attempts = backoff(endpoint);
      for (;;) {
        try {
          listener.connected(true);
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
            onMessage: ({ method, params }) => method !== undefined && listener.notice({ method, params: params ?? {} }),
          });
          return apply(result);
        } catch (error) {
          if (left.signal.aborted) return;
          // The server has read no answer that is larger than it accepts: the question is still open.
          if (inputResponses && error instanceof RpcError && error.httpStatus === 413) {
            show();
            throw error;
          }
          // Without a state, the call ended with its connection and cannot be resumed.
          if (requestState === undefined || !isPassing(error)) return end(() => listener.ended(endOf(error)));
          listener.connected(false);
          await attempts.wait(left.signal);
        }
      }
    }

    function end(tell: () => void): void {
      listener.keep(undefined);
      listener.questions([]);
      tell();
    }

    function apply(result: Record<string, unknown>): void {
      if (result["resultType"] !== "input_required") {
        return end(() => {
          listener.state(result["isError"] === true ? "failed" : "completed");
          listener.ended({ type: "result", result });
        });
      }
      const { requestState, inputRequests } = result as { requestState?: string; inputRequests?: InputRequests };
      const { requestState: _, inputRequests: __, ...call } = state;
      state = { ...call, ...(requestState !== undefined && { requestState }), ...(inputRequests && { inputRequests }) };
      listener.keep(state as unknown as JsonObject);
      show();
      // The server asks nothing and only returned a state: repeat the call to receive the result.
      if (!inputRequests && requestState !== undefined) void (last = send());
    }

    function show(): void {
      const open = questionsIn(state.inputRequests);
      listener.state(open.length > 0 ? "input_required" : "working");
      listener.questions(open);
    }

    if (state.requestState !== undefined) listener.keep(state as unknown as JsonObject);
    if (state.inputRequests) show();
    else void (last = send());
    return {
      async answer(key, reply): Promise<ReplyOutcome> {
        const sent = last.then(() => send({ [key]: reply }));
        last = sent.catch(() => undefined);
        listener.state("working");
        await Promise.race([sent, pause(REFUSED_WITHIN_MS)]);
        const again = questionsIn(state.inputRequests).find(({ id }) => id === key);
        const problem = again && problemIn(again.message);
        return problem === undefined ? { type: "accepted" } : { type: "refused", message: `refused: ${problem}`, violations: [] };
      },
      async cancel() {
        if (cancelled) return;
        cancelled = true;
        left.abort();
        end(() => listener.ended({ type: "cancelled" }));
      },
      leave: () => left.abort(),
    };
  }

  return {
    id: "2026-07-28",
    title: "2026-07-28",
    note: TEXTS.stateless,
    hasTasks: false,
    listTools,
    follow: () => nothingKept(),
    resume: (kept, listener) => run(kept as unknown as Kept, listener),
    call: ({ tool, args }: Call, listener) =>
      run({ name: tool.name, arguments: args, headers: paramHeaders(tool.inputSchema, args) }, listener),
  };
}
