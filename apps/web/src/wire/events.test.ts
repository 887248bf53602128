import { expect, test } from "vitest";
import { createEventReader, type StreamEvent } from "./events.ts";

function read(chunks: readonly string[]): StreamEvent[] {
  const events: StreamEvent[] = [];
  const reader = createEventReader((event) => events.push(event));
  for (const chunk of chunks) reader(chunk);
  return events;
}

const STREAM =
  ': a comment\n\nid: 1\nretry: 1000\ndata: \n\nid: 2\nevent: message\ndata: {"a":\ndata: 1}\n\ndata: two\r\n\r\ndata: not over';

test("a stream is parsed into events, wherever chunks split it", () => {
  const expected = [
    { id: "1", data: "" },
    { id: "2", data: '{"a":\n1}' },
    { id: undefined, data: "two" },
  ];
  expect(read([STREAM])).toEqual(expected);
  expect(read(STREAM.split(""))).toEqual(expected);
  for (let at = 0; at <= STREAM.length; at += 1) expect(read([STREAM.slice(0, at), STREAM.slice(at)])).toEqual(expected);
});
