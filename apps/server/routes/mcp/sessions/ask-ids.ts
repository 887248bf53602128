/**
 * The ids of the requests that put asks to clients of sessions.
 *
 *   <elicitation id>:<how often it was refused>:<signature>      the elicitation id names task and ask
 *
 * The reply is routed by its id alone: whichever front end it reaches finds task and ask in it. The signature binds it to the session, so
 * that a client can only answer what it was sent. Putting an ask again after a refused answer makes a new id, putting it again on a resumed
 * stream the same one.
 */
import type { Ask } from "@parley/core";
import { elicitationId, parseElicitationId } from "@parley/protocol/sessions";
import type { Signatures } from "../../../seals/signatures.ts";

export interface AskIds {
  of(sessionId: string, taskId: string, ask: Ask): string;
  /** Undefined for what was never sent to this session. */
  read(sessionId: string, requestId: unknown): { readonly taskId: string; readonly key: string } | undefined;
}

export function askIds(signatures: Signatures): AskIds {
  return {
    of(sessionId, taskId, ask) {
      const named = `${elicitationId(taskId, ask.key)}:${ask.refused?.count ?? 0}`;
      return `${named}:${signatures.sign(signed(sessionId, named))}`;
    },
    read(sessionId, requestId) {
      const [, named, id, signature] = /^((.+):\d+):([\w-]{22})$/s.exec(String(requestId)) ?? [];
      if (named === undefined || id === undefined || signature === undefined) return undefined;
      return signatures.verify(signed(sessionId, named), signature) ? parseElicitationId(id) : undefined;
    },
  };
}

function signed(sessionId: string, named: string): string {
  return `ask ${sessionId} ${named}`;
}
