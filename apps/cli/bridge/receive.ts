/** Messages from the server: which of them the client receives, and what the bridge learns from them. */
import { isObject, own, type RequestId, type Wire } from "@parley/protocol";
import type { Deliver } from "./deliver.ts";
import { type Exchange, idKey, isListen } from "./exchange.ts";
import type { Link } from "./link.ts";
import type { Questions } from "./questions.ts";
import { agreedVersion } from "./session.ts";

/** Forwards a message, or a batch of them, to the client. `exchange` is the one on whose response it arrived. */
export type Receive = (body: unknown, exchange?: Exchange) => Promise<void>;

export interface ReceiverOptions {
  readonly questions: Questions;
  readonly deliver: Deliver;
}

export function createReceiver({ write, log, memory, schemas }: Link, { questions, deliver }: ReceiverOptions): Receive {
  async function receive(body: unknown, exchange?: Exchange): Promise<void> {
    if (Array.isArray(body)) {
      const kept = body.map((each) => forwarded(each, exchange)).filter((each) => each !== undefined);
      if (kept.length > 0) await write(kept);
      return;
    }
    const message = forwarded(body, exchange);
    if (message !== undefined) await write(message);
  }

  /** The message to forward to the client; undefined if it is not forwarded. */
  function forwarded(body: unknown, exchange: Exchange | undefined): object | undefined {
    if (!isObject(body)) {
      log("the server sent something that is not a JSON-RPC message");
      return undefined;
    }
    const method = own(body, "method");
    if (method === undefined) return exchange && answered(body, exchange);
    const id = own(body, "id");
    if (typeof id === "string" || typeof id === "number") return isNewQuestion(id, exchange) ? body : undefined;
    if (method === "notifications/subscriptions/acknowledged" && exchange) {
      if (exchange.confirmed) return undefined;
      exchange.confirmed = true;
    }
    return body;
  }

  function answered(body: Wire, exchange: Exchange): object | undefined {
    const id = own(body, "id");
    const given = typeof id === "string" || typeof id === "number" ? id : undefined;
    // An error about an unreadable message has no id. With one pending request, it must be about that request.
    const [only] = exchange.pending.size === 1 ? exchange.pending.values() : [];
    const about = given !== undefined && exchange.pending.has(idKey(given)) ? given : given === undefined ? only : undefined;
    if (about === undefined) return undefined;
    // A server that restarts ends its streams. The bridge opens them again without the client's involvement.
    if (isListen(exchange) && exchange.confirmed && Object.hasOwn(body, "result")) return undefined;
    exchange.pending.delete(idKey(about));
    if (exchange.requests.some(({ method }) => method === "tools/list")) schemas.learn(own(body, "result"));
    if (exchange.requests[0]?.method === "initialize" && exchange.revision === undefined) noteVersion(body);
    return given === undefined ? { ...body, id: about } : body;
  }

  function noteVersion(body: Wire): void {
    const version = agreedVersion(body);
    if (version !== undefined && memory.current) memory.current = { ...memory.current, version };
  }

  /** False for a question that the client has already received. If the client has answered it, the bridge sends that answer again. */
  function isNewQuestion(id: RequestId, exchange: Exchange | undefined): boolean {
    const session = exchange?.session ?? memory.current?.id;
    const known = questions.asked(id, session);
    if (known?.answer !== undefined) void deliver(known.answer, "an answer", session);
    return known === undefined;
  }

  return receive;
}
