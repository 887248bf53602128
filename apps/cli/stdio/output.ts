/** Messages to the client, one on each line. */
import { once } from "node:events";
import type { Writable } from "node:stream";

export interface Output {
  /** Resolves when there is room for more. A client that is gone takes everything. */
  write(message: unknown): Promise<void>;
}

/** `onBlocked` is called when the client reads too slowly, and `onDrained` when it has caught up. */
export function messageOutput(stream: Writable, { onBlocked, onDrained }: { onBlocked(): void; onDrained(): void }): Output {
  let drained: Promise<void> | undefined;
  async function drain(): Promise<void> {
    onBlocked();
    // A stream that fails will never drain, and nobody reads it.
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
