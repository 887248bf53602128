/** What a response holds: one JSON body, or messages as they come. */
import { EventSourceParserStream } from "eventsource-parser/stream";

export interface EventReader {
  /** Called with each message in turn; the next is read when it has resolved. */
  onMessage(message: unknown): Promise<void>;
  onId?(id: string): void;
  onRetry?(retryMs: number): void;
}

/** Largest message of a server, in characters. */
export const MESSAGE_CHARS_MAX = 64 * 1_048_576;

export function isStream(response: Response): boolean {
  return mediaType(response) === "text/event-stream";
}

export function isJson(response: Response): boolean {
  return mediaType(response) === "application/json";
}

function mediaType({ headers }: Response): string | undefined {
  return headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase();
}

/** Reads to the end of the stream. Throws when the connection breaks. Events without data, and data that is no JSON, are passed over. */
export async function readEvents(response: Response, { onMessage, onId, onRetry }: EventReader): Promise<void> {
  if (!response.body) return;
  const events = response.body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream({ maxBufferSize: MESSAGE_CHARS_MAX, onId, onRetry }));
  for await (const { data } of events) {
    if (data === "") continue;
    const message = parsed(data);
    if (message !== undefined) await onMessage(message);
  }
}

export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
