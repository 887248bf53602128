/**
 * The memory in use of a process, read with its inspector after a garbage collection. Resident memory also includes garbage and memory that
 * was freed.
 */
import { once } from "node:events";

/** Bytes of JavaScript heap that are still reachable in the process whose inspector listens on `port`. */
export async function liveHeapBytes(port: number): Promise<number> {
  const [target] = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as { webSocketDebuggerUrl: string }[];
  if (!target) throw new Error(`nothing to inspect on port ${port}`);
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  await once(socket, "open");
  try {
    // Twice: what finalizers let go in the first is gone after the second.
    await ask(socket, "HeapProfiler.collectGarbage");
    await ask(socket, "HeapProfiler.collectGarbage");
    const { usedSize } = (await ask(socket, "Runtime.getHeapUsage")) as { usedSize: number };
    return usedSize;
  } finally {
    socket.close();
  }
}

let asked = 0;

async function ask(socket: WebSocket, method: string): Promise<unknown> {
  asked += 1;
  const id = asked;
  socket.send(JSON.stringify({ id, method }));
  for (;;) {
    const [event] = (await once(socket, "message")) as [{ data: string }];
    const reply = JSON.parse(event.data) as { id?: number; result?: unknown };
    if (reply.id === id) return reply.result;
  }
}
