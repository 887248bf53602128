/**
 * Event ids of a session's streams. An id is a cursor: it names the stream and how far its client has read, in terms of what is stored with
 * the task. Any front end can therefore continue a stream from the id alone (I8), even if the front end that wrote it no longer exists.
 *
 * Every event has an id, and the client returns the last one in a header, so ids are short (`EVENT_ID_CHARS`). They contain only a task id
 * and counters; the asks on the stream and its request are looked up with the task or the session.
 *
 * Ids are signed and bound to the session, so an id that was invented or belongs to another session is refused.
 */
import type { AskMoment } from "@parley/core";
import type { ProgressToken, RequestId } from "@parley/protocol";
import type { Signatures } from "../../../seals/signatures.ts";

/** No event id is longer. */
export const EVENT_ID_CHARS = 200;

interface TaskCursor {
  readonly taskId: string;
  /** Number of the event, so that no two events of a stream have the same id. */
  readonly event: number;
  /** How far the task's feed was reported. */
  readonly feed?: string;
}

/** The stream of a call, until its response is sent. The hidden task carries the id of the request. */
export interface CallCursor extends TaskCursor {
  readonly stream: "call";
  /** The last open ask that was sent. All asks before it were sent too. */
  readonly seen?: AskMoment;
  /** The last progress that was reported, because progress must increase. */
  readonly progress?: number;
  /** It was said that others are asked, and not yet that they are no more. */
  readonly waits?: boolean;
}

/** The stream of tasks/result. */
export interface ResultCursor extends TaskCursor {
  readonly stream: "result";
  readonly requestId: RequestId;
  /** The request's own; without it, or if it is too long for an event id, that of the call counts. */
  readonly progressToken?: ProgressToken;
}

/** The stream that a client opens with GET. */
export interface StandaloneCursor {
  readonly stream: "standalone";
  readonly event: number;
}

/**
 * Nothing follows this event: it was the error that answered a request, or another connection has taken over the stream. A
 * client that has read it is told not to come back.
 */
export interface EndedCursor {
  readonly stream: "ended";
  readonly event: number;
}

export type Cursor = CallCursor | ResultCursor | StandaloneCursor | EndedCursor;

export interface EventIds {
  /** Undefined if the request id is too long to be part of an event id. The stream cannot be resumed then. */
  write(sessionId: string, cursor: Cursor): string | undefined;
  /** Undefined if it is not an event id of this session. */
  read(sessionId: string, eventId: string): Cursor | undefined;
}

export function eventIds(signatures: Signatures): EventIds {
  function write(sessionId: string, cursor: Cursor): string | undefined {
    const text = fieldsOf(cursor).join(SEPARATOR);
    const eventId = `${text}${SEPARATOR}${signatures.sign(signedText(sessionId, text))}`;
    if (eventId.length <= EVENT_ID_CHARS) return eventId;
    if (cursor.stream !== "result" || cursor.progressToken === undefined) return undefined;
    const { progressToken: _, ...without } = cursor;
    return write(sessionId, without);
  }

  return {
    write,
    read(sessionId, eventId) {
      const end = eventId.lastIndexOf(SEPARATOR);
      if (eventId.length > EVENT_ID_CHARS || end === -1) return undefined;
      const text = eventId.slice(0, end);
      if (!signatures.verify(signedText(sessionId, text), eventId.slice(end + 1))) return undefined;
      // Only a front end can sign, so the fields are valid.
      return cursorOf(text.split(SEPARATOR));
    },
  };
}

/** Occurs in no field: they are numbers, task ids and base64url. */
const SEPARATOR = "~";
/** Front ends of the version before ignore it. */
const WAITS = "w";

function fieldsOf(cursor: Cursor): readonly string[] {
  const event = cursor.event.toString(36);
  switch (cursor.stream) {
    case "standalone":
      return ["s", event];
    case "ended":
      return ["f", event];
    case "result":
      return ["r", event, cursor.taskId, cursor.feed ?? "", packed(cursor.requestId), ...optional(cursor.progressToken)];
    case "call": {
      const { taskId, feed = "", seen, progress, waits } = cursor;
      const fields = [
        "c",
        event,
        taskId,
        feed,
        seen ? `${seen.revision}.${seen.position}` : "",
        progress === undefined ? "" : String(progress),
      ];
      return waits ? [...fields, WAITS] : fields;
    }
  }
}

const packed = (value: RequestId | ProgressToken) => Buffer.from(JSON.stringify(value)).toString("base64url");
const unpacked = <T>(field: string) => JSON.parse(Buffer.from(field, "base64url").toString()) as T;
const optional = (token: ProgressToken | undefined) => (token === undefined ? [] : [packed(token)]);

function cursorOf([stream, eventField = "", taskId = "", feed = "", rest = "", progress = "", waits]: readonly string[]):
  | Cursor
  | undefined {
  const event = Number.parseInt(eventField, 36);
  if (stream === "s") return { stream: "standalone", event };
  if (stream === "f") return { stream: "ended", event };
  const cursor = { taskId, event, ...(feed !== "" && { feed }) };
  if (stream === "r")
    return {
      stream: "result",
      ...cursor,
      requestId: unpacked<RequestId>(rest),
      ...(progress !== "" && { progressToken: unpacked<ProgressToken>(progress) }),
    };
  if (stream !== "c") return undefined;
  const [revision, position] = rest.split(".");
  return {
    stream: "call",
    ...cursor,
    ...(rest !== "" && { seen: { revision: Number(revision), position: Number(position) } }),
    ...(progress !== "" && { progress: Number(progress) }),
    ...(waits === WAITS && { waits: true }),
  };
}

function signedText(sessionId: string, text: string): string {
  return `event ${sessionId} ${text}`;
}
