/** What comes back: JSON-RPC messages, alone, in a batch, or as the events of a stream. */

/** Looked into freely: the judge says what must be there. */
export type Loose = { readonly [key: string]: Loose } & { readonly [index: number]: Loose } & string & number & boolean;

export interface Message {
  readonly jsonrpc?: unknown;
  readonly id?: string | number | null;
  readonly method?: string;
  readonly params?: Loose;
  readonly result?: Loose;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: Loose };
  /** Of the event that it came in. */
  readonly eventId?: string;
}

/** One body: a message, several, or none where it is no JSON. What HTTP itself refuses is told in JSON too, with a text as its error. */
export function readMessages(text: string): Message[] {
  try {
    const value = JSON.parse(text) as unknown;
    return (Array.isArray(value) ? value : [value]).filter(isMessage);
  } catch {
    return [];
  }
}

function isMessage(value: unknown): value is Message {
  return typeof value === "object" && value !== null && !("error" in value && typeof value.error === "string");
}

/** The complete events of a stream. One that has an id and no data is told as a message with nothing but that. */
export function readEvents(text: string): Message[] {
  return text
    .split("\n\n")
    .slice(0, -1)
    .flatMap((block) => {
      const lines = block.split("\n");
      const eventId = lines.find((line) => line.startsWith("id: "))?.slice("id: ".length);
      const data = lines.flatMap((line) => (line.startsWith("data: ") ? [line.slice("data: ".length)] : [])).join("\n");
      const [message] = data === "" ? [{}] : readMessages(data);
      if (message === undefined || (data === "" && eventId === undefined)) return [];
      return [{ ...message, ...(eventId !== undefined && { eventId }) }];
    });
}
