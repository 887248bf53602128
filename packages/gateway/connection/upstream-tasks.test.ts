/** Messages of an upstream's responses, however its bytes arrive. */
import { describe, expect, test } from "vitest";
import { messagesOf } from "./upstream-tasks.ts";

function events(chunks: readonly (string | Uint8Array<ArrayBuffer>)[], type = "text/event-stream"): Response {
  const left = chunks.values();
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      const { done, value } = left.next();
      if (done === true) controller.close();
      else controller.enqueue(typeof value === "string" ? encoder.encode(value) : value);
    },
  });
  return new Response(body, { headers: { "content-type": type } });
}

async function read(response: Response): Promise<unknown[]> {
  const messages: unknown[] = [];
  for await (const message of messagesOf(response)) messages.push(message);
  return messages;
}

describe("the events of a stream", () => {
  const first = '{"id":1,"result":{"text":"Grüße 𝄞"}}';
  const second = '{"method":"notifications/progress"}';
  const text = `: hello\n\ndata: ${first}\r\n\r\nevent: message\rdata:${second}\r\rdata: {not json\n\ndata: {"id":\ndata: 3}\n\ndata: ${first}`;
  const messages = [JSON.parse(first), JSON.parse(second), { id: 3 }];

  test.each([1, 2, 3, 5, 1_000])("are read from chunks of %i bytes, and one that has not ended is dropped", async (size) => {
    const bytes = new TextEncoder().encode(text);
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.slice(at * size, (at + 1) * size));
    expect(await read(events(chunks))).toEqual(messages);
  });

  test("are recognised by their media type, whose case means nothing", async () => {
    expect(await read(events([`data: ${second}\n\n`], "Text/Event-Stream"))).toEqual([{ method: "notifications/progress" }]);
    expect(await read(events([second], "Application/JSON"))).toEqual([{ method: "notifications/progress" }]);
  });

  // A look at the whole event with each chunk would take more than a minute.
  test("are read in time that grows with their length, in however many chunks they come", { timeout: 30_000 }, async () => {
    const chunks = ['data: {"id":1,"result":{"text":"', ...Array.from({ length: 16_384 }, () => "x".repeat(256)), '"}}\n\n'];
    expect(await read(events(chunks))).toEqual([{ id: 1, result: { text: "x".repeat(256 * 16_384) } }]);
  });
});
