/** The bounds of what a server may send: each at the limit, and one beyond. */
import { describe, expect, test } from "vitest";
import { BODY_BYTES_MAX, readEvents, readText, RETRY_MS_MAX } from "./events.ts";

const MIB = 1_048_576;

/** A body of so many bytes; `isCancelled` says whether the rest of it was refused. */
function sent(bytes: number) {
  let left = bytes;
  let isCancelled = false;
  const body = new ReadableStream({
    pull(controller) {
      const size = Math.min(left, MIB);
      if (size === 0) return controller.close();
      left -= size;
      controller.enqueue(new Uint8Array(size).fill(32));
    },
    cancel() {
      isCancelled = true;
    },
  });
  return { response: new Response(body), isCancelled: () => isCancelled };
}

describe("a body", () => {
  test("is read whole at the limit", async () => {
    const { response, isCancelled } = sent(BODY_BYTES_MAX);
    expect((await readText(response)).length).toBe(BODY_BYTES_MAX);
    expect(isCancelled()).toBe(false);
  });

  test("of one byte more is refused, and its rest is not read", async () => {
    const problem = `sent a body of more than ${BODY_BYTES_MAX} bytes`;
    await expect(readText(sent(BODY_BYTES_MAX + 1).response)).rejects.toThrow(problem);
    const { response, isCancelled } = sent(Infinity);
    await expect(readText(response)).rejects.toThrow(problem);
    expect(isCancelled()).toBe(true);
  });

  test("keeps a character that arrives in two chunks", async () => {
    const bytes = new TextEncoder().encode("„Grüße“");
    const body = new ReadableStream({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
        controller.close();
      },
    });
    expect(await readText(new Response(body))).toBe("„Grüße“");
  });

  test("that is absent is empty", async () => {
    expect(await readText(new Response(null, { status: 204 }))).toBe("");
  });
});

test.each([
  [RETRY_MS_MAX, RETRY_MS_MAX],
  [RETRY_MS_MAX + 1, RETRY_MS_MAX],
  [99_999_999_999_999, RETRY_MS_MAX],
])("a wait of %d ms before a stream is opened again becomes %d ms", async (asked, taken) => {
  const waits: number[] = [];
  await readEvents(new Response(`retry: ${asked}\n\n`), { onMessage: async () => undefined, onRetry: (ms) => waits.push(ms) });
  expect(waits).toEqual([taken]);
});
