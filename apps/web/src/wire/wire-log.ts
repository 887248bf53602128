/**
 * A log of the messages on the wire. The number of messages, the characters of each and their sum are limited; the oldest messages are dropped.
 */
export type Direction = "out" | "in";

export interface WireEntry {
  readonly id: number;
  readonly atMs: number;
  readonly direction: Direction;
  /** A method, or `result of` or `error of` a method. */
  readonly label: string;
  /** How it travelled: `POST`, `200`, `stream`. */
  readonly how: string;
  /** The message as JSON on one line. */
  readonly text: string;
  /** Characters that were cut off. */
  readonly cut: number;
}

export interface WireLog {
  readonly entries: readonly WireEntry[];
  /** Number of messages that were dropped. */
  readonly dropped: number;
  add(direction: Direction, message: unknown, how: string): void;
  clear(): void;
}

export interface WireLogOptions {
  readonly now: () => number;
  readonly onChange: () => void;
  readonly entriesMax?: number;
  readonly charsMax?: number;
  readonly entryCharsMax?: number;
}

const METHODS_MAX = 1_000;

export function createWireLog({ now, onChange, entriesMax = 400, charsMax = 4_000_000, entryCharsMax = 200_000 }: WireLogOptions): WireLog {
  let entries: WireEntry[] = [];
  let chars = 0;
  let ids = 0;
  let dropped = 0;
  /** Methods by request id, for the labels of results. */
  const methods = new Map<string, string>();

  function labelOf(message: unknown): string {
    if (!isObject(message)) return Array.isArray(message) ? `batch of ${message.length}` : "message";
    const { id, method } = message;
    if (typeof method === "string") {
      if (id !== undefined) {
        methods.set(JSON.stringify(id), method);
        if (methods.size > METHODS_MAX) methods.delete(methods.keys().next().value ?? "");
      }
      return method;
    }
    const answered = methods.get(JSON.stringify(id)) ?? "a request";
    return "error" in message ? `error of ${answered}` : `result of ${answered}`;
  }

  return {
    get entries() {
      return entries;
    },
    get dropped() {
      return dropped;
    },
    add(direction, message, how) {
      const whole = JSON.stringify(message) ?? "";
      const text = whole.slice(0, entryCharsMax);
      const entry = { id: (ids += 1), atMs: now(), direction, label: labelOf(message), how, text, cut: whole.length - text.length };
      chars += text.length;
      const next = [...entries, entry];
      while (next.length > entriesMax || (chars > charsMax && next.length > 1)) {
        chars -= next.shift()?.text.length ?? 0;
        dropped += 1;
      }
      entries = next;
      onChange();
    },
    clear() {
      entries = [];
      chars = 0;
      dropped = 0;
      onChange();
    },
  };
}

/** Whether all words of the query occur in the label or the text. */
export function matches({ label, text }: WireEntry, query: string): boolean {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const said = `${label}\n${text}`.toLowerCase();
  return words.every((word) => said.includes(word));
}

/** Indents a message. Text that was cut is not valid JSON and stays as it is. */
export function pretty({ text, cut }: WireEntry): string {
  return cut > 0 ? `${text}… ${cut} more characters` : JSON.stringify(JSON.parse(text), undefined, 2);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
