/** What an upstream may send while it works on a call: requests, which become questions, and notifications, which become reports. */
import type { Client } from "@modelcontextprotocol/client";
import type { ClientCapabilities, FeedItem, Json } from "@parley/core";
import { elicited, replied } from "./call-request.ts";
import type { Questions } from "./questions.ts";

export interface Receiving {
  readonly questions: Pick<Questions, "ask" | "visited">;
  readonly report: (item: FeedItem) => void;
  /** What can be asked. */
  readonly capabilities: ClientCapabilities;
}

/** How often progress is sent to an upstream that waits for a person, if it gave a progress token. */
const PROGRESS_EVERY_MS = 10_000;

/** Handles an upstream's messages on the client of the call's session. Progress has no handler in it: see `reportProgress`. */
export function receive(client: Client, { questions, report, capabilities }: Receiving): void {
  if (capabilities.elicitation) {
    client.setRequestHandler("elicitation/create", async ({ params }, { mcpReq }) => {
      const stopTelling = tellProgress(client, mcpReq._meta?.progressToken);
      try {
        return elicited(await questions.ask(mcpReq.id, "elicitation/create", params, mcpReq.signal));
      } finally {
        stopTelling();
      }
    });
  }
  if (capabilities.sampling) {
    client.setRequestHandler(
      "sampling/createMessage",
      async ({ params }, { mcpReq }) => replied(await questions.ask(mcpReq.id, "sampling/createMessage", params, mcpReq.signal)) as never,
    );
  }
  if (capabilities.roots) {
    client.setRequestHandler(
      "roots/list",
      async ({ params }, { mcpReq }) => replied(await questions.ask(mcpReq.id, "roots/list", params, mcpReq.signal)) as never,
    );
  }
  client.setNotificationHandler("notifications/elicitation/complete", ({ params: { elicitationId } }) => {
    const key = questions.visited(elicitationId);
    if (key !== undefined) report({ type: "visited", key });
  });
  client.setNotificationHandler("notifications/message", ({ params: { level, data, logger } }) => {
    report({ type: "log", level, data: (data ?? null) as Json, ...(logger !== undefined && { logger }) });
  });
}

/** Ignores other notifications, and progress that is not a finite number. */
export function reportProgress(method: string, params: unknown, report: (item: FeedItem) => void): void {
  if (method !== "notifications/progress") return;
  const { progress, total, message } = (params ?? {}) as { progress?: unknown; total?: unknown; message?: unknown };
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
