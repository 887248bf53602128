/**
 * What others may subscribe to, by the names of MCP's events extension. An occurrence has ids, names and times: what was
 * asked and answered is read by who may read it.
 */
import type { JsonObject } from "../values/json.ts";

export const OCCURRENCE_TYPES = [
  "ask.opened",
  "ask.settled",
  "ask.claimed",
  "ask.released",
  "ask.commented",
  "ask.reminded",
  "ask.escalated",
  "approval.asked",
  "approval.given",
  "approval.refused",
  "approval.expired",
  "approval.withdrawn",
  "approval.spent",
  "approval.void",
  "task.changed",
  "task.ended",
] as const;
export type OccurrenceType = (typeof OCCURRENCE_TYPES)[number];

export interface OccurrenceDescription {
  readonly description: string;
  /** What a subscription may ask for, as JSON Schema. */
  readonly inputSchema: JsonObject;
  /** `data` of an occurrence, as JSON Schema. */
  readonly payloadSchema: JsonObject;
}

const TOOL = { type: "string", minLength: 1, maxLength: 128, description: "Only of this tool or prompt, by name." };
const TASK = { type: "string", minLength: 1, maxLength: 128, description: "Only of this task." };
const FROM = { enum: ["me", "others"], description: "Only questions of my own tasks, or only those of others' tasks." };

const TASK_ID = { type: "string", description: "The task." };
const CALLED = {
  type: "object",
  properties: { kind: { enum: ["tool", "prompt"] }, name: { type: "string" } },
  required: ["kind", "name"],
  description: "What was called.",
};
const KEY = { type: "string", description: "The question's key in its task." };
const URL = { type: "string", description: "The page on which the question is answered, by who may answer it. It asks for a login." };

function takes(properties: JsonObject): JsonObject {
  return { type: "object", properties, additionalProperties: false };
}

function gives(properties: JsonObject, required: readonly string[]): JsonObject {
  return { type: "object", properties, required: [...required] };
}

/** Of a question that is open. */
const OPEN: JsonObject = {
  taskId: TASK_ID,
  key: KEY,
  called: CALLED,
  kind: { enum: ["form", "url"] },
  from: { enum: ["me", "others"] },
  priority: { enum: ["low", "normal", "high", "urgent"] },
  deadline: { type: "string", format: "date-time", description: "When the question closes." },
  due: { type: "string", format: "date-time", description: "When an answer is wanted." },
  url: URL,
};

function aboutOpen(description: string): OccurrenceDescription {
  return {
    description,
    inputSchema: takes({ tool: TOOL, taskId: TASK, from: FROM }),
    payloadSchema: gives(OPEN, ["taskId", "key", "called"]),
  };
}

function aboutOpened(description: string): OccurrenceDescription {
  const isOpen = { type: "boolean", description: "False if it was settled before you heard of it." };
  return { ...aboutOpen(description), payloadSchema: gives({ ...OPEN, isOpen }, ["taskId", "key", "called", "isOpen"]) };
}

function aboutApproval(became: string): OccurrenceDescription {
  return {
    description: `A call of yours, or one to which you could consent, ${became}.`,
    inputSchema: takes({ tool: TOOL, taskId: TASK, from: FROM }),
    payloadSchema: gives({ taskId: TASK_ID, key: KEY, called: CALLED, from: { enum: ["me", "others"] }, url: URL }, [
      "taskId",
      "key",
      "called",
    ]),
  };
}

export const OCCURRENCES: { readonly [Type in OccurrenceType]: OccurrenceDescription } = {
  "ask.opened": aboutOpened("A question was asked that you may answer: of a task of yours, or of somebody else's."),
  "ask.settled": {
    description: "A question that you could answer, or that your task asked, was answered, declined, withdrawn, or not answered in time.",
    inputSchema: takes({ tool: TOOL, taskId: TASK, from: FROM }),
    payloadSchema: gives(
      {
        taskId: TASK_ID,
        key: KEY,
        called: CALLED,
        from: { enum: ["me", "others"] },
        end: { enum: ["answered", "accepted", "declined", "cancelled", "timed_out", "withdrawn", "closed"] },
        url: URL,
      },
      ["taskId", "key", "called", "end"],
    ),
  },
  "ask.claimed": aboutOpen("Somebody says that they are on a question that you may answer, or that your task asked."),
  "ask.released": aboutOpen("Whoever was on a question that you may answer, or that your task asked, has given it back."),
  "ask.commented": aboutOpen("Somebody commented on a question that you may answer or have accepted, or that your task asked."),
  "ask.reminded": aboutOpen("A question that you may answer is still open, and its tool reminds of it."),
  "ask.escalated": aboutOpen("Nobody had answered a question that you may answer, or that your task asked, so others are asked as well."),
  "approval.asked": aboutOpened("A call of yours waits for somebody's consent, or a call waits for consent that you may give."),
  "approval.given": aboutApproval("was approved"),
  "approval.refused": aboutApproval("was refused"),
  "approval.expired": aboutApproval("was not decided in time"),
  "approval.withdrawn": aboutApproval("was cancelled before anybody decided"),
  "approval.spent": aboutApproval("was approved and runs now: the approval is used"),
  "approval.void": aboutApproval("was approved and does not run: rules or tool have changed since"),
  "task.changed": {
    description: "A task of yours asked something, got an answer, or ended.",
    inputSchema: takes({ tool: TOOL, taskId: TASK }),
    payloadSchema: gives(
      {
        taskId: TASK_ID,
        called: CALLED,
        change: { enum: ["asked", "answered", "timed_out", "withdrawn", "closed", "completed", "failed", "cancelled"] },
        key: KEY,
        status: {
          enum: ["working", "input_required", "completed", "failed", "cancelled"],
          description: "Of the task, as you heard of it.",
        },
      },
      ["taskId", "called", "change"],
    ),
  },
  "task.ended": {
    description: "A task of yours completed, failed or was cancelled.",
    inputSchema: takes({ tool: TOOL, taskId: TASK }),
    payloadSchema: gives({ taskId: TASK_ID, called: CALLED, status: { enum: ["completed", "failed", "cancelled"] } }, [
      "taskId",
      "called",
      "status",
    ]),
  },
};
