/** Requests of the revisions with sessions as they should be. */
import type { Draft } from "../draw/changes.ts";
import type { Json, JsonObject } from "../draw/json.ts";

export const REVISIONS = ["2025-11-25", "2025-06-18", "2025-03-26"] as const;
export type Revision = (typeof REVISIONS)[number];

export const ELICITATION_RESPONSE = "io.modelcontextprotocol/elicitation-response";

export interface InSession {
  readonly sessionId: string;
  readonly revision: Revision;
}

export function sessionHeaders({ sessionId, revision }: InSession): Record<string, string> {
  return {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-session-id": sessionId,
    "mcp-protocol-version": revision,
  };
}

export function sessionDraft(session: InSession, { method, params, id = 1 }: { method: string; params: JsonObject; id?: Json }): Draft {
  return { headers: sessionHeaders(session), body: { jsonrpc: "2.0", id, method, params } };
}

export function initializeDraft(revision: string, capabilities: JsonObject): Draft {
  return {
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: {
      jsonrpc: "2.0",
      id: "init",
      method: "initialize",
      params: { protocolVersion: revision, capabilities, clientInfo: { name: "fuzz", version: "1" } },
    },
  };
}
