/** Several answers: each receipt belongs to its answer, also if some were sent again. */
import { expect, test } from "vitest";
import type { ApiClient, BatchAnswer, BatchReceipt } from "../client/api-client.ts";
import { sendAll } from "./batch.ts";

const answers = ["a", "b", "c", "d"].map((key): BatchAnswer => ({ taskId: "0-a", key, action: "decline" }));

test("answers that a rate refused are sent again, and those that it refuses for long are not", async () => {
  const sent: string[][] = [];
  const post = async (_path: string, { body }: { readonly body: { readonly answers: readonly BatchAnswer[] } }) => {
    sent.push(body.answers.map(({ key }) => key));
    const became = (key: string): Partial<BatchReceipt> => {
      if (key === "d") return { receipt: "refused", code: "QUOTA_EXCEEDED", retryAfterSeconds: 60 };
      const isTooSoon = (key === "b" && sent.length < 3) || (key === "c" && sent.length < 2);
      return isTooSoon ? { receipt: "refused", retryAfterSeconds: 0 } : { receipt: key === "c" ? "late" : "accepted" };
    };
    return { receipts: body.answers.map(({ taskId, key }) => ({ taskId, key, ...became(key) })) };
  };
  const receipts = await sendAll({ post } as unknown as ApiClient, answers, false);
  expect(receipts.map(({ key, receipt }) => `${key} ${receipt}`)).toEqual(["a accepted", "b accepted", "c late", "d refused"]);
  expect(sent).toEqual([["a", "b", "c", "d"], ["b", "c"], ["b"]]);
});
