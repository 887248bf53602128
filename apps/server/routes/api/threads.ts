/** What people do around a question besides answering it. */
import {
  CLAIM_MINUTES,
  CLAIM_MINUTES_MAX,
  askBack,
  claimAsk,
  COMMENT_CHARS_MAX,
  commentOnAsk,
  type Addressees,
  delegateAsk,
  DELEGATION_REASON_CHARS_MAX,
  delegationProblems,
  type Joined,
  releaseAsk,
  replyToAsk,
  SCOPES,
} from "@parley/core";
import { z } from "zod";
import { addressees, claim, claimShown } from "./ask-shapes.ts";
import { DOOR, operation, type Operation } from "./operation.ts";
import { invalid, Refused } from "./problems.ts";
import { named, text } from "./shapes.ts";

const group = "Questions";
const params = z.object({ taskId: z.string(), key: z.string() });
const IN_ADDRESS = "In this address, write slashes of the key as `%2F`.";

const common = { method: "post", group, scopes: [SCOPES.answer], rate: "answers", params } as const;
const refusals = {
  404: "There is no such question, or the caller may not read it",
  409: "The question is closed",
};
const nothing = (id: string) => named(id, z.strictObject({}, { error: "must be an object" }));
const said = (id: string) =>
  named(
    id,
    z.strictObject(
      { text: text(COMMENT_CHARS_MAX).refine((value) => value.trim() !== "", { error: "must not be empty" }) },
      { error: "must be an object" },
    ),
  );
const A_NUMBER = `must be a whole number from 1 to ${CLAIM_MINUTES_MAX}`;

export const THREAD_OPERATIONS: readonly Operation[] = [
  operation({
    ...common,
    name: "claimAsk",
    path: "/asks/{taskId}/{key}/claim",
    summary: "Says that the caller is on a question, for some minutes",
    description: `A claim keeps nobody from answering. It ends by itself, by a release, and by an answer; another one of the same person renews it. ${IN_ADDRESS}`,
    body: named(
      "ClaimRequest",
      z.strictObject(
        {
          minutes: z
            .number({ error: A_NUMBER })
            .int({ error: A_NUMBER })
            .min(1, { error: A_NUMBER })
            .max(CLAIM_MINUTES_MAX, { error: A_NUMBER })
            .default(CLAIM_MINUTES),
        },
        { error: "must be an object" },
      ),
    ),
    result: named("ClaimReceipt", z.object({ receipt: z.literal("claimed"), claimedBy: claim })),
    refusals: {
      ...refusals,
      403: "The question is put to others",
      409: "Somebody else is on it (`receipt` is `taken`; `claimedBy` says who), or the question is closed (`late`)",
    },
    async handle({ frontEnd: { services }, caller, params: at, body: { minutes } }) {
      const joined = await claimAsk(services, { ...at, caller, door: DOOR, minutes });
      if (joined.type === "claimed") return { receipt: joined.type, claimedBy: claimShown(joined.claimedBy) };
      throw refused(joined);
    },
  }),
  operation({
    ...common,
    name: "releaseAsk",
    path: "/asks/{taskId}/{key}/release",
    summary: "Ends the caller's claim, if there is one",
    description: IN_ADDRESS,
    body: nothing("ReleaseRequest"),
    result: named("ReleaseReceipt", z.object({ receipt: z.literal("released") })),
    refusals,
    async handle({ frontEnd: { services }, caller, params: at }) {
      const joined = await releaseAsk(services, { ...at, caller, door: DOOR });
      if (joined.type === "released") return { receipt: joined.type };
      throw refused(joined);
    },
  }),
  operation({
    ...common,
    name: "commentOnAsk",
    path: "/asks/{taskId}/{key}/comments",
    summary: "Adds a comment, which everyone who may read the question sees",
    description: `The question stays open, and its tool learns nothing of it. ${IN_ADDRESS}`,
    body: said("CommentRequest"),
    result: named("CommentReceipt", z.object({ receipt: z.literal("commented") })),
    refusals: { ...refusals, 409: "The question is closed (`receipt` is `late`), or has too many comments (`full`)" },
    async handle({ frontEnd: { services }, caller, params: at, body }) {
      const joined = await commentOnAsk(services, { ...at, caller, door: DOOR, text: body.text });
      if (joined.type === "commented") return { receipt: joined.type };
      throw refused(joined);
    },
  }),
  operation({
    ...common,
    name: "askBack",
    path: "/asks/{taskId}/{key}/ask-back",
    summary: "Asks the person who made the call something before the caller answers, if the tool allows that",
    description: `It is a comment that wants a reply: \`askedBack\` until then. Where the tool allows \`pause\`, the deadline stands still until the reply. ${IN_ADDRESS}`,
    body: said("AskBackRequest"),
    result: named("AskBackReceipt", z.object({ receipt: z.literal("asked_back") })),
    refusals: {
      ...refusals,
      403: "The question is put to others (`receipt` is `forbidden`), or its tool does not allow this, or the call is the caller's own (`not_allowed`)",
      409: "The question is closed (`receipt` is `late`), the caller has accepted it (`accepted`), or it has too many comments (`full`)",
    },
    async handle({ frontEnd: { services }, caller, params: at, body }) {
      const joined = await askBack(services, { ...at, caller, door: DOOR, text: body.text });
      if (joined.type === "asked_back") return { receipt: joined.type };
      throw refused(joined);
    },
  }),
  operation({
    ...common,
    name: "replyToAsk",
    path: "/asks/{taskId}/{key}/reply",
    summary: "Replies to `askedBack`, for the person who made the call",
    description: IN_ADDRESS,
    body: said("ReplyRequest"),
    result: named("ReplyReceipt", z.object({ receipt: z.literal("replied") })),
    refusals: {
      ...refusals,
      403: "The call is somebody else's",
      409: "The question is closed (`receipt` is `late`), nobody waits for a reply (`not_asked`), or it has too many comments (`full`)",
    },
    async handle({ frontEnd: { services }, caller, params: at, body }) {
      const joined = await replyToAsk(services, { ...at, caller, door: DOOR, text: body.text });
      if (joined.type === "replied") return { receipt: joined.type };
      throw refused(joined);
    },
  }),
  operation({
    ...common,
    name: "delegateAsk",
    path: "/asks/{taskId}/{key}/delegate",
    summary: "Hands the caller's part in a question on to others, if its tool allows that",
    description: `They may answer from then on, and the caller may not. The caller may hand their part to others instead, and takes it back by naming themselves. ${IN_ADDRESS}`,
    body: named(
      "DelegationRequest",
      z.strictObject(
        {
          to: addressees,
          reason: text(DELEGATION_REASON_CHARS_MAX).refine((value) => value.trim() !== "", { error: "must not be empty" }),
        },
        { error: "must be an object" },
      ),
    ),
    result: named("DelegationReceipt", z.object({ receipt: z.literal("delegated") })),
    refusals: {
      ...refusals,
      403: "The question is put to others (`receipt` is `forbidden`), or its tool does not allow this (`not_allowed`)",
      409: "The question is closed (`receipt` is `late`), the caller or somebody in their place has accepted (`accepted`), or it was handed on too often (`full`)",
    },
    async handle({ frontEnd: { services }, caller, params: at, body: { to, reason } }) {
      const given = Object.fromEntries(Object.entries(to).filter(([, names]) => names !== undefined)) as Addressees;
      const [problem] = delegationProblems(given);
      if (problem) throw invalid(`${problem.path.slice(1).replaceAll("/", ".")} ${problem.message}`);
      const joined = await delegateAsk(services, { ...at, caller, door: DOOR, to: given, reason });
      if (joined.type === "delegated") return { receipt: joined.type };
      throw refused(joined);
    },
  }),
];

const DETAIL: { readonly [type in Joined["type"]]?: string } = {
  taken: "somebody else is on the question; you may answer it all the same",
  full: "the question has too many comments, or was handed on too often",
  accepted: "you have accepted, or somebody has in your place",
  not_allowed: "the tool does not allow that, or the call is your own",
  not_asked: "nobody waits for a reply",
  forbidden: "the question is put to others",
  late: "the question is closed",
};

function refused(joined: Joined): Refused {
  const { type } = joined;
  return new Refused({
    status: type === "forbidden" || type === "not_allowed" ? 403 : 409,
    receipt: type,
    detail: DETAIL[type] ?? type,
    ...("claimedBy" in joined && { claimedBy: claimShown(joined.claimedBy) }),
  });
}
