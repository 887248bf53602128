import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

export type TcpProxy = Awaited<ReturnType<typeof startProxy>>;

/** A connection to a local server that a test can freeze (it stays open, nothing passes), cut, make slow, or let lose a reply. */
export async function startProxy(targetPort: number) {
  const sockets = new Set<Socket>();
  let frozen = false;
  let delayMs = 0;
  let turns = 0;
  let isAsking = false;
  let unanswered: string | undefined;
  let lost = 0;
  const server = createServer((client) => {
    const target = connect(targetPort, "127.0.0.1");
    for (const socket of [client, target]) {
      sockets.add(socket);
      // As Redis and its clients do: a proxy that gathers packets would add 40 ms.
      socket.setNoDelay(true);
      socket.on("error", () => undefined); // cut on purpose
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        target.destroy();
      });
    }
    let isLost = false;
    client.on("data", (sent: Buffer) => {
      if (!isAsking) turns += 1;
      isAsking = true;
      if (unanswered === undefined || !sent.includes(unanswered)) return;
      isLost = true;
      unanswered = undefined;
    });
    target.on("data", () => {
      isAsking = false;
      if (!isLost) return;
      lost += 1;
      client.destroy();
    });
    forward(client, target);
    forward(target, client);
    if (frozen) hold(client, target);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");

  /** Each piece is delayed by the value at its arrival, and none overtakes another. */
  function forward(from: Socket, to: Socket): void {
    const onTheWay: { readonly piece: Buffer; readonly dueMs: number }[] = [];
    const deliver = () => {
      for (let next = onTheWay[0]; next; next = onTheWay[0]) {
        const restMs = next.dueMs - performance.now();
        if (restMs > 0) {
          setTimeout(deliver, restMs);
          return;
        }
        onTheWay.shift();
        to.write(next.piece);
      }
    };
    from.on("data", (piece: Buffer) => {
      onTheWay.push({ piece, dueMs: performance.now() + delayMs });
      // The first one on its way has set the timer for all that follow.
      if (onTheWay.length === 1) deliver();
    });
    from.on("end", () => to.end());
  }

  function hold(...held: Socket[]): void {
    for (const socket of held) socket.pause();
  }
  return {
    port: address.port,
    /** How often a client has sent something after the target last answered: round trips. */
    turns: () => turns,
    freeze() {
      frozen = true;
      hold(...sockets);
    },
    thaw() {
      frozen = false;
      for (const socket of sockets) socket.resume();
    },
    /** Delays each piece by this from now on, in both directions. */
    slow(ms: number) {
      delayMs = ms;
    },
    /** Ends the connection when the target replies to the next message with this text: it has done what it was asked. */
    loseReplyTo(text: string) {
      unanswered = text;
    },
    /** How many replies were lost. */
    lost: () => lost,
    /** Ends open connections; new ones are accepted. */
    cut() {
      for (const socket of sockets) socket.destroy();
    },
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
