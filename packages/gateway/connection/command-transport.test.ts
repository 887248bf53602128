import { afterEach, expect, test } from "vitest";
import { CommandTransport } from "./command-transport.ts";

let transport: CommandTransport | undefined;
afterEach(() => transport?.close());

/** What a command that prints the lines is understood to have sent. */
async function readFrom(lines: readonly string[], count: number): Promise<unknown[]> {
  const script = `process.stdin.on("end", () => process.exit()).resume(); process.stdout.write(${JSON.stringify(lines.join("\n"))} + "\\n")`;
  transport = new CommandTransport({ command: process.execPath, args: ["-e", script], env: {}, messageBytesMax: 1_000_000 });
  const read: unknown[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  transport.onmessage = (message) => {
    read.push(message);
    if (read.length === count) resolve();
  };
  await transport.start();
  await promise;
  return read;
}

const RESULT = { content: [] };

test("responses of a command that are slightly wrong are read, each at once", async () => {
  const lines = [
    '{"jsonrpc":"2.0","id":1,"result":{"content":[]},"error":null}',
    '{"jsonrpc":"2.0","id":2,"result":{"content":[],"_meta":null}}',
    "not a message",
    '{"jsonrpc":"2.0","id":3,"error":{"message":"boom"}}',
    '{"jsonrpc":"2.0","id":4,"result":{"content":[]},"ts":1}\r',
    '{"id":5,"result":{"content":[]}}',
    '{"jsonrpc":"2.0","id":6,"result":null}',
    '{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"Grüße"}]}}',
  ];
  expect(await readFrom(lines, 7)).toMatchObject([
    { id: 1, result: RESULT },
    { id: 2, result: RESULT },
    { id: 3, error: { message: "boom" } },
    { id: 4, result: RESULT },
    { id: 5, result: RESULT },
    { id: 6, error: { message: "answered without a result" } },
    { id: 7, result: { content: [{ text: "Grüße" }] } },
  ]);
});

test("a message larger than one chunk is put together", async () => {
  const text = "ü".repeat(50_000);
  expect(await readFrom([JSON.stringify({ jsonrpc: "2.0", id: 1, result: { content: [{ type: "text", text }] } })], 1)).toMatchObject([
    { result: { content: [{ text }] } },
  ]);
});
