/** What became of an answer, by what the API says. */
import { expect, test } from "vitest";
import { ApiError, type ApiClient, type OpenAsk } from "../client/api-client.ts";
import { sendAnswer } from "./answer-ask.ts";

type Problem = ConstructorParameters<typeof ApiError>[0];
const ASK = { taskId: "0-a", key: "size", digest: "d" } as OpenAsk;

async function sent(problem: object) {
  const post = async () => Promise.reject(new ApiError({ detail: "no", ...problem } as Problem));
  return await sendAnswer({ post } as unknown as ApiClient, ASK, { action: "accept", content: {} });
}

test.each([
  ["closed", { status: 409, receipt: "late" }, { type: "late" }],
  ["gone", { status: 404 }, { type: "late" }],
  ["handed on meanwhile", { status: 403, receipt: "forbidden" }, { type: "late", how: "is a question for others now" }],
  ["not fitting", { status: 422, receipt: "invalid", violations: [{ path: "/size", message: "is required" }] }, { type: "refused" }],
])("a question that is %s leaves the rest of a list to be asked", async (_what, problem, became) => {
  expect(await sent(problem)).toMatchObject(became);
});

test.each([[{ status: 403, receipt: "login_required" }], [{ status: 403, code: "SCOPE_INSUFFICIENT" }], [{ status: 503 }]])(
  "what is not about the answer is thrown: %j",
  async (problem) => {
    await expect(sent(problem)).rejects.toThrow(ApiError);
  },
);
