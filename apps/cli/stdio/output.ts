/** Writes messages to the client, one per line. */
import { once } from "node:events";
import type { Writable } from "node:stream";

export interface Output {
  /** Resolves when there is room for more. If the client is gone, messages are discarded. */
  write(message: unknown): Promise<void>;
}

/** `onBlocked` is called when the client reads too slowly, and `onDrained` when it has caught up. */
export function messageOutput(stream: Writable, { onBlocked, onDrained }: { onBlocked(): void; onDrained(): void }): Output {
  let drained: Promise<void> | undefined;
  async function drain(): Promise<void> {
    onBlocked();
    // A stream that fails never drains.
    await once(stream, "drain").catch(() => undefined);
    drained = undefined;
    onDrained();
  }
  return {
    async write(message) {
      await drained;
      if (stream.destroyed || !stream.writable) return;
      if (!stream.write(`${JSON.stringify(message)}\n`)) await (drained ??= drain());
    },
  };
}
