/**
 * Notices that a call can never end: its stream ended before the result, or its response does not answer it (U3). The client would wait for the result
 * forever; only its transport sees either.
 */
import { StreamableHTTPClientTransport, type StreamableHTTPClientTransportOptions } from "@modelcontextprotocol/client";
import { requestId } from "../upstream-fetch.ts";
import type { SessionOwner } from "./session.ts";

const CALLS: ReadonlySet<string> = new Set(["tools/call", "prompts/get", "resources/read", "completion/complete"]);

/** The client waits on if a response contains no message with the id of its request, such as an error without one. */
export function watchAnswer(response: Response, body: unknown, onOther: () => void): Response {
  const id = typeof body === "string" ? requestId(body) : undefined;
  if (id === undefined || !response.ok || response.headers.get("content-type")?.startsWith("application/json") !== true) return response;
  const read = response.json.bind(response);
  const json = async (): Promise<unknown> => {
    const given: unknown = await read();
    const isAnswer = (message: { readonly id?: unknown } | null) => typeof message?.id !== "object" && Number(message?.id) === id;
    if (![given].flat().some((each) => isAnswer(each as { readonly id?: unknown } | null)) && isCallBody(body)) onOther();
    return given;
  };
  return Object.assign(response, { json });
}

export function isCallBody(body: unknown): boolean {
  const { method } = typeof body === "string" ? (JSON.parse(body) as { method?: unknown }) : {};
  return typeof method === "string" && CALLS.has(method);
}

/** Reports streams that end before their result. */
export class CallTransport extends StreamableHTTPClientTransport {
  readonly #owner: SessionOwner;

  constructor(url: URL, options: StreamableHTTPClientTransportOptions, owner: SessionOwner) {
    super(url, options);
    this.#owner = owner;
  }

  override async send(...[message, options]: Parameters<StreamableHTTPClientTransport["send"]>): Promise<void> {
    const isCall = !Array.isArray(message) && "method" in message && CALLS.has(message.method);
    // Bound to this call: its stream may end after the next call has begun.
    const { onCut } = this.#owner;
    const onRequestStreamEnd = () => onCut?.("the upstream ended the stream of the call before its result");
    await super.send(message, isCall ? { ...options, onRequestStreamEnd } : options);
  }
}
