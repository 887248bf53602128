/** Tasks: the caller's own and those that ask the caller something; one of them, its timeline, its cancellation. */
import {
  cancelTask,
  findTasks,
  getTask,
  isForPerson,
  may,
  ownerOf,
  SCOPES,
  type Caller,
  summaryOfAsk,
  type Task,
  type TaskFilter,
  toolNameOf,
} from "@parley/core";
import { z } from "zod";
import { getTimeline } from "../../front-end/timeline.ts";
import { type TitleOf, titleShown } from "../../front-end/tool-titles.ts";
import { askSummary, summaryShown } from "./ask-shapes.ts";
import { DOOR, operation, type Operation } from "./operation.ts";
import { anyObject, cursor, givenTime, limit, named, nextCursor, oneOf, owner, text, time, timeOf, toolTitle } from "./shapes.ts";

const group = "Tasks";
const STATUSES = ["working", "input_required", "completed", "failed", "cancelled"] as const;
const A_STATUS = `must be ${STATUSES.join(", ")}, or several of them with commas between them`;

const statuses = z
  .string()
  .transform((list) => list.split(","))
  .pipe(z.array(z.enum(STATUSES, { error: A_STATUS }), { error: A_STATUS }));

export const task = named(
  "Task",
  z.object({
    taskId: z.string(),
    tool: z.string().describe("Name of the tool or prompt"),
    toolTitle,
    status: z.enum(STATUSES),
    statusMessage: z.string().optional(),
    owner,
    createdAt: time,
    updatedAt: time,
    expiresAt: time.optional().describe("When a finished task is deleted, at the earliest"),
    asks: z.array(askSummary).describe("Open questions that the caller may answer"),
    asksOfOthers: z.number().describe("Open questions that wait for others; 0 if the task is not the caller's"),
  }),
);

export const taskWithEnd = named(
  "TaskWithEnd",
  z.object({
    ...task.shape,
    result: anyObject.optional().describe("Of a completed task of the caller: its result, as MCP has it"),
    error: z
      .object({ code: z.number(), message: z.string(), data: z.unknown().optional() })
      .optional()
      .describe("Of a failed task of the caller"),
  }),
);

const ms = z.number().describe("Milliseconds since 1970");

const timeline = named(
  "Timeline",
  z.looseObject({
    task: z.looseObject({
      id: z.string(),
      name: z.string(),
      toolTitle,
      status: z.enum(STATUSES),
      run: z.number(),
      createdAtMs: ms,
      updatedAtMs: ms,
    }),
    nowMs: ms,
    asks: z
      .array(z.looseObject({ key: z.string(), type: z.string(), askedAtMs: ms, deadlineMs: ms, isPutToOthers: z.boolean() }))
      .readonly(),
    journal: z.looseObject({
      entries: z.number(),
      settled: z.number().describe("How many of them a replay settles"),
      lines: z.array(z.looseObject({ kind: z.string(), name: z.string() })).readonly(),
    }),
    feed: z.looseObject({
      items: z.array(z.looseObject({ type: z.string() })).readonly(),
      cursor: z.string().optional(),
      more: z.boolean(),
    }),
  }),
  "What a task has done, without its content. docs/playground.md describes it",
);

const params = z.object({ taskId: z.string() });
const NOT_FOUND = { 404: "There is no such task, or the caller may not see it" };

export const TASK_OPERATIONS: readonly Operation[] = [
  operation({
    name: "listTasks",
    method: "get",
    path: "/tasks",
    group,
    summary: "Lists the caller's own tasks, or those of others that ask the caller something, the newest first",
    scopes: [SCOPES.read],
    rate: "reads",
    query: z.strictObject({
      owner: oneOf(["me", "others"]).default("me").describe("`others`: tasks of others with an open question for the caller"),
      status: statuses.optional().describe(`One of ${STATUSES.join(", ")}, or several with commas between them`),
      tool: z.string().optional().describe("Name of the tool"),
      createdAfter: givenTime.optional(),
      createdBefore: givenTime.optional(),
      limit,
      cursor,
    }),
    result: named("TaskPage", z.object({ tasks: z.array(task), nextCursor })),
    async handle({ frontEnd: { services }, titleOf, caller, query }) {
      const { owner, limit: most, cursor: after, status, tool, createdAfter, createdBefore } = query;
      const filter: TaskFilter = {
        ...(status && { statuses: status }),
        ...(tool !== undefined && { called: tool }),
        ...(createdAfter !== undefined && { createdAfterMs: Date.parse(createdAfter) }),
        ...(createdBefore !== undefined && { createdBeforeMs: Date.parse(createdBefore) }),
      };
      const page = { limit: most, ...(after !== undefined && { cursor: after }) };
      const found = await findTasks(services, { caller, owner: owner === "me" ? "caller" : "others", filter, ...page });
      return {
        tasks: found.tasks.map((each) => taskShown({ caller, titleOf, nowMs: services.clock.now() }, each)),
        ...(found.nextCursor !== undefined && { nextCursor: found.nextCursor }),
      };
    },
  }),
  operation({
    name: "getTask",
    method: "get",
    path: "/tasks/{taskId}",
    group,
    summary: "Returns one task; for its owner with its result or error",
    scopes: [SCOPES.read],
    rate: "reads",
    params,
    result: taskWithEnd,
    refusals: NOT_FOUND,
    async handle({ frontEnd: { services }, titleOf, caller, params: { taskId } }) {
      const found = await getTask(services, { taskId, caller, door: DOOR });
      const { outcome } = found;
      return {
        ...taskShown({ caller, titleOf, nowMs: services.clock.now() }, found),
        ...(outcome?.type === "result" && { result: outcome.result }),
        ...(outcome?.type === "error" && { error: outcome.error }),
      };
    },
  }),
  operation({
    name: "getTimeline",
    method: "get",
    path: "/tasks/{taskId}/timeline",
    group,
    summary: "Returns what one of the caller's tasks has done so far: its journal without content, and what it reported",
    scopes: [SCOPES.read],
    rate: "reads",
    params,
    query: z.strictObject({
      after: z.string().optional().describe("`feed.cursor` of the reading before: only later reports are returned"),
    }),
    result: timeline,
    refusals: { 403: "The task is not the caller's", ...NOT_FOUND },
    async handle({ frontEnd, titleOf, caller, params: { taskId }, query: { after } }) {
      const shown = await getTimeline(frontEnd, { caller, taskId, after, door: DOOR }, titleOf);
      // An interface has no index signature, which the schema asks for because the timeline may grow.
      return shown as unknown as z.input<typeof timeline>;
    },
  }),
  operation({
    name: "cancelTask",
    method: "post",
    path: "/tasks/{taskId}/cancel",
    group,
    summary: "Cancels one of the caller's tasks",
    scopes: [SCOPES.call],
    rate: "calls",
    params,
    body: named(
      "Cancellation",
      z.strictObject({ reason: text(1_000).optional().describe("Shown as the task's status message") }, { error: "must be an object" }),
    ),
    result: named(
      "CancelReceipt",
      z.object({ receipt: z.enum(["cancelled", "finished"]).describe("`finished`: the task had ended before, and stays as it is") }),
    ),
    refusals: { 403: "The task is not the caller's", ...NOT_FOUND },
    async handle({ frontEnd: { services }, caller, params: { taskId }, body: { reason } }) {
      return { receipt: await cancelTask(services, { taskId, caller, door: DOOR, ...(reason !== undefined && { reason }) }) };
    },
  }),
];

interface ShownTo {
  readonly caller: Caller;
  readonly titleOf: TitleOf;
  readonly nowMs: number;
}

/** `of` is the task as the caller may see it. */
export function taskShown({ caller, titleOf, nowMs }: ShownTo, of: Task): z.input<typeof task> {
  const { id, call, status, message, updatedAtMs, expiresAtMs, asks, asksOfOthers = [] } = of;
  return {
    taskId: id,
    tool: toolNameOf(call),
    ...titleShown(titleOf, call),
    status,
    ...(message !== undefined && { statusMessage: message }),
    owner: ownerOf(caller, call),
    createdAt: timeOf(call.createdAtMs),
    updatedAt: timeOf(updatedAtMs),
    ...(expiresAtMs !== undefined && { expiresAt: timeOf(expiresAtMs) }),
    asks: asks.filter(isForPerson).map((ask) => summaryShown(summaryOfAsk(caller, of, ask, nowMs), titleOf)),
    asksOfOthers: may(caller, "follow", of) ? asksOfOthers.length : 0,
  };
}
