/** What an approver learns in a terminal after the answer. */
import { afterEach, expect, test, vi } from "vitest";
import type { ApiClient, Ask } from "../client/api-client.ts";
import { tellTests } from "./lesson.ts";

afterEach(() => void vi.restoreAllMocks());

async function told(asks: readonly object[], read: () => Promise<object>) {
  const written: string[] = [];
  vi.spyOn(process.stderr, "write").mockImplementation((text) => (written.push(String(text)), true));
  const get = vi.fn(read as () => Promise<Ask>);
  await tellTests({ get } as unknown as ApiClient, asks as Parameters<typeof tellTests>[1]);
  return { text: written.join(""), reads: get.mock.calls.length };
}

const OPS = { to: { groups: ["ops"] } };
const ASKED = { taskId: "0-a\u001b[2J", key: "approval", audience: OPS };

test.each([
  [
    "a test",
    [ASKED],
    { state: "settled", isTest: true },
    "approval of task 0-a was a test: nobody made this call, and nothing ran. The right answer was no.",
    1,
  ],
  ["a call", [ASKED], { state: "settled" }, "", 1],
  ["one for which others are missing", [ASKED], { state: "accepted" }, "", 1],
  ["two", [ASKED, { ...ASKED, taskId: "0-b" }], { state: "settled", isTest: true }, /of task 0-a was a test[^]*of task 0-b was a test/, 2],
  ["a question to the caller, which is read no further", [{ taskId: "0-a", key: "size" }], { state: "settled", isTest: true }, "", 0],
] as const)("of %s", async (_what, asks, read, says, reads) => {
  const { text, reads: done } = await told(asks, async () => read);
  expect(text.trim()).toEqual(typeof says === "string" ? says : expect.stringMatching(says));
  expect(done).toBe(reads);
});

test("nothing if it cannot be read: the answer counts", async () => {
  expect((await told([ASKED], () => Promise.reject(new Error("away")))).text).toBe("");
});
