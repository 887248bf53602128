/**
 * The limit of what clients have not read yet, over all connections: one message on each of thousands of streams would fill the memory of the process
 * before the first of them has stalled for too long. Beyond the limit, those connections are dropped whose clients have had something to read for the
 * longest.
 */
import type { Socket } from "node:net";
import type { Log } from "@parley/core";
import type { FastifyInstance } from "fastify";
import type { Limits } from "../front-end/limits.ts";

interface UnreadLimits {
  readonly limits: Pick<Limits, "unreadBytesMax">;
  readonly log: Log;
}

const LOOK_EVERY_MS = 250;
const LOG_EVERY_MS = 60_000;

export function limitUnread(server: FastifyInstance, { limits: { unreadBytesMax: most }, log }: UnreadLimits): void {
  const sockets = new Set<Socket>();
  /** Those whose clients had something to read at the last look. Longest first. */
  const unread = new Set<Socket>();
  let dropped = 0;
  let loggedAtMs = -Infinity;

  server.server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => {
      sockets.delete(socket);
      unread.delete(socket);
    });
  });

  function look(): void {
    let bytes = 0;
    for (const socket of sockets) {
      bytes += socket.writableLength;
      if (socket.writableLength > 0) unread.add(socket);
      else unread.delete(socket);
    }
    for (const socket of unread) {
      if (bytes <= most) break;
      bytes -= socket.writableLength;
      dropped += 1;
      socket.destroy();
    }
    if (dropped === 0 || performance.now() - loggedAtMs < LOG_EVERY_MS) return;
    log.warn({ dropped, most }, "connections dropped: their clients do not read what they are sent (PARLEY_UNREAD_BYTES_MAX)");
    loggedAtMs = performance.now();
    dropped = 0;
  }

  const timer = setInterval(look, LOOK_EVERY_MS).unref();
  server.addHook("onClose", (_server, done) => {
    clearInterval(timer);
    done();
  });
}
