/** Reads a response within bounds: a single body, or a stream of messages. */
import { EventSourceParserStream } from "eventsource-parser/stream";

export interface EventReader {
  /** Called with each message in turn. The next message is read after it resolves. */
  onMessage(message: unknown): Promise<void>;
  onId?(id: string): void;
  onRetry?(retryMs: number): void;
}

/** Largest message of a stream, in characters. */
export const MESSAGE_CHARS_MAX = 64 * 1_048_576;
/** Largest body that is not a stream. */
export const BODY_BYTES_MAX = 64 * 1_048_576;
/** Longest wait that a server can ask for with `retry:`. A timer of more than 2^31 - 1 ms would fire at once. */
export const RETRY_MS_MAX = 3_600_000;

export function isStream(response: Response): boolean {
  return mediaType(response) === "text/event-stream";
}

export function isJson(response: Response): boolean {
  return mediaType(response) === "application/json";
}

function mediaType({ headers }: Response): string | undefined {
  return headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase();
}

/** Reads a body to its end. Throws if it is larger than BODY_BYTES_MAX, or if the connection breaks. Uses nothing of Node.js: connect.ts runs in browsers, too. */
export async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    // Leaving the loop cancels the rest.
    if (bytes > BODY_BYTES_MAX) throw new BodyTooLarge(`${response.url} sent a body of more than ${BODY_BYTES_MAX} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

export class BodyTooLarge extends Error {
  override readonly name = "BodyTooLarge";
}

/** Reads to the end of the stream. Throws if the connection breaks. Skips events without data, and data that is not JSON. */
export async function readEvents(response: Response, { onMessage, onId, onRetry }: EventReader): Promise<void> {
  if (!response.body) return;
  const events = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(
    new EventSourceParserStream({
      maxBufferSize: MESSAGE_CHARS_MAX,
      onId,
      onRetry: (retryMs) => onRetry?.(Math.min(retryMs, RETRY_MS_MAX)),
    }),
  );
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
