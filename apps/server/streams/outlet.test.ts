/** Over real connections, since what an outlet promises is about them: who has disconnected, and who does not read. */
import { type AddressInfo, connect, type Socket } from "node:net";
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { until } from "../../../test/support/until.ts";
import { Outlet } from "./outlet.ts";

const STALL_TIMEOUT_MS = 60_000;
const ANSWER = { httpStatus: 200, message: { jsonrpc: "2.0", id: 1, result: {} } } as const;

let app: FastifyInstance;
let beats: Set<() => void>;
/** By the name in its path. */
let outlets: Map<string, { outlet: Outlet; request: FastifyRequest; reply: FastifyReply }>;
let sockets: Socket[];

beforeEach(async () => {
  beats = new Set();
  outlets = new Map();
  sockets = [];
  app = fastify({ forceCloseConnections: true });
  app.decorateRequest("rpcError", undefined);
  app.decorateRequest("isCancelled", false);
  const heartbeat = {
    onBeat(beat: () => void) {
      beats.add(beat);
      return () => beats.delete(beat);
    },
    stop: () => beats.clear(),
  };
  app.get<{ Params: { name: string } }>("/:name", (request, reply) => {
    const outlet = new Outlet(request, reply, { heartbeat, stallTimeoutMs: STALL_TIMEOUT_MS });
    outlets.set(request.params.name, { outlet, request, reply });
  });
  await app.listen({ port: 0, host: "127.0.0.1" });
});
afterEach(async () => {
  vi.useRealTimers();
  for (const socket of sockets) socket.destroy();
  await app.close();
});

const beat = () => {
  for (const each of beats) each();
};

/** A client of its own connection, and what it has read so far. */
async function client(name: string) {
  const socket = connect((app.server.address() as AddressInfo).port, "127.0.0.1");
  sockets.push(socket);
  const client = { socket, read: "", isClosed: false };
  socket.setEncoding("utf8").on("data", (text: string) => (client.read += text));
  socket.on("error", () => undefined).on("close", () => (client.isClosed = true));
  socket.write(`GET /${name} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
  await until(() => outlets.has(name));
  return { ...outlets.get(name)!, client };
}

test("an answer is JSON as long as nothing was sent before, and then the last event of the stream", async () => {
  const [plain, streamed] = [await client("plain"), await client("streamed")];
  plain.outlet.answer(ANSWER);
  streamed.outlet.send({ jsonrpc: "2.0", method: "notifications/progress" });
  streamed.outlet.answer(ANSWER);
  await until(() => plain.client.read.includes('"result"') && streamed.client.read.includes('"result"'));
  expect(plain.client.read).toContain("content-type: application/json");
  expect(streamed.client.read).toContain("content-type: text/event-stream");
  expect(streamed.client.read.indexOf("progress")).toBeLessThan(streamed.client.read.indexOf('"result"'));
});

test("no stream is left among the heartbeat's, whether it was answered, ended, abandoned or left by its client", async () => {
  const ends: ((each: Awaited<ReturnType<typeof client>>) => unknown)[] = [
    ({ outlet }) => outlet.answer(ANSWER),
    ({ outlet }) => outlet.endUnanswered(1_000),
    ({ outlet }) => outlet.abandon(),
    (each) => each.client.socket.destroy(),
  ];
  for (const [i, end] of ends.entries()) {
    const each = await client(`ends-${i}`);
    each.outlet.open();
    expect(beats.size).toBe(1);
    end(each);
    await until(() => beats.size === 0);
  }
  // The client has left before the stream is opened.
  const late = await client("late");
  late.client.socket.destroy();
  await until(() => late.outlet.closed.aborted);
  late.outlet.open();
  expect(beats.size).toBe(0);
});

test("a stream gets a comment at each beat before which nothing was sent, and only that stream", async () => {
  const [talking, silent] = [await client("talking"), await client("silent")];
  talking.outlet.open();
  silent.outlet.open();
  const comments = ({ client: { read } }: typeof silent) => read.split("\n: keep-alive\n").length - 1;
  for (let i = 1; i <= 3; i += 1) {
    talking.outlet.send({ i });
    beat();
    await until(() => comments(silent) === i && talking.client.read.includes(`{"i":${i}}`));
  }
  expect(comments(talking)).toBe(0);
  // That something was sent counts for one beat.
  beat();
  await until(() => comments(talking) === 1 && comments(silent) === 4);
});

test("a client that has read nothing for too long is disconnected, and nobody else", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const [stalled, reading] = [await client("stalled"), await client("reading")];
  stalled.client.socket.pause();
  reading.outlet.open();
  fill(stalled.outlet);
  beat();
  vi.setSystemTime(Date.now() + STALL_TIMEOUT_MS);
  beat();
  await until(() => stalled.outlet.closed.aborted);
  expect(reading.outlet.closed.aborted).toBe(false);
  reading.outlet.send({ still: "here" });
  await until(() => reading.client.read.includes("still"));
});

test("a client that stalls, reads all, and stalls again has the whole time again", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const { outlet, reply, client: each } = await client("again");
  each.socket.pause();
  fill(outlet);
  beat();
  each.socket.resume();
  await outlet.drained();
  beat();
  each.socket.pause();
  vi.setSystemTime(Date.now() + STALL_TIMEOUT_MS);
  fill(outlet);
  beat();
  expect(reply.raw.destroyed).toBe(false);
  vi.setSystemTime(Date.now() + STALL_TIMEOUT_MS);
  beat();
  await until(() => outlet.closed.aborted);
});

test("a sender that waits until its client has read goes on when it has, or has left, and leaves no listener behind", async () => {
  const { outlet, reply, client: each } = await client("slow");
  const listening = () => ["drain", "close"].map((event) => reply.raw.listenerCount(event));
  outlet.open();
  const before = listening();
  each.socket.pause();
  fill(outlet);
  const read = [outlet.drained(), outlet.drained()];
  expect(listening()).not.toEqual(before);
  each.socket.resume();
  await Promise.all(read);
  expect(listening()).toEqual(before);
  each.socket.pause();
  fill(outlet);
  const left = outlet.drained();
  each.socket.destroy();
  await left;
  await outlet.drained();
  expect(listening()).toEqual(before);
});

test("an error is noted for its own request only, and one that follows a cancellation as no failure", async () => {
  const [failed, cancelled, fine] = [await client("failed"), await client("cancelled"), await client("fine")];
  const error = { httpStatus: 200, message: { jsonrpc: "2.0", id: 1, error: { code: -32603, message: "Internal error" } } } as const;
  failed.outlet.answer(error);
  cancelled.outlet.send({ i: 1 });
  cancelled.outlet.answer({ ...error, isCancelled: true });
  fine.outlet.answer(ANSWER);
  expect([failed, cancelled, fine].map(({ request: { rpcError, isCancelled } }) => [rpcError, isCancelled])).toEqual([
    [-32603, false],
    [-32603, true],
    [undefined, false],
  ]);
});

/** Sends more than the buffers of both ends hold. */
function fill(outlet: Outlet): void {
  for (let i = 0; i < 40; i += 1) outlet.send({ filler: "x".repeat(1_000_000) });
}
