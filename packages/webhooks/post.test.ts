/** POSTs to real receivers: by which connections they go, and where they do not go. */
import { getEventListeners } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { hostname } from "node:os";
import { expect, onTestFinished, test } from "vitest";
import { IN_TIME } from "../../test/support/in-time.ts";
import { KEPT_MAX, KEPT_OF_ONE_MAX, keptConnections } from "./connections.ts";
import { post, type Posted } from "./post.ts";

interface Receiver {
  readonly port: number;
  /** In the order of their first request. */
  readonly sockets: Set<Socket>;
  requests: number;
  /** Whether the newest request came by a connection that was used before. */
  isReused: boolean;
}

type React = (response: ServerResponse, request: IncomingMessage, receiver: Receiver) => void;

async function startReceiver(react: React = (response) => response.end("{}")): Promise<Receiver> {
  const server: Server = createServer((request, response) => {
    request.resume().on("end", () => {
      receiver.isReused = receiver.sockets.has(request.socket);
      receiver.sockets.add(request.socket);
      receiver.requests += 1;
      react(response, request, receiver);
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const receiver: Receiver = { port: (server.address() as AddressInfo).port, sockets: new Set(), requests: 0, isReused: false };
  return receiver;
}

const given = { headers: {}, body: "{}", timeoutMs: 5_000, isPrivate: true, signal: new AbortController().signal };
const postTo = ({ port }: Receiver, more: Partial<Parameters<typeof post>[0]> = {}): Promise<Posted> =>
  post({ ...given, url: new URL(`http://127.0.0.1:${port}/`), ...more });

test("a name that resolves to a private address is not connected to, also where a connection to it is kept", async () => {
  const receiver = await startReceiver();
  const { port } = receiver;
  const refused = { type: "failed", why: "address_refused" };
  // This machine's own name resolves to loopback or to a private address, or to none.
  const own = new URL(`http://${hostname()}:${port}/`);
  await post({ ...given, url: own });
  expect(await postTo(receiver)).toEqual({ type: "answered", status: 200 });
  const before = receiver.requests;
  expect(await post({ ...given, url: own, isPrivate: false })).toMatchObject({ type: "failed" });
  expect(await postTo(receiver, { isPrivate: false })).toEqual(refused);
  expect(await post({ ...given, url: new URL(`http://2130706433:${port}/`), isPrivate: false })).toEqual(refused);
  expect(receiver.requests).toBe(before);
});

test("one after the other goes by one connection, which ends when it is not used", async () => {
  const receiver = await startReceiver();
  // oxlint-disable-next-line no-await-in-loop -- one after the other
  for (let index = 0; index < 20; index++) expect(await postTo(receiver)).toEqual({ type: "answered", status: 200 });
  expect(receiver.sockets.size).toBe(1);
  const [socket] = receiver.sockets;
  await expect.poll(() => socket?.destroyed, { timeout: 8_000 }).toBe(true);
}, 10_000);

test("a receiver that ends a connection as it is used again gets what is posted by another one", async () => {
  const receiver = await startReceiver((response, { socket }, { isReused }) => {
    if (isReused) socket.destroy();
    else response.end("{}");
  });
  // oxlint-disable-next-line no-await-in-loop -- one after the other
  for (let index = 0; index < 3; index++) expect(await postTo(receiver)).toEqual({ type: "answered", status: 200 });
  expect(receiver.requests).toBe(4);
});

test("a receiver that ends every connection is told from one that answers, after a second attempt at most", async () => {
  let isBroken = false;
  const receiver = await startReceiver((response, { socket }) => (isBroken ? void socket.destroy() : void response.end("{}")));
  await postTo(receiver);
  isBroken = true;
  expect(await postTo(receiver)).toEqual({ type: "failed", why: "connection_refused" });
  expect(receiver.requests).toBe(3);
});

test("both attempts together have the time of one", IN_TIME, async () => {
  const receiver = await startReceiver((response, { socket }, { requests }) => {
    if (requests === 1) response.end("{}");
    else if (requests === 2) setTimeout(() => socket.destroy(), 200);
  });
  await postTo(receiver);
  const startedMs = performance.now();
  expect(await postTo(receiver, { timeoutMs: 400 })).toEqual({ type: "failed", why: "timeout" });
  expect(performance.now() - startedMs).toBeLessThan(590);
});

test("an answer that is larger than it may be counts, and its connection is not used again", async () => {
  const receiver = await startReceiver((response) => response.end("x".repeat(1_000_000)));
  expect(await postTo(receiver)).toMatchObject({ type: "answered", status: 200 });
  expect(await postTo(receiver)).toMatchObject({ type: "answered", status: 200 });
  expect(receiver.sockets.size).toBe(2);
});

test("a receiver is left as many connections as the limit, and so are all receivers", IN_TIME, async () => {
  const kept = keptConnections();
  const one = await startReceiver((response) => setTimeout(() => response.end("{}"), 100));
  await Promise.all(Array.from({ length: KEPT_OF_ONE_MAX + 4 }, () => postTo(one)));
  expect(one.sockets.size).toBe(KEPT_OF_ONE_MAX + 4);
  await expect.poll(() => keptConnections() - kept, { timeout: 1_000 }).toBe(KEPT_OF_ONE_MAX);
  const others = await Promise.all(Array.from({ length: KEPT_MAX }, () => startReceiver()));
  await Promise.all(others.map((other) => postTo(other)));
  // Sooner than those that are not used end.
  await expect.poll(keptConnections, { timeout: 1_000 }).toBe(KEPT_MAX);
});

test("one that is stopped ends at once, and its signal is left alone by those that are over", async () => {
  const stopping = new AbortController();
  const receiver = await startReceiver((response, _request, { requests }) => void (requests === 1 && response.end("{}")));
  await postTo(receiver, { signal: stopping.signal });
  expect(getEventListeners(stopping.signal, "abort")).toHaveLength(0);
  const waiting = postTo(receiver, { signal: stopping.signal });
  await expect.poll(() => receiver.requests).toBe(2);
  stopping.abort();
  await expect(waiting).rejects.toThrow();
  await expect(postTo(receiver, { signal: stopping.signal })).rejects.toThrow();
});
