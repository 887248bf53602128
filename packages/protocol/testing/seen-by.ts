/**
 * For tests: the messages that a client of a revision receives from a tool, with the front ends' encoders and a task of @parley/sdk/testing.
 *
 *   const running = await startTool(bookDinner, { date, time });
 *   expect(seenBy("2025-06-18", running)).toMatchObject([{ method: "elicitation/create", params: { requestedSchema: … } }]);
 *
 * These are the messages that such a client would have received by now if the call were its first request and no connection broke. Values that front
 * ends generate or seal (request ids, `requestState`) are constants.
 */
import { type ClientCapabilities, type FeedItem, isFinished, type LogLevel, type Task } from "@parley/core";
import { capabilityRequired, requiredCapabilities } from "../capabilities.ts";
import type { Encoder } from "../dialect.ts";
import { type RequestId, resultMessage } from "../json-rpc.ts";
import { resultOf } from "../result-of.ts";
import type { ServerFacts } from "../server-facts.ts";
import { elicitationId, SESSION_DIALECTS, type SessionDialect } from "../sessions/index.ts";
import { STATELESS_DIALECTS, type StatelessDialect } from "../stateless/index.ts";
import { SUPPORTED_VERSIONS } from "../versions.ts";

/** A task of @parley/sdk/testing has this shape. */
export interface Played {
  readonly task: Task;
  /** The tool's reports, the oldest first. */
  readonly feed: readonly FeedItem[];
}

/** The kind of client. */
export interface SeenOptions {
  /**
   * `"call"` (the default): the client waits for the answer to its call. `"task"`: it asked for a task, and requests the task's state (`tasks/get`)
   * and, in revisions with sessions, its result (`tasks/result`).
   */
  readonly as?: "call" | "task";
  /** What the client can be asked. Default: everything. */
  readonly capabilities?: ClientCapabilities;
  /** The lowest level of log messages that it wants. Default: all. */
  readonly logLevel?: LogLevel;
}

/** A JSON-RPC message: a notification, a request of the server (`elicitation/create`), or the answer to a request of the client. */
export interface WireMessage {
  readonly jsonrpc: "2.0";
  readonly id?: RequestId;
  readonly method?: string;
  readonly params?: object;
  readonly result?: object;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/**
 * The messages that a client of that revision has received so far: notifications, then questions or the answer. Throws RangeError for a version that
 * is not served, and for `as: "task"` in a revision without tasks.
 */
export function seenBy(version: string, played: Played, options: SeenOptions = {}): readonly WireMessage[] {
  const stateless = STATELESS_DIALECTS.find((dialect) => dialect.version === version);
  if (stateless) return seenWithoutSession(stateless, played, options) as readonly WireMessage[];
  const dialect = SESSION_DIALECTS.find((each) => each.version === version);
  if (dialect) return seenInSession(dialect, played, options) as readonly WireMessage[];
  throw new RangeError(`${JSON.stringify(version)} is not served: it is one of ${SUPPORTED_VERSIONS.join(", ")}`);
}

const FACTS: ServerFacts = { name: "parley", version: "0.0.0", pollInterval: () => 1_000, listTtlMs: 0, pageSize: 100 };
const EVERYTHING: ClientCapabilities = { elicitation: { form: true, url: true }, sampling: { tools: true }, roots: true };
/** Ids of the client's requests: its call, and those about its task. */
const IDS = { call: "call", get: "tasks/get", result: "tasks/result" } as const;
const REQUEST_STATE = "sealed-by-the-front-end";

function seenWithoutSession(
  dialect: StatelessDialect,
  { task, feed }: Played,
  { as = "call", capabilities = EVERYTHING, logLevel = "debug" }: SeenOptions,
): readonly object[] {
  const say = dialect.encoder(FACTS);
  if (as === "task") return [resultMessage(IDS.get, say.detailedTask(task, { capabilities }))];
  const told = notifications(say, feed, { logLevel });
  if (isFinished(task.status)) return [...told, answered(say, task, IDS.call, () => resultOf(task, resultEncoder(say, task)))];
  if (task.asks.length === 0) return told;
  const requests = task.asks.map(({ request }) => request);
  const required = requiredCapabilities(requests, capabilities);
  const ask = () => {
    if (required) throw capabilityRequired(`${task.call.kind} ${task.call.name}`, required);
    return say.inputRequired(task.asks, REQUEST_STATE);
  };
  return [...told, answered(say, task, IDS.call, ask)];
}

function seenInSession(
  dialect: SessionDialect,
  { task, feed }: Played,
  { as = "call", capabilities = EVERYTHING, logLevel = "debug" }: SeenOptions,
): readonly object[] {
  const say = dialect.encoder(FACTS);
  const { tasks } = say;
  if (as === "task" && !tasks) throw new RangeError(`${dialect.version} has no tasks: its clients wait for their calls`);
  const known = as === "task" ? task.id : undefined;
  const questions = task.asks
    .filter(({ request }) => dialect.canAsk(request, capabilities))
    .map((ask) =>
      say.ask(ask, {
        requestId: ask.key,
        elicitationId: elicitationId(task.id, ask.key),
        ...(known !== undefined && { taskId: known }),
      }),
    );
  const sent = [...notifications(say, feed, { logLevel, taskId: known }), ...questions];
  const state = as === "task" && tasks ? [resultMessage(IDS.get, tasks.task(task, capabilities))] : [];
  if (!isFinished(task.status)) return [...state, ...sent];
  const answer =
    as === "task" && tasks
      ? answered(say, task, IDS.result, () => tasks.taskResult(task))
      : answered(say, task, IDS.call, () => resultOf(task, resultEncoder(say, task)));
  return [...state, ...sent, answer];
}

interface Told {
  readonly logLevel: LogLevel;
  /** Set if the client knows the task. */
  readonly taskId?: string | undefined;
}

function notifications(say: Encoder, feed: readonly FeedItem[], { logLevel, taskId }: Told): readonly object[] {
  const wants = { progressToken: IDS.call, logLevel };
  return feed.map((item) => say.feedNotification(item, wants, taskId)).filter((message) => message !== undefined);
}

function resultEncoder(say: Encoder, { call }: Task) {
  return call.kind === "tool" ? say.callResult : say.promptResult;
}

function answered(say: Encoder, { id: taskId }: Task, id: RequestId, result: () => object): object {
  try {
    return resultMessage(id, result());
  } catch (error) {
    return say.failure({ id, error, defectId: taskId }).message;
  }
}
