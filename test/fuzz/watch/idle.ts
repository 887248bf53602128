/** Connections that send nothing, half of a head or half of a body, and then nothing more. The server must close them in the end. */
import { connect, type Socket } from "node:net";
import type { RunFinding } from "../rules.ts";
import type { System } from "../system.ts";

const OPENINGS: Readonly<Record<string, string>> = {
  "says nothing": "",
  "sent half a head": "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: app",
  "sent half a body": 'POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"jsonrpc"',
};
const CLOSED_WITHIN_MS = 180_000;

export interface Idle {
  /** Nothing is judged before their time has come. */
  stop(): readonly RunFinding[];
}

export function holdIdle({ frontEnds }: System): Idle {
  const openedAtMs = performance.now();
  const held: { readonly what: string; readonly socket: Socket }[] = [];
  for (const { url } of frontEnds) {
    for (const [what, text] of Object.entries(OPENINGS)) {
      const socket = connect({ port: Number(new URL(url).port), host: "127.0.0.1" });
      socket.on("error", () => undefined);
      socket.resume();
      socket.write(text);
      held.push({ what, socket });
    }
  }
  return {
    stop() {
      const open = held.filter(({ socket }) => !socket.destroyed && socket.readable);
      for (const { socket } of held) socket.destroy();
      if (performance.now() - openedAtMs < CLOSED_WITHIN_MS) return [];
      return [...new Set(open.map(({ what }) => what))].map((what) => ({
        rule: "idle",
        what: `a connection that ${what} is open after three minutes`,
      }));
    },
  };
}
