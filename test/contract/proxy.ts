import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** A connection to a local server that a test can freeze (it stays open, nothing passes) or cut. */
export async function startProxy(targetPort: number) {
  const sockets = new Set<Socket>();
  let frozen = false;
  const server = createServer((client) => {
    const target = connect(targetPort, "127.0.0.1");
    for (const socket of [client, target]) {
      sockets.add(socket);
      socket.on("error", () => undefined); // cut on purpose
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        target.destroy();
      });
    }
    client.pipe(target);
    target.pipe(client);
    if (frozen) hold(client, target);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");

  function hold(...held: Socket[]): void {
    for (const socket of held) socket.pause();
  }
  return {
    port: address.port,
    freeze() {
      frozen = true;
      hold(...sockets);
    },
    thaw() {
      frozen = false;
      for (const socket of sockets) socket.resume();
    },
    /** Ends the connections that are open; new ones are taken. */
    cut() {
      for (const socket of sockets) socket.destroy();
    },
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
