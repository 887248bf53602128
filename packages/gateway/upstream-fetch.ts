/**
 * How the gateway speaks HTTP with upstreams: a call may wait for a person for days, so nothing here ends a quiet stream; and an upstream may
 * send anything, so each message is bounded, and all of a response.
 */
import { type FetchLike } from "@modelcontextprotocol/client";
import { Agent, fetch as send, type RequestInit } from "undici";

/** Bytes of one message of an upstream: a JSON body, or an event of a stream. */
export const MESSAGE_BYTES_MAX = 8 * 1024 * 1024;

/** Bytes of one response: a stream that tells of progress for as long as it is read ends some time. */
export const RESPONSE_BYTES_MAX = 16 * 1024 * 1024;

export interface UpstreamFetch {
  readonly fetch: FetchLike;
  close(): Promise<void>;
}

export function createUpstreamFetch({ messageBytesMax = MESSAGE_BYTES_MAX, responseBytesMax = RESPONSE_BYTES_MAX } = {}): UpstreamFetch {
  // The defaults of fetch end a stream that says nothing for five minutes. How long a call may take is upstream-call.ts' matter.
  const dispatcher = new Agent({ bodyTimeout: 0, headersTimeout: 0, pipelining: 1 });
  return {
    fetch: (async (url, init) => {
      const response = await send(url, { ...(init as unknown as RequestInit), dispatcher });
      const { body, status, statusText, headers } = response;
      if (!body) return response as unknown as Response;
      const isStream = headers.get("content-type")?.startsWith("text/event-stream") ?? false;
      const bounded = (body as unknown as ReadableStream<Uint8Array>).pipeThrough(bound({ messageBytesMax, responseBytesMax, isStream }));
      return new Response(bounded, { status, statusText, headers: [...headers] });
    }) satisfies FetchLike,
    close: () => dispatcher.destroy(),
  };
}

const EVENT_ENDS = ["\n\n", "\r\n\r\n", "\r\r"];

interface Bounds {
  readonly messageBytesMax: number;
  readonly responseBytesMax: number;
  readonly isStream: boolean;
}

/** Ends the stream with an error where it, or a message in it, is larger. An event ends with an empty line. */
function bound({ messageBytesMax, responseBytesMax, isStream }: Bounds): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  let all = 0;
  return new TransformStream({
    transform(chunk, controller) {
      const view = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      const end = isStream ? Math.max(...EVENT_ENDS.map((text) => view.lastIndexOf(text))) : -1;
      bytes = end === -1 ? bytes + chunk.byteLength : chunk.byteLength - end;
      all += chunk.byteLength;
      if (bytes > messageBytesMax) controller.error(new Error(`a message of the upstream is larger than ${messageBytesMax} bytes`));
      else if (all > responseBytesMax) controller.error(new Error(`a response of the upstream is larger than ${responseBytesMax} bytes`));
      else controller.enqueue(chunk);
    },
  });
}
