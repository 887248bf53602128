/** A session of the 2025 revisions: opened once, used by every request, and expired by the server after a while. */
import { filled } from "../../texts/words.ts";
import { TEXTS } from "../play-texts.ts";
import { type Endpoint, type Message, request, type Request, RpcError, send } from "../wire/endpoint.ts";
import { outcomeOf } from "./shared.ts";
import { CLIENT_INFO, ELICITATION, type Reply, type ReplyOutcome } from "./types.ts";

export interface Session {
  readonly id: string;
  ask(
    request: Pick<Request, "method" | "params" | "signal" | "onMessage" | "onEventId"> & { readonly id?: string },
  ): Promise<Record<string, unknown>>;
  reply(requestId: string | number, reply: Reply): Promise<ReplyOutcome>;
  notify(method: string, params: object): Promise<void>;
  /** Reads the rest of a stream. Resolves when it ends. Throws RpcError or Lost. */
  resume(lastEventId: string, options: Pick<Request, "signal" | "onMessage" | "onEventId">): Promise<void>;
}

let ids = 0;
/** Makes ids unique within a session, also across reloads of the page. Browsers offer `randomUUID` only to pages of https. */
const PAGE = (crypto.getRandomValues(new Uint32Array(1))[0] ?? 0).toString(36);

export function nextId(): string {
  return `${PAGE}-${(ids += 1)}`;
}

export function sessionAt(endpoint: Endpoint, version: string, id: string): Session {
  const headers = { "mcp-session-id": id, "mcp-protocol-version": version };

  /** Sends a response or notification. Throws RpcError if the server refuses it. */
  async function post(message: object): Promise<void> {
    let refusal: Message | undefined;
    const { httpStatus } = await send(endpoint, { message, headers, onMessage: (answer) => (refusal = answer) });
    if (httpStatus >= 400) throw new RpcError(refusal?.error ?? { code: 0, message: `HTTP ${httpStatus}` }, httpStatus);
  }

  return {
    id,
    async ask({ id: given = nextId(), ...rest }) {
      return (await request(endpoint, { ...rest, id: given, headers })).result;
    },
    async reply(requestId, reply) {
      try {
        await post({ jsonrpc: "2.0", id: requestId, result: reply });
        return { type: "accepted" };
      } catch (error) {
        return outcomeOf(error);
      }
    },
    notify: (method, params) => post({ jsonrpc: "2.0", method, params }),
    async resume(lastEventId, { onMessage, ...options }) {
      let refusal: Message | undefined;
      const { httpStatus } = await send(endpoint, {
        ...options,
        headers: { ...headers, "last-event-id": lastEventId },
        onMessage: (message, eventId) => {
          refusal = message;
          onMessage?.(message, eventId);
        },
      });
      if (httpStatus >= 400) throw new RpcError(refusal?.error ?? { code: 0, message: `HTTP ${httpStatus}` }, httpStatus);
    },
  };
}

export async function openSession(endpoint: Endpoint, version: string): Promise<Session> {
  const { result, headers } = await request(endpoint, {
    id: nextId(),
    method: "initialize",
    params: { protocolVersion: version, capabilities: ELICITATION, clientInfo: CLIENT_INFO },
  });
  const id = headers.get("mcp-session-id");
  const agreed = String(result["protocolVersion"]);
  if (id === null || agreed !== version) throw new Error(filled(TEXTS.otherVersion, { agreed, version }));
  const session = sessionAt(endpoint, version, id);
  await session.notify("notifications/initialized", {});
  await session.ask({ method: "logging/setLevel", params: { level: "debug" } });
  return session;
}

/** Whether the error says that the session has ended or never existed. */
export function isGone(error: unknown): boolean {
  return error instanceof RpcError && error.httpStatus === 404;
}
