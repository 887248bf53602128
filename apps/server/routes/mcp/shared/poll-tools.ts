/**
 * The tools of clients that know nothing but tools: one waits for a call that was answered in words, the other lists what is open and takes what the
 * user said. They are answered here, without a task, and each takes a place among the held calls while it waits.
 */
import {
  answerTask,
  type Ask,
  describeProblems,
  findTask,
  type Catalogue,
  fieldsOf,
  getOwnTask,
  isCounted,
  isFinished,
  type JsonObject,
  listAsks,
  noteShown,
  ParleyError,
  readable,
  type Receipt,
  SCOPES,
  type Task,
  type TaskWatch,
  type Tool,
} from "@parley/core";
import { isObject } from "@parley/protocol";
import type { Exchange } from "../../../front-end/exchange.ts";
import type { FrontEnd } from "../../../front-end/front-end.ts";
import type { Gate } from "../../../front-end/gate.ts";
import { requireScopes } from "../../../front-end/protected-resource.ts";
import { untilExpiry } from "../../../front-end/until-expiry.ts";
import { isForModel } from "./asks-for-models.ts";
import { holdOpen } from "./hold-open.ts";
import { increased, stillWaiting } from "./still-waiting.ts";
import { unlessAway } from "./unless-redis-away.ts";
import { askLines, seenIn, waitingResult, waitsForPeople } from "./waiting-text.ts";

/** How long one call waits. Many clients give up a request after a minute. */
const POLL_MS = 50_000;
/** The same for a model that does not say what it has seen: it may be missing a question, and must not poll in a tight loop. */
const BLIND_POLL_MS = 5_000;
/** Questions that one list shows. */
const LISTED_MAX = 20;

/** What a client that knows tools only is offered: its catalogue and these tools. A tool of the deployment with the same name wins. */
export function withPollTools(catalogue: Catalogue, { ladder }: Pick<FrontEnd, "ladder">): Catalogue {
  const own = pollTools(ladder).filter(({ name }) => !catalogue.tools.has(name));
  if (own.length === 0) return catalogue;
  return { ...catalogue, isPrivate: true, tools: new Map([...catalogue.tools, ...own.map((tool) => [tool.name, tool] as const)]) };
}

export type PollAnswer = (args: JsonObject, waits: Pick<Gate, "enter">) => Promise<JsonObject>;

/** How the tool of that name is answered; undefined if it is not one of these. A client that was once told its name may call it on any rung. */
export function pollAnswer(
  route: FrontEnd,
  { name, exchange }: { readonly name: string; readonly exchange: Exchange },
): PollAnswer | undefined {
  const { taskTool, asksTool, rungs } = route.ladder;
  if (!rungs.has("text") || exchange.catalogue.tools.has(name)) return undefined;
  const answer = name === taskTool ? pollTask : name === asksTool ? pollAsks : undefined;
  return (
    answer &&
    (async (args, waits) => {
      try {
        return await answer(route, exchange, args, waits);
      } catch (error) {
        if (error instanceof ParleyError && TOLD.has(error.code)) return toldModel(error.message, true);
        throw error;
      }
    })
  );
}

/** What a model can do something about. Clients do not show it protocol errors. */
const TOLD: ReadonlySet<string> = new Set(["TASK_NOT_FOUND", "NOT_PERMITTED", "INVALID_ARGUMENTS", "INVALID_CURSOR"]);

async function pollTask(route: FrontEnd, exchange: Exchange, args: JsonObject, waits: Pick<Gate, "enter">): Promise<JsonObject> {
  const { services } = route;
  const { caller, catalogue } = exchange;
  allow(route, exchange, [SCOPES.read]);
  const [taskId, seen] = [textOf(args, "taskId"), args["seen"]];
  const task = await holdOpen({ services, waits }, taskId, async (watch) => {
    const found = await getOwnTask(services, { taskId, caller });
    const told = typeof seen === "number" ? { seen, timeoutMs: POLL_MS } : { seen: seenIn(found), timeoutMs: BLIND_POLL_MS };
    return await untilNews(route, exchange, { task: found, watch, ...told });
  });
  const { outcome, call } = task;
  if (outcome?.type === "result" && call.kind === "tool") return outcome.result;
  if (outcome?.type === "error") return toldModel(`${call.name} failed: ${outcome.error.message}`, true);
  if (isFinished(task.status)) return toldModel(`${call.name} was cancelled. There is no result.`, true);
  // This tool promises no structure, whatever the called one does.
  const { annotations } = catalogue.tools.get(call.name) ?? {};
  return waitingResult(route, exchange, {
    task,
    tool: catalogue.tools.has(call.name) ? { ...(annotations && { annotations }) } : undefined,
  });
}

interface Watched {
  readonly task: Task;
  readonly watch: TaskWatch;
  /** See `seenIn`. */
  readonly seen: number;
  readonly timeoutMs: number;
}

/** Waits until the task has ended or asks something that its client has not seen, the client leaves, or the time is over. */
async function untilNews(
  route: FrontEnd,
  { caller, channel, wants, encode }: Exchange,
  { task, watch, seen: told, timeoutMs }: Watched,
): Promise<Task> {
  const { services, heartbeat, times } = route;
  const ends = untilExpiry(route, caller);
  let isOver = false;
  let progress: number | undefined;
  const stop = () => {
    isOver = true;
    watch.wake();
  };
  const stops = [
    services.clock.after(timeoutMs, stop),
    services.clock.after(times.streamAfterMs, () => void (channel.acceptsStream && channel.open())),
    heartbeat.onBeat(() => {
      const notification = channel.acceptsStream ? encode.feedNotification(increased(stillWaiting(progress), progress), wants) : undefined;
      if (!notification) return;
      ({ progress } = stillWaiting(progress));
      channel.send(notification);
    }),
  ];
  channel.closed.addEventListener("abort", stop);
  ends.ending.addEventListener("abort", stop);
  let seen = task;
  try {
    if (channel.closed.aborted || ends.ending.aborted) return seen;
    while (!isFinished(seen.status) && !(waitsForPeople(seen) && seenIn(seen) > told)) {
      await watch.next(seen.revision);
      if (isOver) break;
      const read = await unlessAway(async () => ({ now: await findTask(services, { taskId: task.id, caller }) }));
      if (read && !read.now) throw new ParleyError("TASK_NOT_FOUND", "the task is no longer stored");
      seen = read?.now ? readable(read.now) : seen;
    }
    return seen;
  } finally {
    for (const each of stops) each();
    channel.closed.removeEventListener("abort", stop);
    ends.ending.removeEventListener("abort", stop);
    ends.release();
  }
}

async function pollAsks(route: FrontEnd, exchange: Exchange, args: JsonObject, waits: Pick<Gate, "enter">): Promise<JsonObject> {
  const leave = waits.enter();
  try {
    const isAnswer = args["taskId"] !== undefined || args["question"] !== undefined || args["answer"] !== undefined;
    return isAnswer ? await passOn(route, exchange, args) : await listOpen(route, exchange);
  } finally {
    leave();
  }
}

async function listOpen(route: FrontEnd, exchange: Exchange): Promise<JsonObject> {
  const { services, ladder } = route;
  const { caller, catalogue } = exchange;
  allow(route, exchange, [SCOPES.read]);
  const { asks: found, nextCursor } = await listAsks(services, { caller, limit: LISTED_MAX });
  if (found.length === 0) return toldModel("No question is open for the user.");
  const tasks = new Map(
    await Promise.all([...new Set(found.map(({ taskId }) => taskId))].map(async (id) => [id, await services.store.load(id)] as const)),
  );
  const parts = found.flatMap(({ taskId, key }) => {
    const task = tasks.get(taskId);
    const ask = task?.asks.find((open) => open.key === key);
    if (!task || !ask) return [];
    noteShown(services, exchange, task, [ask]);
    return [[`${task.call.name} asks:`, ...askLines(task, ask, ladder), ...howToPassOn(task, ask, catalogue)].join("\n")];
  });
  return toldModel(
    [
      `${parts.length}${nextCursor === undefined ? "" : " or more"} open. Show them to the user. Only a person can answer. Do not answer yourself. Do not guess.`,
      ...parts,
    ].join("\n\n"),
  );
}

/** What to send for a question that the user may answer in the chat; empty for any other. */
function howToPassOn(task: Task, ask: Ask, { tools }: Catalogue): string[] {
  if (ask.request.type !== "form" || !isForModel(ask, tools.get(task.call.name))) return ["The user answers on the page only."];
  const fields = fieldsOf(ask.request.schema).map(({ name, label, kind, isRequired, choices }) => {
    const values =
      choices.length === 0
        ? ""
        : `: one of ${choices
            .slice(0, 20)
            .map(({ value }) => JSON.stringify(value))
            .join(", ")}`;
    return `${JSON.stringify(name)} (${label}, ${kind}${isRequired ? "" : ", may be left out"}${values})`;
  });
  return [
    `If the user says the answer in this chat, send taskId ${JSON.stringify(task.id)}, question ${JSON.stringify(ask.key)}, and an answer with the fields ${fields.join("; ")}.`,
  ];
}

async function passOn(route: FrontEnd, exchange: Exchange, args: JsonObject): Promise<JsonObject> {
  const { services, rates } = route;
  const { caller, catalogue, door } = exchange;
  allow(route, exchange, [SCOPES.read, SCOPES.answer]);
  if (isCounted(caller)) await rates.take(caller, { answers: 1 });
  const [taskId, key] = [textOf(args, "taskId"), textOf(args, "question")];
  const { answer: content } = args;
  if (!isObject(content)) throw new ParleyError("INVALID_ARGUMENTS", "answer must be an object with the fields of the question");
  const task = await getOwnTask(services, { taskId, caller });
  const ask = task.asks.find((open) => open.key === key);
  if (!ask) return toldModel("This question is not open. Call this tool without arguments to see what is open.", true);
  if (!isForModel(ask, catalogue.tools.get(task.call.name))) {
    return toldModel("A model must not pass on the answer to this question. The user answers it on its page.", true);
  }
  const { receipts } = await answerTask(services, { taskId, caller, door, replies: { [key]: { action: "accept", content } } });
  const receipt = receipts.get(key);
  return toldModel(receiptText(receipt), !(receipt?.type === "accepted" || receipt?.type === "duplicate"));
}

function receiptText(receipt: Receipt | undefined): string {
  switch (receipt?.type) {
    case "accepted":
    case "duplicate":
      return "The answer was taken.";
    case "invalid":
      return `The answer was not taken: ${describeProblems(receipt.violations)}. Ask the user again. Do not guess.`;
    case "late":
      return "Too late: somebody else has answered, or the question is over.";
    case "forbidden":
      return "The question is for other people.";
    default:
      return "This question is not open.";
  }
}

function toldModel(text: string, isError = false): JsonObject {
  return { content: [{ type: "text", text }], ...(isError && { isError }) };
}

function allow({ resource }: FrontEnd, { caller, method }: Exchange, scopes: readonly string[]): void {
  if (resource) requireScopes(caller, scopes, method);
}

function textOf(args: JsonObject, name: string): string {
  const { [name]: value } = args;
  if (typeof value === "string" && value.length > 0 && value.length <= TEXT_CHARS_MAX) return value;
  throw new ParleyError("INVALID_ARGUMENTS", `${name} must be a text, as it was given`);
}

const TEXT_CHARS_MAX = 500;

function pollTools({ taskTool, asksTool }: FrontEnd["ladder"]): readonly Tool[] {
  return [
    ...(taskTool === undefined
      ? []
      : [
          listed(taskTool, {
            title: "Wait for a call",
            description:
              "Waits up to 50 seconds for a call that was NOT FINISHED, and returns its result. If it is still not finished, it says what is open. Then call it again, or ask the user.",
            properties: {
              taskId: { type: "string", description: "The taskId from the text of the call." },
              seen: { type: "integer", description: "The number seen from the last text." },
            },
            required: ["taskId"],
            annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
          }),
        ]),
    ...(asksTool === undefined
      ? []
      : [
          listed(asksTool, {
            title: "Open questions",
            description:
              "Without arguments: lists the questions that are open for the user. With all arguments: passes on what the user said. Use only the user's own words. Never answer yourself. Never guess.",
            properties: {
              taskId: { type: "string", description: "The taskId from the list." },
              question: { type: "string", description: "The question from the list." },
              answer: { type: "object", description: "What the user said, by the names of the fields." },
            },
            required: [],
            annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
          }),
        ]),
  ];
}

interface Listed {
  readonly title: string;
  readonly description: string;
  readonly properties: JsonObject;
  readonly required: readonly string[];
  readonly annotations: JsonObject;
}

/** As lists show it. Nothing runs it: `pollAnswer` answers its calls. */
function listed(name: string, { title, description, properties, required, annotations }: Listed): Tool {
  return {
    kind: "tool",
    name,
    title,
    description,
    inputSchema: { type: "object", properties, ...(required.length > 0 && { required: [...required] }) },
    annotations,
    task: "never",
    askFirst: false,
    earlyReplies: false,
    needs: {},
    settings: { attempts: 1, backoffMs: 0, runTimeoutMs: POLL_MS },
    readArguments: (args) => ({ ok: true, args }),
    run: async () => {
      throw new Error(`${name} has no task`);
    },
  };
}
