/**
 * Event ids of a session's streams. An id is a cursor: it says which stream it belongs to and how far its client has read, in terms of what
 * is stored with tasks. So the front end that wrote it may be gone: any other goes on from the id alone (I8), and nothing is kept for it.
 *
 * Signed and bound to the session: an id of another session, or one that was made up, is none.
 */
import type { Signatures } from "../../../seals/signatures.ts";

/** The stream of one request, until its response was sent. */
export interface CallCursor {
  readonly stream: "call";
  /** Counts the stream's events, so that no two have the same id. */
  readonly sequence: number;
  readonly taskId: string;
  readonly requestId: string | number;
  /** What the response holds: the result of a tool or a prompt, or a task's for tasks/result. */
  readonly answers: "tool" | "prompt" | "task";
  readonly progressToken?: string | number;
  /** How far the task's feed was told. */
  readonly feed?: string;
  /** Which of the open asks were put, as marks. */
  readonly put: readonly string[];
  /** The last progress that was told: what is told next must be more. */
  readonly progress?: number;
}

/** The stream that a client opens by GET. */
export interface StandaloneCursor {
  readonly stream: "standalone";
  readonly sequence: number;
  readonly put: readonly string[];
}

export type Cursor = CallCursor | StandaloneCursor;

export interface EventIds {
  write(sessionId: string, cursor: Cursor): string;
  /** Undefined for what is no event id of this session. */
  read(sessionId: string, eventId: string): Cursor | undefined;
}

const ID_CHARS_MAX = 8_192;

export function eventIds(signatures: Signatures): EventIds {
  return {
    write(sessionId, cursor) {
      const text = Buffer.from(JSON.stringify(cursor)).toString("base64url");
      return `${text}.${signatures.sign(signed(sessionId, text))}`;
    },
    read(sessionId, eventId) {
      const [text, signature] = eventId.split(".", 2);
      if (eventId.length > ID_CHARS_MAX || text === undefined || signature === undefined) return undefined;
      if (!signatures.verify(signed(sessionId, text), signature)) return undefined;
      // Whoever could sign this is one of us: the shape is ours.
      return JSON.parse(Buffer.from(text, "base64url").toString()) as Cursor;
    },
  };
}

function signed(sessionId: string, text: string): string {
  return `event ${sessionId} ${text}`;
}
