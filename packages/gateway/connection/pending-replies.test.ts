/** Replies to the requests of an upstream. */
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { expect, test } from "vitest";
import { boundReplies, REPLIES_AT_ONCE, REPLIES_WAITING_MAX } from "./pending-replies.ts";

const reply = (id: number): JSONRPCMessage => ({ jsonrpc: "2.0", id, result: {} });

/** A transport whose messages are sent when the test lets them. */
function stuck() {
  const under: (() => void)[] = [];
  const sent: JSONRPCMessage[] = [];
  let closed = 0;
  let floods = 0;
  const transport: Transport = {
    start: async () => undefined,
    close: async () => void (closed += 1),
    send: (message) => new Promise((resolve) => under.push(() => resolve(void sent.push(message)))),
  };
  boundReplies(transport, () => (floods += 1));
  return { transport, under, sent, counts: () => ({ closed, floods }) };
}

test("as many as may wait are sent, a few at a time; one more closes the connection", async () => {
  const { transport, under, sent, counts } = stuck();
  const most = REPLIES_AT_ONCE + REPLIES_WAITING_MAX;
  const all = Array.from({ length: most }, (_, id) => transport.send(reply(id)));
  expect([under.length, counts()]).toEqual([REPLIES_AT_ONCE, { closed: 0, floods: 0 }]);
  for (let done = 0; done < most; done += 1) {
    under[done]!();
    await all[done];
    expect(under.length).toBe(Math.min(done + 1 + REPLIES_AT_ONCE, most));
  }
  expect(sent).toHaveLength(most);

  const more = Array.from({ length: most + 2 }, (_, id) => transport.send(reply(id)));
  expect(counts()).toEqual({ closed: 1, floods: 1 });
  for (let done = most; done < most + REPLIES_AT_ONCE; done += 1) under[done]!();
  await Promise.all(more);
  expect(under).toHaveLength(most + REPLIES_AT_ONCE);
});

test("requests do not wait for them", async () => {
  const { transport, under } = stuck();
  for (let id = 0; id <= REPLIES_AT_ONCE; id += 1) void transport.send(reply(id));
  void transport.send({ jsonrpc: "2.0", id: 1, method: "ping" });
  expect(under).toHaveLength(REPLIES_AT_ONCE + 1);
});
