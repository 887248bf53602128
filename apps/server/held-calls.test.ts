/** A front end reads a task whose client holds its call open once for each change that it has not seen. */
import { expect, test, vi } from "vitest";
import { deploy, type Front } from "./deployment.fixture.ts";
import { openSession } from "./session-client.fixture.ts";
import { offered } from "./tools.fixture.ts";

async function counting() {
  const { fronts, services } = await deploy({ catalogue: offered });
  const [front] = fronts as [Front];
  const client = await openSession(front);
  const [load, feed] = [vi.spyOn(services.store, "load"), vi.spyOn(services.store, "feed")];
  return { front, client, reads: () => ({ load: load.mock.calls.length, feed: feed.mock.calls.length }) };
}

test("a call that ends at once is read once, at its end", async () => {
  const { front, client, reads } = await counting();
  const { messages } = await client.request(front, "tools/call", { name: "echo", arguments: { text: "hello" } });
  expect(messages).toMatchObject([{ result: { content: [{ text: "hello" }] } }]);
  expect(reads()).toEqual({ load: 1, feed: 1 });
});

test("a call that asks is read when it asks, at its answer, after it and at its end", async () => {
  const { front, client, reads } = await counting();
  const stream = await client.stream(front, "tools/call", { name: "greet", arguments: {} });
  const asked = await stream.next();
  expect(reads()).toEqual({ load: 1, feed: 1 });
  await client.reply(front, asked.id, { action: "accept", content: { name: "Ann" } });
  expect(await stream.next()).toMatchObject({ result: { content: [{ text: "Hello, Ann!" }] } });
  // The answer and the end may be seen in one read.
  const { load, feed } = reads();
  expect([load, feed]).toEqual(feed === 2 ? [3, 2] : [4, 3]);
});
