import { FEED_LENGTH_MAX, type FeedItem } from "@parley/core";
import { catalogue, defineTool } from "@parley/sdk";
import { describe, expect, test, vi } from "vitest";
import { rpc } from "../../../client.fixture.ts";
import { deploy } from "../../../deployment.fixture.ts";
import { openSession } from "../../../session-client.fixture.ts";
import { FEED_PAGE, feedPages, readFeedPage } from "./feed-pages.ts";

/** An endless feed of numbered items. */
function endless() {
  let read = 0;
  const feed = async (_taskId: string, cursor: string | undefined, limit = Infinity) => {
    const from = Number(cursor ?? 0);
    const items = Array.from({ length: limit }, (_, index): FeedItem => ({ type: "progress", progress: from + index }));
    read += limit;
    return { items, cursor: String(from + limit), cursors: items.map((_, index) => String(from + index + 1)) };
  };
  return { store: { feed }, read: () => read };
}

describe("the feed of a task", () => {
  const lines = 3 * FEED_PAGE + 1;
  const chatter = catalogue([
    defineTool({
      name: "chatter",
      run(_args, ctx) {
        for (let line = 0; line < lines; line += 1) ctx.log("info", line);
        return "said";
      },
    }),
  ]);
  const said = Array.from({ length: lines }, (_, line) => line);

  async function reading() {
    const { fronts, services } = await deploy({ catalogue: chatter, fronts: 1 });
    const feed = vi.spyOn(services.store, "feed");
    const read = async () => (await Promise.all(feed.mock.results.map(({ value }) => value))).map(({ items }) => items.length);
    return { front: fronts[0]!, read };
  }

  test("is read page by page to its end, for a call of a session", async () => {
    const { front, read } = await reading();
    const client = await openSession(front);
    const { messages } = await client.request(front, "tools/call", { name: "chatter", arguments: {} });
    expect(messages.flatMap(({ params }) => (params?.["data"] === undefined ? [] : [params["data"]]))).toEqual(said);
    expect(messages.at(-1)).toMatchObject({ result: { content: [{ text: "said" }] } });
    expect(Math.max(...(await read()))).toBe(FEED_PAGE);
  });

  test("is continued behind the last item that the client has read, and no item is sent twice", async () => {
    const { front } = await reading();
    const client = await openSession(front);
    let stream = await client.stream(front, "tools/call", { name: "chatter", arguments: {} });
    const received: unknown[] = [];
    for (let event = await stream.next(); ; event = await stream.next()) {
      if (event.result !== undefined) break;
      received.push(event.params?.["data"]);
      // In the middle of a page, at its end, and at its beginning.
      if (received.length % 5 !== 0) continue;
      stream.close();
      stream = await client.listen(front, event.eventId);
    }
    expect(received).toEqual(said);
  });

  test("is read page by page to its end, for a call without a session", async () => {
    const { front, read } = await reading();
    const meta = { "io.modelcontextprotocol/logLevel": "info" };
    const { notifications, result } = await rpc(front, "tools/call", { name: "chatter", arguments: {} }, { tasks: false, meta });
    expect(notifications.map(({ params }) => params?.["data"])).toEqual(said);
    expect(result).toMatchObject({ content: [{ text: "said" }] });
    expect(Math.max(...(await read()))).toBe(FEED_PAGE);
  });

  test("that grows faster than it is read is left for the next look after as many items as a feed keeps", async () => {
    const { store, read } = endless();
    let items = 0;
    for await (const page of feedPages(store, "task", await readFeedPage(store, "task", undefined))) items += page.items.length;
    expect(items).toBeGreaterThanOrEqual(FEED_LENGTH_MAX);
    expect(items).toBeLessThan(FEED_LENGTH_MAX + FEED_PAGE);
    expect(read()).toBe(items);
  });
});
