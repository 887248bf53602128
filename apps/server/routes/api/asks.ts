/** Open questions that the caller may answer, one of them, and answers. docs/api.md describes them. */
import {
  type Answered,
  answerOnPage,
  answerTask,
  ASK_ORDERS,
  assuranceRefusal,
  type AskFilter,
  countAsks,
  listAsks,
  ParleyError,
  readAsk,
  type ReadAsk,
  PRIORITIES,
  type Receipt,
  SCOPES,
  type Services,
  type SettledRead,
} from "@parley/core";
import { z } from "zod";
import { loginPageOf } from "../../front-end/page-addresses.ts";
import type { TitleOf } from "../../front-end/tool-titles.ts";
import { answer, ask, askShown, askSummary, assuranceShown, replyOf, summaryShown } from "./ask-shapes.ts";
import { followChanges } from "./changes.ts";
import { DOOR, operation, type Operation } from "./operation.ts";
import { Refused } from "./problems.ts";
import { cursor, givenTime, limit, named, nextCursor, oneOf } from "./shapes.ts";

const group = "Questions";

const filters = {
  tool: z.string().optional().describe("Name of the tool"),
  owner: oneOf(["me", "others"]).optional().describe("`me`: questions of the caller's own tasks; `others`: of other people's"),
  askedAfter: givenTime.optional(),
  askedBefore: givenTime.optional(),
  deadlineBefore: givenTime.optional(),
  priority: oneOf(PRIORITIES).optional(),
  toReply: oneOf(["only", "any"])
    .optional()
    .describe(
      "Questions of the caller's own tasks that others answer, and that wait for the caller's reply: `only` these, or `any`. Without it they are left out",
    ),
  snoozed: oneOf(["only", "any"])
    .optional()
    .describe("What the caller has put aside: `only` that, or `any` question. Without it that is left out"),
};
const order = oneOf(ASK_ORDERS).default("oldest");

const params = z.object({ taskId: z.string(), key: z.string() });

const receipt = named(
  "Receipt",
  z.object({
    receipt: z.enum(["accepted", "duplicate"]).describe("`duplicate`: the same answer counted before"),
    missing: z.number().optional().describe("How many more people must accept"),
  }),
);

export const ASK_OPERATIONS: readonly Operation[] = [
  operation({
    name: "listAsks",
    method: "get",
    path: "/asks",
    group,
    summary: "Lists the open questions that the caller may answer, regardless of whose task asks",
    scopes: [SCOPES.read],
    rate: "reads",
    query: z.strictObject({ ...filters, order, limit, cursor }),
    result: named("AskPage", z.object({ asks: z.array(askSummary), nextCursor })),
    async handle({ frontEnd: { services }, titleOf, caller, query }) {
      const page = { caller, filter: filterOf(query), order: query.order, limit: query.limit };
      const { asks, nextCursor: next } = await listAsks(services, { ...page, ...(query.cursor !== undefined && { cursor: query.cursor }) });
      return { asks: asks.map((each) => summaryShown(each, titleOf)), ...(next !== undefined && { nextCursor: next }) };
    },
  }),
  operation({
    name: "countAsks",
    method: "get",
    path: "/asks/count",
    group,
    summary: "Counts the open questions that the caller may answer",
    scopes: [SCOPES.read],
    rate: "reads",
    // Programs count what a list shows, and pass the same parameters.
    query: z.strictObject({ ...filters, order, limit, cursor }),
    result: named(
      "AskCount",
      z.object({ count: z.number().describe("At most 100"), isMore: z.boolean().describe("There are more, which are not counted") }),
    ),
    handle: async ({ frontEnd: { services }, caller, query }) => await countAsks(services, { caller, filter: filterOf(query) }),
  }),
  operation({
    name: "followAsks",
    method: "get",
    path: "/asks/changes",
    group,
    summary: "Streams server-sent events: `count` and `isMore`, now and each time that the open questions change",
    description: "Send the id of the last event in `Last-Event-ID` to continue at any front end.",
    scopes: [SCOPES.read],
    rate: "reads",
    async handle({ frontEnd, caller, request, reply }) {
      await followChanges(frontEnd, caller, request, reply);
      return undefined;
    },
  }),
  operation({
    name: "getAsk",
    method: "get",
    path: "/asks/{taskId}/{key}",
    group,
    summary: "Returns one question with what it asks; once it is settled, how it ended and who answered",
    scopes: [SCOPES.read],
    rate: "reads",
    params,
    result: ask,
    refusals: { 404: "There is no such question, or the caller may not read it" },
    handle: async ({ frontEnd: { services }, titleOf, caller, params: at }) =>
      askShown(await readAsk(services, { ...at, caller, door: DOOR }), titleOf),
  }),
  operation({
    name: "answerAsk",
    method: "post",
    path: "/asks/{taskId}/{key}",
    group,
    summary: "Answers a question: accepts, declines or cancels it",
    scopes: [SCOPES.answer],
    rate: "answers",
    params,
    body: answer,
    result: receipt,
    refusals: {
      403: "The question is put to others (`receipt` is `forbidden`), or needs a login in a browser, `assurance` (`login_required`); `detail` names the page",
      404: "There is no such question, or the caller may not read it",
      409: "The question is closed; `ask` says how it ended and who answered",
      422: "The answer does not fit the question, which stays open; `violations` says why",
    },
    async handle({ frontEnd: { services, urlOf }, titleOf, caller, params: at, body }) {
      const ref = { ...at, caller, door: DOOR };
      const became = await orLate(services, ref, () => answerOne(services, ref, body));
      return shownReceipt(became, { titleOf, page: loginPageOf({ urlOf }, at) });
    },
  }),
];

function filterOf(query: z.output<z.ZodObject<typeof filters>>): AskFilter {
  const { tool, owner, askedAfter, askedBefore, deadlineBefore, priority, toReply, snoozed } = query;
  return {
    ...(tool !== undefined && { called: tool }),
    ...(owner !== undefined && { owner: owner === "me" ? "caller" : "others" }),
    ...(askedBefore !== undefined && { askedBeforeMs: Date.parse(askedBefore) }),
    ...(askedAfter !== undefined && { askedAfterMs: Date.parse(askedAfter) }),
    ...(priority !== undefined && { priority }),
    ...(toReply !== undefined && { toReply }),
    ...(snoozed !== undefined && { snoozed }),
    ...(deadlineBefore !== undefined && { deadlineBeforeMs: Date.parse(deadlineBefore) }),
  };
}

/** Throws TASK_NOT_FOUND, also for those who were asked and came second (orLate). */
export async function answerOne(services: Services, ref: ReadAsk, given: z.output<typeof answer>): Promise<Receipt> {
  const reply = replyOf(given);
  if (given.digest !== undefined) return await answerOnPage(services, { ...ref, digest: given.digest, reply });
  const { receipts }: Answered = await answerTask(services, { ...ref, replies: { [ref.key]: reply } });
  return receipts.get(ref.key) ?? { type: "unknown" };
}

type Late = Receipt & { readonly end?: SettledRead };

/** Those who were asked and came second learn who was first: for answerTask, the task no longer exists for them. */
export async function orLate(services: Services, ref: ReadAsk, answering: () => Promise<Receipt>): Promise<Late> {
  const settled = async () => {
    const read = await readAsk(services, ref);
    return read.state === "settled" ? read : undefined;
  };
  try {
    const became = await answering();
    if (became.type !== "late") return became;
    const end = await settled().catch(() => undefined);
    return { ...became, ...(end && { end }) };
  } catch (error) {
    if (!(error instanceof ParleyError) || error.code !== "TASK_NOT_FOUND") throw error;
    const end = await settled();
    // It is open, and they have handed it on.
    if (!end) return { type: "forbidden" };
    return { type: "late", end };
  }
}

const STATUS = { late: 409, invalid: 422, forbidden: 403, login_required: 403, unknown: 404 } as const;

const DETAIL: { readonly [type in Exclude<keyof typeof STATUS, "login_required">]: string } = {
  late: "the question is closed: another answer, its deadline or the end of its task came first",
  invalid: "the answer does not fit the question, which stays open",
  forbidden: "the question is put to others",
  unknown: "the task never asked this",
};

/** Throws the problem if the answer does not count. `page`: where it would. */
function shownReceipt(
  became: Late,
  { titleOf, page }: { readonly titleOf: TitleOf; readonly page: string | undefined },
): z.input<typeof receipt> {
  const { type } = became;
  if (type === "accepted" || type === "duplicate") {
    return { receipt: type, ...("missing" in became && { missing: became.missing }) };
  }
  throw new Refused({
    status: STATUS[type],
    receipt: type,
    detail: became.type === "login_required" ? assuranceRefusal(became.assurance, page) : DETAIL[became.type],
    ...(type === "login_required" && { assurance: assuranceShown(became.assurance) }),
    ...(type === "invalid" && { violations: became.violations }),
    ...(became.end && { ask: askShown(became.end, titleOf) }),
  });
}
