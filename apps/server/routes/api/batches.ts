/** Several answers in one request: a preview, and a receipt for each. One that is refused takes back no other. */
import { isCounted, judgeReply, openAsk, ParleyError, readAsk, type Receipt, SCOPES, unmet, type Violation } from "@parley/core";
import { z } from "zod";
import type { FrontEnd } from "../../front-end/front-end.ts";
import { answerFields, isReasonWithDecline, REASON_WITH_DECLINE, replyOf } from "./ask-shapes.ts";
import { answerOne, orLate } from "./asks.ts";
import { DOOR, operation, type Operation, type Work } from "./operation.ts";
import { Refused } from "./problems.ts";
import { named, text, violation } from "./shapes.ts";

const item = named(
  "BatchAnswer",
  z
    .strictObject({ taskId: text(300, 1), key: text(1_000, 1), ...answerFields }, { error: "must be an object" })
    .refine(isReasonWithDecline, REASON_WITH_DECLINE),
);
type Item = z.output<typeof item>;

const receipt = named(
  "BatchReceipt",
  z.object({
    taskId: z.string(),
    key: z.string(),
    receipt: z
      .enum(["valid", "accepted", "duplicate", "late", "invalid", "forbidden", "login_required", "unknown", "refused"])
      .describe(
        "`valid`: in a preview, this answer would count. `login_required`: only an answer after a login in a browser counts. `unknown`: there is no such question for the caller. `refused`: see `code`",
      ),
    missing: z.number().optional().describe("How many more people must accept"),
    violations: z.array(violation).readonly().optional(),
    code: z.string().optional().describe("As in docs/errors.md"),
    retryAfterSeconds: z.number().optional(),
  }),
);
type BatchReceipt = z.output<typeof receipt>;

/** Answers that one request works on at the same time. */
const TOGETHER = 8;

export const BATCH_OPERATIONS: readonly Operation[] = [
  operation({
    name: "answerAsks",
    method: "post",
    path: "/asks/batch",
    group: "Questions",
    summary: "Answers several questions, or with `preview` says which answers would count",
    description:
      "Each answer has its own receipt, in the order of the request, and counts on its own. Each counts against the caller's rates.",
    scopes: [SCOPES.answer],
    body: named(
      "Batch",
      z.strictObject(
        {
          answers: z
            .array(item, { error: "must be a list" })
            .min(1, { error: "must not be empty" })
            .describe("At most PARLEY_REPLIES_MAX, 64 by default"),
          preview: z.boolean({ error: "must be true or false" }).default(false),
        },
        { error: "must be an object" },
      ),
    ),
    result: named("BatchReceipts", z.object({ receipts: z.array(receipt) })),
    isWhole: ({ receipts }) => receipts.every(({ receipt: each }) => each === "accepted" || each === "duplicate"),
    async handle(work) {
      const { answers, preview } = work.body;
      const { repliesMax } = work.frontEnd.services.settings;
      if (answers.length > repliesMax) {
        throw new ParleyError(
          "TOO_MANY_ANSWERS",
          `${answers.length} answers in one request; the limit is ${repliesMax} (PARLEY_REPLIES_MAX)`,
        );
      }
      const named = new Set(answers.map(({ taskId, key }) => JSON.stringify([taskId, key])));
      if (named.size < answers.length) throw new Refused({ status: 400, detail: "answers has several for one question: send one" });
      const receipts: BatchReceipt[] = [];
      for (let at = 0; at < answers.length; at += TOGETHER) {
        const part = answers.slice(at, at + TOGETHER);
        receipts.push(...(await Promise.all(part.map((each) => receiptFor(work, each, preview)))));
      }
      return { receipts };
    },
  }),
];

/** Does not throw what is only about this answer. */
async function receiptFor(
  { frontEnd, caller }: Pick<Work<unknown, unknown, unknown>, "frontEnd" | "caller">,
  given: Item,
  preview: boolean,
): Promise<BatchReceipt> {
  const { services, rates } = frontEnd;
  const { taskId, key, ...reply } = given;
  const ref = { taskId, key, caller, door: DOOR };
  try {
    if (isCounted(caller)) await rates.take(caller, preview ? { reads: 1 } : { answers: 1 });
    const became = preview ? await foreseen(frontEnd, ref, reply) : await orLate(services, ref, () => answerOne(services, ref, reply));
    return {
      taskId,
      key,
      receipt: became.type,
      ...("missing" in became && { missing: became.missing }),
      ...(became.type === "invalid" && { violations: became.violations }),
    };
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    const { code, data } = error;
    if (code === "TASK_NOT_FOUND") return { taskId, key, receipt: "unknown" };
    const waitMs = data?.["retryAfterMs"];
    return { taskId, key, receipt: "refused", code, ...(typeof waitMs === "number" && { retryAfterSeconds: Math.ceil(waitMs / 1_000) }) };
  }
}

type Foreseen = Receipt | { readonly type: "valid" };

/** What would become of the answer. Throws TASK_NOT_FOUND. */
async function foreseen(
  { services }: FrontEnd,
  ref: Parameters<typeof readAsk>[1],
  given: Omit<Item, "taskId" | "key">,
): Promise<Foreseen> {
  const read = await readAsk(services, ref);
  if (read.state === "settled") return { type: "late" };
  if (read.state === "of-others") return { type: "forbidden" };
  if (given.digest !== undefined && given.digest !== read.digest) return { type: "late" };
  const assurance = unmet(ref.caller, read, services.clock.now());
  if (assurance) return { type: "login_required", assurance };
  const judged = judgeReply(services, read.request, replyOf(given));
  const open = judged.ok && judged.answer.action === "accept" && services.foresee && (await openAsk(services, ref));
  const later =
    open && judged.ok && "content" in judged.answer ? await services.foresee?.(open.task, open.ask, judged.answer.content ?? {}) : [];
  const violations: readonly Violation[] = judged.ok ? (later ?? []) : judged.violations;
  return violations.length > 0 ? { type: "invalid", violations } : { type: "valid" };
}
