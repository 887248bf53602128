/** What an upstream may send while it works on a call: requests, which become questions, and notifications, which become reports. */
import { type Client, ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/client";
import { type ClientCapabilities, cut, type FeedItem, type Json, LOG_LEVELS } from "@parley/core";
import { elicited, replied } from "../wire/call-request.ts";
import { DISABLED, invalid, isQuestionMethod, refusal } from "../wire/question.ts";
import type { Questions } from "./questions.ts";
import { WAITS } from "../connection/upstream-tasks.ts";
import { STATUS_CHARS_MAX } from "./endings.ts";

/** Another Parley waits for people whom only it can ask; `false`: it does so no more. */
export type Waits = { readonly message: string | undefined } | false;

export interface Receiving {
  readonly questions: Pick<Questions, "ask" | "refuse" | "visited">;
  readonly report: (item: FeedItem) => void;
  /** What can be asked; undefined if the deployment passes no questions on. */
  readonly capabilities: ClientCapabilities | undefined;
}

/** How often progress is sent to an upstream that waits for a person, if it gave a progress token. */
const PROGRESS_EVERY_MS = 10_000;

/**
 * Handles an upstream's messages on the client of the call's session. Progress has no handler in it: see `reportProgress`.
 *
 * Elicitations come as what the client has no handler for: to a handler it passes them after parsing each twice and its answer once, with schemas that
 * allow more than question.ts, and that take longer than everything that the gateway does with the question.
 */
export function receive(client: Client, { questions, report, capabilities }: Receiving): void {
  client.fallbackRequestHandler = async ({ method, params }, { mcpReq }) => {
    if (!isQuestionMethod(method)) throw new ProtocolError(ProtocolErrorCode.MethodNotFound, "Method not found");
    const refuse = (error: ProtocolError) => questions.refuse(method, params, error);
    if (!capabilities) throw refuse(refusal("disabled", DISABLED));
    if (method !== "elicitation/create" || !capabilities.elicitation)
      throw refuse(refusal("capability", `the caller did not declare what ${method} needs`));
    const { mode = "form" } = params ?? {};
    if ((mode === "form" || mode === "url") && !capabilities.elicitation[mode])
      throw refuse(invalid([{ path: "/mode", message: `${mode} is not among the capabilities of the client` }], "capability"));
    const stopTelling = tellProgress(client, mcpReq._meta?.progressToken);
    try {
      return elicited(await questions.ask(mcpReq.id, "elicitation/create", params, mcpReq.signal));
    } finally {
      stopTelling();
    }
  };
  if (capabilities?.sampling) {
    client.setRequestHandler(
      "sampling/createMessage",
      async ({ params }, { mcpReq }) => replied(await questions.ask(mcpReq.id, "sampling/createMessage", params, mcpReq.signal)) as never,
    );
  }
  if (capabilities?.roots) {
    client.setRequestHandler(
      "roots/list",
      async ({ params }, { mcpReq }) => replied(await questions.ask(mcpReq.id, "roots/list", params, mcpReq.signal)) as never,
    );
  }
  client.setNotificationHandler("notifications/elicitation/complete", ({ params }) => reportVisit(params, { questions, report }));
  client.setNotificationHandler("notifications/message", ({ params }) => reportLog(params, report));
}

interface ReportingProgress extends Pick<Receiving, "report"> {
  readonly onWaits: (waits: Waits) => void;
}

interface Reporting extends ReportingProgress {
  readonly questions: Pick<Questions, "visited">;
}

/** Reports a notification that the client of the session has not read. Ignores those that are neither logs, nor progress, nor completed pages. */
export function reportNotification(method: string, params: unknown, { questions, report, onWaits }: Reporting): void {
  if (method === "notifications/progress") reportProgress(params, { report, onWaits });
  if (method === "notifications/message") reportLog(params, report);
  if (method === "notifications/elicitation/complete") reportVisit(params, { questions, report });
}

function reportVisit(params: unknown, { questions, report }: Omit<Reporting, "onWaits">): void {
  const { elicitationId } = (params ?? {}) as { elicitationId?: unknown };
  const key = typeof elicitationId === "string" ? questions.visited(elicitationId) : undefined;
  if (key !== undefined) report({ type: "visited", key });
}

function reportLog(params: unknown, report: (item: FeedItem) => void): void {
  const { level, data, logger } = (params ?? {}) as { level?: unknown; data?: unknown; logger?: unknown };
  const known = LOG_LEVELS.find((each) => each === level);
  if (known) report({ type: "log", level: known, data: (data ?? null) as Json, ...(typeof logger === "string" && { logger }) });
}

/** Ignores progress that is not a finite number. What only says whom the upstream waits for is no progress of its tool. */
export function reportProgress(params: unknown, { report, onWaits }: ReportingProgress): void {
  const { progress, total, message, _meta } = (params ?? {}) as { progress?: unknown; total?: unknown; message?: unknown; _meta?: unknown };
  const waits = (_meta as { readonly [WAITS]?: unknown } | null | undefined)?.[WAITS];
  if (typeof waits === "boolean")
    return onWaits(waits && { message: typeof message === "string" ? cut(message, STATUS_CHARS_MAX) : undefined });
  if (!Number.isFinite(progress)) return;
  report({
    type: "progress",
    progress: progress as number,
    ...(Number.isFinite(total) && { total: total as number }),
    ...(typeof message === "string" && { message }),
  });
}

function tellProgress(client: Client, progressToken: string | number | undefined): () => void {
  if (progressToken === undefined) return () => undefined;
  let progress = 0;
  const timer = setInterval(() => {
    progress += 1;
    client.notification({ method: "notifications/progress", params: { progressToken, progress } }).catch(() => undefined);
  }, PROGRESS_EVERY_MS);
  return () => clearInterval(timer);
}
