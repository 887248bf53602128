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
      const bounded = bound(body as unknown as ReadableStream<Uint8Array>, { messageBytesMax, responseBytesMax, isStream });
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

/**
 * Ends the stream with an error where it, or a message in it, is larger. An event ends with an empty line. No TransformStream: a call that waits
 * has two of these, and each would be 20 kB.
 */
function bound(body: ReadableStream<Uint8Array>, { messageBytesMax, responseBytesMax, isStream }: Bounds): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let bytes = 0;
  let all = 0;

  function count(chunk: Uint8Array): string | undefined {
    const view = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const end = isStream ? Math.max(...EVENT_ENDS.map((text) => view.lastIndexOf(text))) : -1;
    bytes = end === -1 ? bytes + chunk.byteLength : chunk.byteLength - end;
    all += chunk.byteLength;
    if (bytes > messageBytesMax) return `a message of the upstream is larger than ${messageBytesMax} bytes`;
    return all > responseBytesMax ? `a response of the upstream is larger than ${responseBytesMax} bytes` : undefined;
  }

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        const problem = count(value);
        if (problem === undefined) return controller.enqueue(value);
        await reader.cancel();
        throw new Error(problem);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
