/** Bounds on what a server may take and send (U4), where the client has none. */
import { type Client, type ClientOptions, SdkError, SdkErrorCode, type Transport } from "@modelcontextprotocol/client";
import { cut } from "@parley/core";
import type { SessionOwner } from "./session.ts";

/** Accepts every result: the caller validates it. A stranger's schemas are not compiled here; that would also take time for each session. */
export const NO_VALIDATOR: NonNullable<ClientOptions["jsonSchemaValidator"]> = {
  getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
};

/**
 * The client bounds the requests by which it connects, but neither the start of a stream, which may never name an endpoint, nor the reply to a
 * notification, whose body may never end. Returns the function that ends this, once the client is connected.
 */
export function boundConnecting(transport: Transport, timeoutMs: number): () => void {
  const start = transport.start.bind(transport);
  const send = transport.send.bind(transport);
  transport.start = () => inTime(start(), timeoutMs);
  transport.send = (message, options) => {
    const sent = send(message, options);
    return "id" in message ? sent : inTime(sent, timeoutMs);
  };
  return () => void (transport.send = send);
}

async function inTime(work: Promise<void>, timeoutMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new SdkError(SdkErrorCode.RequestTimeout, "Request timed out", { timeout: timeoutMs })), timeoutMs);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** In characters of JSON: what a server declares about itself. */
export const INTRODUCTION_CHARS_MAX = 65_536;

/** In characters: what is kept of the instructions of one server. */
export const INSTRUCTIONS_CHARS_MAX = 2_000;

/**
 * Returns the beginning of the server's instructions, and removes them from the client: a held call keeps its client, and with what an upstream may say
 * about itself, thousands of them would fill the memory.
 */
export function boundIntroduction(client: Client): string | undefined {
  const instructions = client.getInstructions();
  // The client has no option for it.
  Object.assign(client, { _instructions: undefined });
  const { length } = JSON.stringify([client.getServerCapabilities(), client.getServerVersion()]);
  if (length > INTRODUCTION_CHARS_MAX) throw new SdkError(SdkErrorCode.InvalidResult, "its capabilities are too large");
  return typeof instructions === "string" ? cut(instructions, INSTRUCTIONS_CHARS_MAX) : undefined;
}

const EVENTS_EXTENSION = "io.modelcontextprotocol/events";

/** Tells what a server declares as it is connected to: the client keeps only what it knows. */
export function watchIntroduction(transport: Transport, declared: (capabilities: Readonly<Record<string, unknown>>) => void): void {
  const watch: NonNullable<Transport["onmessage"]> = (message) => {
    const { result } = message as { readonly result?: { readonly capabilities?: unknown } };
    const { capabilities } = result ?? {};
    if (typeof capabilities === "object" && capabilities !== null) declared(capabilities as Readonly<Record<string, unknown>>);
  };
  // The client calls what it finds here before its own, but not while it asks which revisions the server has. Then it has its own when it starts.
  transport.onmessage = watch;
  const start = transport.start.bind(transport);
  transport.start = async () => {
    const { onmessage } = transport;
    transport.onmessage = (message, ...rest) => {
      watch(message, ...rest);
      onmessage?.(message, ...rest);
    };
    await start();
  };
}

/** As an extension or, as the design before said and ChatGPT looks for, as a capability of its own. */
export function declaresEvents({ events, extensions }: Readonly<Record<string, unknown>>): boolean {
  const isExtension = typeof extensions === "object" && extensions !== null && Object.hasOwn(extensions, EVENTS_EXTENSION);
  return isExtension || (typeof events === "object" && events !== null);
}

interface Flood {
  readonly messagesMax: number;
  readonly owner: SessionOwner;
}

/** Counts the messages of a call, and drops them once there are too many. Returns the function that resets the count. */
export function boundMessages(transport: Transport, { messagesMax, owner }: Flood): () => void {
  const { onmessage } = transport;
  let messages = 0;
  transport.onmessage = (...message) => {
    const { onFlood } = owner;
    messages += 1;
    if (!onFlood || messages <= messagesMax) onmessage?.(...message);
    else if (messages === messagesMax + 1) onFlood(`more than ${messagesMax} messages in one call`);
  };
  return () => void (messages = 0);
}
