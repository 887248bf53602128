/**
 * Event ids of a session's streams. An id is a cursor: it says which stream it belongs to and how far its client has read, in terms of what
 * is stored with tasks. So the front end that wrote it may be gone: any other continues from the id alone (I8), and nothing is kept for it.
 *
 * Every event carries an id, which comes back in a header. So ids are short (`EVENT_ID_CHARS`) no matter how much waits: an id names the task and counts, and
 * what was put on the stream, and for whom, is looked up with the task or the session.
 *
 * Signed and bound to the session: an id of another session, or one that was made up, is none.
 */
import type { AskMoment } from "@parley/core";
import type { RequestId } from "@parley/protocol";
import type { Signatures } from "../../../seals/signatures.ts";

/** No event id is longer. */
export const EVENT_ID_CHARS = 200;

interface Told {
  readonly taskId: string;
  /** Counts the stream's events, so that no two have the same id. */
  readonly event: number;
  /** How far the task's feed was told. */
  readonly feed?: string;
}

/** The stream of a call, until its response was sent. Its hidden task says which request the response is for. */
export interface CallCursor extends Told {
  readonly stream: "call";
  /** The last of the open asks that was put: those before it were, too. */
  readonly seen?: AskMoment;
  /** The last progress that was told: progress must increase. */
  readonly progress?: number;
}

/** The stream of tasks/result. */
export interface ResultCursor extends Told {
  readonly stream: "result";
  readonly requestId: RequestId;
}

/** The stream that a client opens by GET. */
export interface StandaloneCursor {
  readonly stream: "standalone";
  readonly event: number;
}

export type Cursor = CallCursor | ResultCursor | StandaloneCursor;

export interface EventIds {
  /** Undefined for a stream whose client gave its request an id too long to be carried along: it cannot be resumed. */
  write(sessionId: string, cursor: Cursor): string | undefined;
  /** Undefined for what is no event id of this session. */
  read(sessionId: string, eventId: string): Cursor | undefined;
}

export function eventIds(signatures: Signatures): EventIds {
  return {
    write(sessionId, cursor) {
      const text = wordsOf(cursor).join(SPACE);
      const eventId = `${text}${SPACE}${signatures.sign(signed(sessionId, text))}`;
      return eventId.length <= EVENT_ID_CHARS ? eventId : undefined;
    },
    read(sessionId, eventId) {
      const end = eventId.lastIndexOf(SPACE);
      if (eventId.length > EVENT_ID_CHARS || end === -1) return undefined;
      const text = eventId.slice(0, end);
      if (!signatures.verify(signed(sessionId, text), eventId.slice(end + 1))) return undefined;
      // Only a front end can sign, so the shape is right.
      return cursorOf(text.split(SPACE));
    },
  };
}

/** In none of the words: they are numbers, ids of tasks and base64url. */
const SPACE = "~";

function wordsOf(cursor: Cursor): readonly string[] {
  const event = cursor.event.toString(36);
  switch (cursor.stream) {
    case "standalone":
      return ["s", event];
    case "result":
      return ["r", event, cursor.taskId, cursor.feed ?? "", Buffer.from(JSON.stringify(cursor.requestId)).toString("base64url")];
    case "call": {
      const { taskId, feed = "", seen, progress } = cursor;
      return ["c", event, taskId, feed, seen ? `${seen.revision}.${seen.position}` : "", progress === undefined ? "" : String(progress)];
    }
  }
}

function cursorOf([stream, eventWord = "", taskId = "", feedWord = "", word = "", progress = ""]: readonly string[]): Cursor | undefined {
  const event = Number.parseInt(eventWord, 36);
  if (stream === "s") return { stream: "standalone", event };
  const told = { taskId, event, ...(feedWord !== "" && { feed: feedWord }) };
  if (stream === "r") return { stream: "result", ...told, requestId: JSON.parse(Buffer.from(word, "base64url").toString()) as RequestId };
  if (stream !== "c") return undefined;
  const [revision, position] = word.split(".");
  return {
    stream: "call",
    ...told,
    ...(word !== "" && { seen: { revision: Number(revision), position: Number(position) } }),
    ...(progress !== "" && { progress: Number(progress) }),
  };
}

function signed(sessionId: string, text: string): string {
  return `event ${sessionId} ${text}`;
}
