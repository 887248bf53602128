/**
 * The tools of clients that know nothing but tools: one waits for a call that was answered in words, the other lists what is open and takes what the
 * user said. They are answered here, without a task, and each takes a place among the held calls while it waits.
 */
import {
  type Ask,
  assuranceRefusal,
  canBeAsked,
  declareUnavailable,
  describeProblems,
  findTask,
  type Catalogue,
  fieldsOf,
  getOwnTask,
  isFinished,
  isForClientOnly,
  type JsonObject,
  listAsks,
  noteShown,
  owns,
  ParleyError,
  readable,
  SCOPES,
  type SettledRead,
  type Task,
  type TaskWatch,
  toolNameOf,
  type Tool,
  whoIs,
} from "@parley/core";
import { isInWords, type Rung, RUNGS } from "@parley/protocol";
import type { Exchange } from "../../../front-end/exchange.ts";
import type { FrontEnd } from "../../../front-end/front-end.ts";
import type { Gate } from "../../../front-end/gate.ts";
import type { Ladder } from "../../../front-end/ladder.ts";
import { untilExpiry } from "../../../front-end/until-expiry.ts";
import { APP_ONLY } from "./ask-view.ts";
import { isForModel } from "./asks-for-models.ts";
import { holdOpen } from "./hold-open.ts";
import { allow, type Became, readAnswer, takeAnswer, textOf } from "./model-answers.ts";
import { increased, stillWaiting } from "./still-waiting.ts";
import { unlessAway } from "./unless-redis-away.ts";
import { ANSWER_TOOL } from "./view-tools.ts";
import { askLines, seenIn, waitingResult, waitsForPeople } from "./waiting-text.ts";

/** How long one call waits. Many clients give up a request after a minute. */
const POLL_MS = 50_000;
/**
 * The same for a model that does not say what it has seen, or always says the same: it may be missing a question, and must not poll in a tight loop.
 */
const BLIND_POLL_MS = 5_000;
/** Questions that one list shows. */
const LISTED_MAX = 20;

export interface InWords {
  readonly ladder: Ladder;
  readonly rung: "apps" | "text";
}

/** What a client that is told in words is offered: its catalogue and these tools. A tool of the deployment with the same name wins. */
export function withPollTools(catalogue: Catalogue, { ladder, rung }: InWords): Catalogue {
  const own = [...pollTools(ladder), ...(rung === "apps" && ladder.asksTool !== undefined ? [answerTool()] : [])].filter(
    ({ name }) => !catalogue.tools.has(name),
  );
  if (own.length === 0) return catalogue;
  return { ...catalogue, isPrivate: true, tools: new Map([...catalogue.tools, ...own.map((tool) => [tool.name, tool] as const)]) };
}

interface PollCall {
  readonly name: string;
  readonly exchange: Exchange;
  /** Of a call that asks; what is open is told as it is on that rung. */
  readonly rung: Rung | undefined;
}

export type PollAnswer = (args: JsonObject, waits: Pick<Gate, "enter">) => Promise<JsonObject>;

/** How the tool of that name is answered; undefined if it is not one of these. A client that was once told its name may call it on any rung. */
export function pollAnswer(route: FrontEnd, { name, exchange, rung }: PollCall): PollAnswer | undefined {
  const { taskTool, asksTool, rungs } = route.ladder;
  if (!RUNGS.some((each) => isInWords(each) && rungs.has(each)) || exchange.catalogue.tools.has(name)) return undefined;
  const answer =
    name === taskTool
      ? pollTask(rung)
      : name === asksTool
        ? pollAsks
        : name === ANSWER_TOOL && rungs.has("apps") && asksTool !== undefined
          ? answerInView
          : undefined;
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

type Answering = (route: FrontEnd, exchange: Exchange, ...call: Parameters<PollAnswer>) => Promise<JsonObject>;

const pollTask =
  (rung: Rung | undefined): Answering =>
  async (route, exchange, args, waits) => {
    const { services } = route;
    const { caller, catalogue } = exchange;
    allow(route, exchange, [SCOPES.read]);
    const [taskId, seen] = [textOf(args, "taskId"), args["seen"]];
    const task = await holdOpen({ services, waits }, taskId, async (watch) => {
      const found = await getOwnTask(services, { taskId, caller });
      const isBlind = typeof seen !== "number" || isStale(found, { seen, nowMs: services.clock.now() });
      const told = isBlind ? { seen: seenIn(found), timeoutMs: BLIND_POLL_MS } : { seen, timeoutMs: POLL_MS };
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
      rung,
    });
  };

/** Whether what the model has not seen is open so long that it was probably told, and says the wrong number. */
function isStale({ asks, asksOfOthers = [] }: Task, { seen, nowMs }: { readonly seen: number; readonly nowMs: number }): boolean {
  const unseen = [...asks, ...asksOfOthers].filter(({ since }) => (since?.revision ?? 0) > seen);
  return unseen.length > 0 && unseen.every(({ askedAtMs }) => nowMs - askedAtMs > BLIND_POLL_MS);
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
  { caller, door, channel, wants, encode }: Exchange,
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
  // A run that began before the call was told in words, and its task got a handle, asks for the model or the folders of a client that declared
  // none: it took them for the front end's to end, whose call is over.
  const endInVain = async () => {
    if (seen.call.hidden) return;
    const asks = seen.asks.filter(({ request }) => isForClientOnly(request) && !canBeAsked(request, seen.call.capabilities));
    for (const { key } of asks) await declareUnavailable(services, { taskId: task.id, caller, door, key });
  };
  try {
    if (channel.closed.aborted || ends.ending.aborted) return seen;
    while (!isFinished(seen.status) && !(waitsForPeople(seen) && seenIn(seen) > told)) {
      await unlessAway(endInVain);
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
    const name = owns(caller, task.call) ? undefined : whoIs(task.call.caller ?? {});
    const whose = name === undefined ? "" : `, in a call of ${name}`;
    return [[`${toolNameOf(task.call)} asks${whose}:`, ...askLines(task, ask, ladder), ...howToPassOn(task, ask, catalogue)].join("\n")];
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
  const became = await takeAnswer(route, exchange, readAnswer(args));
  return toldModel(becameText(became), !isTaken(became));
}

/** As the view reads it: `receipt`, and what was wrong with each field or who was first. */
async function answerInView(route: FrontEnd, exchange: Exchange, args: JsonObject, waits: Pick<Gate, "enter">): Promise<JsonObject> {
  const leave = waits.enter();
  try {
    const became = await takeAnswer(route, exchange, readAnswer(args, readAction(args)));
    const told = toldModel(becameText(became), !isTaken(became));
    const violations = became.type === "invalid" ? { violations: became.violations.map(({ path, message }) => ({ path, message })) } : {};
    return {
      ...told,
      structuredContent: { receipt: became.type, ...violations, ...(became.type === "late" && { end: endOf(became.end) }) },
    };
  } finally {
    leave();
  }
}

function readAction({ action }: JsonObject): "accept" | "decline" {
  if (action === "accept" || action === "decline") return action;
  throw new ParleyError("INVALID_ARGUMENTS", "action must be accept or decline");
}

function endOf({ end, by, atMs }: SettledRead): JsonObject {
  const who = by && { by: { name: by.name ?? by.principal, isCaller: by.isCaller } };
  return { end, ...who, ...(atMs !== undefined && { at: new Date(atMs).toISOString() }) };
}

function isTaken({ type }: Became): boolean {
  return type === "accepted" || type === "duplicate";
}

function becameText(became: Became): string {
  switch (became.type) {
    case "accepted":
    case "duplicate":
      return "The answer was taken.";
    case "invalid":
      return `The answer was not taken: ${describeProblems(became.violations)}. Ask the user again. Do not guess.`;
    case "late":
      return "Too late: somebody else has answered, or the question is over.";
    case "forbidden":
      return "The question is for other people.";
    case "login_required":
      return `Not taken: ${assuranceRefusal(became.assurance, undefined)}.`;
    case "for_page":
      return `A model must not pass on the answer to this question. The user answers it on its page${became.page === undefined ? "" : `: ${became.page}`}.`;
    case "unknown":
      return "This question is not open. Call this tool without arguments to see what is open.";
  }
}

function toldModel(text: string, isError = false): JsonObject {
  return { content: [{ type: "text", text }], ...(isError && { isError }) };
}

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

function answerTool(): Tool {
  const tool = listed(ANSWER_TOOL, {
    title: "Answer in the view",
    description: "For the view of open questions only, which calls it when the user has filled in a form. Never call it yourself.",
    properties: {
      taskId: { type: "string" },
      question: { type: "string" },
      action: { enum: ["accept", "decline"] },
      answer: { type: "object" },
    },
    required: ["taskId", "question", "action"],
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  });
  return { ...tool, meta: APP_ONLY };
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
