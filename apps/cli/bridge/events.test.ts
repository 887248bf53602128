/** The limits for a server's responses: each at the limit, and one beyond. */
import { describe, expect, test } from "vitest";
import { BODY_BYTES_MAX, readEvents, readText, RETRY_MS_MAX } from "./events.ts";

const MIB = 1_048_576;

/** A response with a body of this size. `isCancelled` tells whether the reader cancelled the rest. */
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
  test("is read in full at the limit", async () => {
    const { response, isCancelled } = sent(BODY_BYTES_MAX);
    expect((await readText(response)).length).toBe(BODY_BYTES_MAX);
    expect(isCancelled()).toBe(false);
  });

  test("is refused if it is one byte larger, and the rest is not read", async () => {
    const problem = `sent a body of more than ${BODY_BYTES_MAX} bytes`;
    await expect(readText(sent(BODY_BYTES_MAX + 1).response)).rejects.toThrow(problem);
    const { response, isCancelled } = sent(Infinity);
    await expect(readText(response)).rejects.toThrow(problem);
    expect(isCancelled()).toBe(true);
  });

  test("keeps characters that are split between chunks", async () => {
    const bytes = new TextEncoder().encode("„Grüße“");
    const body = new ReadableStream({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
        controller.close();
      },
    });
    expect(await readText(new Response(body))).toBe("„Grüße“");
  });

  test("is the empty string if there is none", async () => {
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
