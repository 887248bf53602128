/** What a question looks like in /api/v1, and what an answer to it must be. */
import type { AnswerOnPage, Around, AskedBackRead, AskRead, AskSummary, ClaimRead, Happened, RequiredAssurance } from "@parley/core";
import { aboutOf, ALLOWANCES, PRIORITIES, REASON_CHARS_MAX } from "@parley/core";
import { z } from "zod";
import { type TitleOf, titleShown } from "../../front-end/tool-titles.ts";
import { answerer, anyObject, named, oneOf, owner, text, time, timeOf, toolTitle } from "./shapes.ts";

const names = z
  .array(z.string({ error: "must be a text" }), { error: "must be a list of names" })
  .readonly()
  .optional();
export const addressees = named(
  "Addressees",
  z.strictObject({ people: names, groups: names, roles: names }, { error: "must be an object with people, groups or roles" }),
  "Anyone who matches at least one of these names",
);

const everyoneOr = z.union([z.literal("tenant"), addressees]);

const audience = named(
  "Audience",
  z.object({
    to: everyoneOr,
    not: z.literal("caller").optional().describe("Whoever made the call may not answer"),
    quorum: z.number().optional().describe("How many people must accept"),
  }),
);

const titled = { title: z.string().optional() };

const contextPart = named(
  "ContextPart",
  z.union([
    z.object({ type: z.literal("text"), ...titled, text: z.string() }),
    z.object({
      type: z.literal("table"),
      ...titled,
      columns: z.array(z.string()).readonly(),
      rows: z.array(z.array(z.union([z.string(), z.number()])).readonly()).readonly(),
    }),
    z.object({ type: z.enum(["link", "picture"]), title: z.string(), url: z.string() }),
    z.object({ type: z.literal("diff"), ...titled, before: z.string(), after: z.string() }),
  ]),
  "One thing that the person should see to decide",
);

export const claim = named(
  "Claim",
  z.object({ ...answerer.shape, until: time.describe("When it ends by itself") }),
  "Somebody who is on a question. A claim keeps nobody from answering",
);

const HAPPENED = [
  "asked",
  "claimed",
  "released",
  "commented",
  "delegated",
  "askedBack",
  "replied",
  "reminded",
  "escalated",
  "snoozed",
] as const;
const ENDS = ["answered", "accepted", "declined", "cancelled", "timed_out", "withdrawn", "closed"] as const;

const happened = named(
  "Happened",
  z.object({
    what: z.enum([...HAPPENED, ...ENDS]),
    by: answerer.optional().describe("Absent if nobody did it, or if it is no longer known who"),
    at: time.optional().describe("Absent if it is no longer known"),
    until: time.optional().describe("Of a claim or a snooze: when it ends, unless it ended before"),
    to: everyoneOr.optional().describe("Of a delegation or an escalation: who may answer from then on"),
    reason: z.string().optional().describe("Of a delegation"),
    from: answerer.optional().describe("Of a delegation: whose part was handed on, if not that of `by`"),
  }),
  "One thing that happened with a question. More kinds may come",
);

const aroundFields = {
  history: z.array(happened).readonly().describe("What happened with it, the oldest first"),
  comments: z
    .array(
      named(
        "Comment",
        z.object({
          text: z.string(),
          by: answerer,
          at: time,
          as: z
            .enum(["askedBack", "replied"])
            .optional()
            .describe("A question to the person who made the call, or their reply; absent for a comment"),
        }),
      ),
    )
    .readonly()
    .describe("The oldest first"),
};

const summaryFields = {
  taskId: z.string(),
  key: z.string().describe("Names the question within its task"),
  kind: z.enum(["form", "url"]),
  message: z.string().describe("The question, at most 500 characters"),
  tool: z.string().describe("Name of the tool or prompt that asks"),
  toolTitle,
  owner: owner.describe("Whose task asks"),
  askedAt: time,
  deadline: time,
  due: time.optional().describe("When the tool wants an answer; nothing happens then. Absent if it does not say"),
  priority: z.enum(PRIORITIES),
  isRisky: z
    .literal(true)
    .optional()
    .describe("What follows a yes cannot be undone: ask and answer it by itself, and choose nothing for the person. Absent otherwise"),
  onTimeout: z.union([z.enum(["cancel", "decline", "fail"]), z.object({ default: anyObject })]).describe("What happens at the deadline"),
  assurance: named(
    "Assurance",
    z.object({
      by: z
        .enum(["token", "login"])
        .describe("`login`: on its page or in the inbox, after a login in a browser. `token`: by any client, but not by a model"),
      withinSeconds: z.number().optional().describe("How long ago the person may have logged in"),
      acr: z.array(z.string()).readonly().optional().describe("One of these classes of a login, as the provider states it"),
      amr: z.array(z.string()).readonly().optional().describe("All of these methods of a login"),
    }),
    "How somebody must be identified for their answer to count",
  )
    .optional()
    .describe("Absent if in any way"),
  audience: audience.optional().describe("Who else is asked; absent if only the owner of the task is"),
  accepted: z.number().optional().describe("With a quorum: how many people have accepted"),
  claimedBy: claim.optional().describe("Who is on it; absent if nobody is. Everyone who may answer still may"),
  commentCount: z.number().optional().describe("Absent for none"),
  delegatedBy: answerer.optional().describe("In whose place the caller is asked; absent if in their own"),
  askedBack: named(
    "AskedBack",
    z.object({
      by: answerer,
      at: time,
      text: z.string(),
      isPaused: z.literal(true).optional().describe("The deadline stands still until the reply: `deadline` is the latest that it can be"),
    }),
    "What somebody wants to know from the person who made the call before they answer",
  )
    .optional()
    .describe("Absent for nothing, and once that person has replied"),
  isToReply: z.literal(true).optional().describe("The caller may not answer it, and is wanted to reply to `askedBack`"),
  snoozedUntil: time.optional().describe("Until when the caller has put it aside, for themselves alone; absent if they have not"),
  remindedAt: time.optional().describe("When those who have not answered were last reminded; absent for never"),
  escalatedTo: z.array(everyoneOr).readonly().optional().describe("Who was asked as well because nobody had answered; absent for nobody"),
};

export const askSummary = named("AskSummary", z.object(summaryFields), "An open question in a list");

const given = z.object({ action: z.string(), content: anyObject.optional(), reason: z.string().optional() });

const openAsk = named(
  "OpenAsk",
  z.object({
    ...summaryFields,
    state: z
      .enum(["open", "accepted", "of-others"])
      .describe(
        "`accepted`: the caller has accepted, and others are missing. `of-others`: the caller's task asks others, or the question was handed on from the caller",
      ),
    digest: z.string().describe("Identifies what is asked. With it, an answer counts for this question only"),
    request: z.looseObject({
      type: z.enum(["form", "url"]),
      message: z.string(),
      schema: anyObject.optional().describe("JSON Schema of the content, for a form"),
      url: z.string().optional().describe("The address to visit"),
    }),
    context: z.array(contextPart).readonly().optional().describe("What the person should see to decide, above the form"),
    allow: z
      .array(z.enum(ALLOWANCES))
      .readonly()
      .optional()
      .describe("What those who are asked may do besides answering; absent for nothing"),
    upcoming: z
      .array(named("Upcoming", z.object({ what: z.enum(["reminded", "escalated"]), at: time, to: everyoneOr.optional() })))
      .readonly()
      .optional()
      .describe("What happens while nobody answers, besides the deadline: when people are reminded, and when others are asked as well"),
    handedOn: happened
      .optional()
      .describe("Of `of-others`: how the caller's part went to others, by the caller or not; absent if the caller never had one"),
    ...aroundFields,
  }),
);

const settledAsk = named(
  "SettledAsk",
  z.object({
    state: z.literal("settled"),
    taskId: z.string(),
    key: z.string(),
    tool: z.string(),
    toolTitle,
    owner,
    end: z.enum(ENDS),
    isTest: z.literal(true).optional().describe("Nobody made the call: it was to show whether people look, and the right answer was no"),
    by: answerer.optional().describe("Who answered; absent if nobody did"),
    delegatedBy: answerer.optional().describe("In whose place; absent if in their own"),
    acceptedBy: z
      .array(z.object({ ...answerer.shape, at: time }))
      .optional()
      .describe("With a quorum: everyone whose acceptance counted"),
    answer: given.optional().describe("What the caller answered"),
    reason: z.string().optional().describe("Why it was declined, for the owner of the task"),
    at: time.optional(),
    ...aroundFields,
  }),
);

export const ask = named("Ask", z.union([openAsk, settledAsk]), "A question, open or settled");

export function summaryShown({ called, ...rest }: AskSummary, titleOf: TitleOf): z.input<typeof askSummary> {
  return { tool: called.name, ...titleShown(titleOf, called), ...timesShown(rest) };
}

export function claimShown({ untilMs, ...person }: ClaimRead): z.input<typeof claim> {
  return { ...person, until: timeOf(untilMs) };
}

function aroundShown({ history, comments }: Around) {
  return {
    history: history.map(happenedShown),
    comments: comments.map(({ atMs, ...rest }) => ({ ...rest, at: timeOf(atMs) })),
  };
}

function happenedShown({ atMs, untilMs, ...rest }: Happened) {
  return {
    ...rest,
    ...(atMs !== undefined && { at: timeOf(atMs) }),
    ...(untilMs !== undefined && { until: timeOf(untilMs) }),
  };
}

function askedBackShown({ atMs, ...rest }: AskedBackRead) {
  return { ...rest, at: timeOf(atMs) };
}

export function assuranceShown({ withinMs, ...required }: RequiredAssurance) {
  return { ...required, ...(withinMs !== undefined && { withinSeconds: withinMs / 1_000 }) };
}

type Timed = Pick<
  AskSummary,
  "assurance" | "askedBack" | "askedAtMs" | "deadlineMs" | "dueAtMs" | "claimedBy" | "remindedAtMs" | "snoozedUntilMs"
>;

function timesShown<T extends Timed>({
  assurance,
  askedAtMs,
  deadlineMs,
  dueAtMs,
  claimedBy,
  remindedAtMs,
  snoozedUntilMs,
  askedBack,
  ...rest
}: T) {
  return {
    ...rest,
    askedAt: timeOf(askedAtMs),
    deadline: timeOf(deadlineMs),
    ...(assurance && { assurance: assuranceShown(assurance) }),
    ...(dueAtMs !== undefined && { due: timeOf(dueAtMs) }),
    ...(claimedBy && { claimedBy: claimShown(claimedBy) }),
    ...(remindedAtMs !== undefined && { remindedAt: timeOf(remindedAtMs) }),
    ...(askedBack && { askedBack: askedBackShown(askedBack) }),
    ...(snoozedUntilMs !== undefined && { snoozedUntil: timeOf(snoozedUntilMs) }),
  };
}

export function askShown(read: AskRead, titleOf: TitleOf): z.input<typeof ask> {
  if (read.state !== "settled") {
    const { called, request, upcoming, handedOn, ...rest } = read;
    const { context, allow } = aboutOf(request) ?? {};
    // What it says about the question stands beside the request, as in a list.
    const { about: _about, ...asked } = request;
    return {
      ...timesShown(rest),
      ...aroundShown(rest),
      tool: called.name,
      ...titleShown(titleOf, called),
      request: asked,
      ...(context && { context }),
      ...(allow && { allow }),
      ...(upcoming && { upcoming: upcoming.map(({ atMs, ...what }) => ({ ...what, at: timeOf(atMs) })) }),
      ...(handedOn && { handedOn: happenedShown(handedOn) }),
    };
  }
  const { called, atMs, acceptedBy, ...rest } = read;
  return {
    ...rest,
    ...aroundShown(rest),
    tool: called.name,
    ...titleShown(titleOf, called),
    ...(atMs !== undefined && { at: timeOf(atMs) }),
    ...(acceptedBy && { acceptedBy: acceptedBy.map(({ atMs: at, ...by }) => ({ ...by, at: timeOf(at) })) }),
  };
}

const AN_ACTION = "action must be accept, decline or cancel";

/** The members of an answer. Content of any kind is read: what does not fit is refused as the question's form says. */
export const answerFields = {
  action: oneOf(["accept", "decline", "cancel"]),
  content: z.unknown().optional().describe("As the question's `schema` requires; none for an address to visit"),
  reason: z.string({ error: "must be a text" }).optional().describe(`Why it is declined, at most ${REASON_CHARS_MAX} characters`),
  digest: text(1_000).optional().describe("That of the question as it was read"),
};

interface Given {
  readonly action: "accept" | "decline" | "cancel";
  readonly content?: unknown;
  readonly reason?: string | undefined;
}

export const isReasonWithDecline = ({ action, reason }: Given): boolean => reason === undefined || action === "decline";
export const REASON_WITH_DECLINE = { path: ["reason"], error: "must come with decline" };

export const answer = named(
  "Answer",
  z
    .strictObject(answerFields, { error: (issue) => (issue.code === "invalid_type" ? `must be an object: ${AN_ACTION}` : undefined) })
    .refine(isReasonWithDecline, REASON_WITH_DECLINE),
);

export function replyOf({ action, content, reason }: Given): AnswerOnPage["reply"] {
  const reply = { action, ...(content !== undefined && { content }), ...(reason !== undefined && { reason }) };
  return reply as AnswerOnPage["reply"];
}
