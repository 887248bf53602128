/** What the commands around a question send. */
import { afterEach, expect, test, vi } from "vitest";
import type { ApiClient } from "../client/api-client.ts";
import { snooze, type Snoozing } from "./run.ts";

afterEach(() => void vi.restoreAllMocks());

async function snoozed(given: Snoozing) {
  vi.spyOn(process.stdout, "write").mockReturnValue(true);
  const post = vi.fn(async (_at: string, { body }: { readonly body: { readonly until?: string } }) => ({ receipt: "snoozed", ...body }));
  await snooze({ post } as unknown as ApiClient, { taskId: "0-a", key: "size" }, given);
  return post.mock.calls.map(([at, { body }]) => [at.split("/").at(-1), body.until && Date.parse(body.until) - Date.now()]);
}

test.each([
  [{ for: "4 hours" }, 4 * 3_600_000],
  // The server refuses it, and says what it takes.
  [{ for: "999999999 days" }, Date.parse("9999-12-31T00:00:00Z") - Date.now()],
] as const)("%j is sent as a time", async (given, ms) => {
  const [[at, sent] = []] = await snoozed(given);
  expect(at).toBe("snooze");
  expect(Math.abs(Number(sent) - ms)).toBeLessThan(60_000);
});

test("bringing a question back needs no time", async () => {
  expect(await snoozed({ back: true })).toEqual([["unsnooze", undefined]]);
});

test.each([[{}], [{ for: "1h", back: true }], [{ for: "1h", until: "2030-01-01T00:00:00Z" }]])(
  "%j is none or two of three",
  async (given) => {
    await expect(snoozed(given)).rejects.toThrow("say for how long (--for), until when (--until), or --back");
  },
);
