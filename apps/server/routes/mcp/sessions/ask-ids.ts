/**
 * The ids of the requests with which clients of sessions are asked.
 *
 *   <elicitation id>:<number of refusals>:<signature>      the elicitation id names task and ask
 *
 * The reply is routed by its id alone, so any front end finds task and ask in it. The signature binds the id to the session: a client can
 * answer only what it was sent. Asking again after a refused answer creates a new id; asking again on a resumed stream keeps the id.
 */
import type { Ask } from "@parley/core";
import { elicitationId, parseElicitationId } from "@parley/protocol/sessions";
import type { Signatures } from "../../../seals/signatures.ts";

export interface AskIds {
  of(sessionId: string, taskId: string, ask: Ask): string;
  /** Undefined if the id was never sent to this session. */
  read(sessionId: string, requestId: unknown): { readonly taskId: string; readonly key: string } | undefined;
}

export function askIds(signatures: Signatures): AskIds {
  return {
    of(sessionId, taskId, ask) {
      const id = `${elicitationId(taskId, ask.key)}:${ask.refused?.count ?? 0}`;
      return `${id}:${signatures.sign(signedText(sessionId, id))}`;
    },
    read(sessionId, requestId) {
      const [, id, elicitation, signature] = /^((.+):\d+):([\w-]{22})$/s.exec(String(requestId)) ?? [];
      if (id === undefined || elicitation === undefined || signature === undefined) return undefined;
      return signatures.verify(signedText(sessionId, id), signature) ? parseElicitationId(elicitation) : undefined;
    },
  };
}

function signedText(sessionId: string, id: string): string {
  return `ask ${sessionId} ${id}`;
}
