/**
 * /api/v1: what people are asked, for programs and pages. docs/api.md describes each request and response.
 *
 * Use cases of core do the work and decide by the one policy (I13). Credentials come in the Authorization header, never in a cookie, so no
 * page of another site can act for a person.
 */
import {
  type Answered,
  type AnswerOnPage,
  answerOnPage,
  answerTask,
  ASK_ORDERS,
  type AskFilter,
  type AskOrder,
  type AskRead,
  type AskSummary,
  countAsks,
  isCounted,
  listAsks,
  ParleyError,
  readAsk,
  type ReadAsk,
  type Receipt,
  SCOPES,
} from "@parley/core";
import { hash } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { FrontEnd } from "../../front-end/front-end.ts";
import { requireScopes } from "../../front-end/protected-resource.ts";
import { refusalOf } from "../../front-end/refusal.ts";
import { followChanges } from "./changes.ts";
import { acceptJsonOnly, Encoded, InvalidJson, TooLarge } from "../../json-only.ts";

const DOOR = "api";
const PAGE_DEFAULT = 50;
const PAGE_MAX = 100;
const WORD_CHARS_MAX = 1_000;

interface AskRequest {
  readonly Params: { readonly taskId: string; readonly "*": string };
}

/** For an authenticated scope below /api/v1. */
export function apiRoute(scope: FastifyInstance, frontEnd: FrontEnd): void {
  const { services, limits, rates, resource, log } = frontEnd;
  acceptJsonOnly(scope, limits);

  async function permit({ caller }: FastifyRequest, rate: "reads" | "answers"): Promise<void> {
    if (resource) requireScopes(caller, [rate === "reads" ? SCOPES.read : SCOPES.answer], "this request");
    if (isCounted(caller)) await rates.take(caller, { [rate]: 1 });
  }

  scope.get("/asks", async (request, reply) => {
    await permit(request, "reads");
    const { caller, query } = request;
    const { filter, order, limit, cursor } = listOf(query as Query);
    const { asks, nextCursor } = await listAsks(services, { caller, filter, order, limit, ...(cursor !== undefined && { cursor }) });
    return sendTagged(request, reply, { asks: asks.map(summary), ...(nextCursor !== undefined && { nextCursor }) });
  });

  scope.get("/asks/count", async (request, reply) => {
    await permit(request, "reads");
    const { caller, query } = request;
    return sendTagged(request, reply, await countAsks(services, { caller, filter: listOf(query as Query).filter }));
  });

  scope.get("/asks/changes", async (request, reply) => {
    await permit(request, "reads");
    await followChanges(frontEnd, request.caller, request, reply);
    return reply;
  });

  // The key is the rest of the address: keys of children's asks have colons, and any may be encoded.
  scope.get<AskRequest>("/asks/:taskId/*", async (request, reply) => {
    await permit(request, "reads");
    const { caller, params } = request;
    const ask = await readAsk(services, { taskId: params.taskId, key: params["*"], caller, door: DOOR });
    return sendTagged(request, reply, shownAsk(ask));
  });

  scope.post<AskRequest>("/asks/:taskId/*", { bodyLimit: limits.bodyBytesMax }, async (request, reply) => {
    await permit(request, "answers");
    const { caller, params, body } = request;
    const ref = { taskId: params.taskId, key: params["*"], caller, door: DOOR };
    const { digest, answer } = answerOf(body);
    const receipt = await orLate(ref, async () => {
      if (digest !== undefined) return await answerOnPage(services, { ...ref, digest, reply: answer });
      const { receipts }: Answered = await answerTask(services, { ...ref, replies: { [ref.key]: answer } });
      return receipts.get(ref.key) ?? { type: "unknown" };
    });
    return sendReceipt(reply, receipt);
  });

  /** Those who were asked and came second learn who was first: for answerTask, the task no longer exists for them. */
  async function orLate(ref: ReadAsk, answering: () => Promise<Receipt>): Promise<Receipt & { readonly end?: object }> {
    const settled = async () => {
      const ask = await readAsk(services, ref);
      return ask.state === "settled" ? ask : undefined;
    };
    try {
      const receipt = await answering();
      if (receipt.type !== "late") return receipt;
      const ask = await settled().catch(() => undefined);
      return { ...receipt, ...(ask && { end: shownAsk(ask) }) };
    } catch (error) {
      if (!(error instanceof ParleyError) || error.code !== "TASK_NOT_FOUND") throw error;
      const ask = await settled();
      if (!ask) throw error;
      return { type: "late", end: shownAsk(ask) };
    }
  }

  scope.setErrorHandler((error: Error & { readonly code?: string }, request, reply) => {
    const insufficient = error instanceof ParleyError && error.code === "SCOPE_INSUFFICIENT";
    if (resource && insufficient) void reply.header("www-authenticate", resource.challenge(request, error));
    const { status, retryAfterSeconds, ...problem } = problemOf(frontEnd, error);
    if (status < 500) log.info({ requestId: request.id, ...(problem.code && { code: problem.code }) }, "request refused");
    if (retryAfterSeconds !== undefined) void reply.header("retry-after", retryAfterSeconds);
    return sendProblem(reply, { status, ...problem });
  });
}

type Query = Readonly<Record<string, string | string[] | undefined>>;

function listOf(query: Query) {
  const order = word(query, "order") ?? "oldest";
  const owner = word(query, "owner");
  const limit = Number(word(query, "limit") ?? PAGE_DEFAULT);
  if (!(ASK_ORDERS as readonly string[]).includes(order)) throw invalid(`order must be one of ${ASK_ORDERS.join(", ")}`);
  if (owner !== undefined && owner !== "me" && owner !== "others") throw invalid("owner must be me or others");
  if (!Number.isInteger(limit) || limit < 1 || limit > PAGE_MAX) throw invalid(`limit must be a number from 1 to ${PAGE_MAX}`);
  const called = word(query, "tool");
  const [before, after, due] = [moment(query, "askedBefore"), moment(query, "askedAfter"), moment(query, "deadlineBefore")];
  const filter: AskFilter = {
    ...(called !== undefined && { called }),
    ...(owner !== undefined && { owner: owner === "me" ? "caller" : "others" }),
    ...(before !== undefined && { askedBeforeMs: before }),
    ...(after !== undefined && { askedAfterMs: after }),
    ...(due !== undefined && { deadlineBeforeMs: due }),
  };
  return { filter, order: order as AskOrder, limit, cursor: word(query, "cursor") };
}

function word(query: Query, name: string): string | undefined {
  const value = query[name];
  if (Array.isArray(value)) throw invalid(`${name} is there several times: send one`);
  if (value !== undefined && value.length > WORD_CHARS_MAX) throw invalid(`${name} is longer than ${WORD_CHARS_MAX} characters`);
  return value;
}

function moment(query: Query, name: string): number | undefined {
  const text = word(query, name);
  if (text === undefined) return undefined;
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw invalid(`${name} must be a time, such as 2026-12-24T18:00:00Z`);
  return ms;
}

class InvalidRequest extends Error {}

const invalid = (message: string) => new InvalidRequest(message);

function answerOf(body: unknown): { readonly digest: string | undefined; readonly answer: AnswerOnPage["reply"] } {
  const { action, content, reason, digest } = (body ?? {}) as Readonly<Record<"action" | "content" | "reason" | "digest", unknown>>;
  if (action !== "accept" && action !== "decline" && action !== "cancel") throw invalid("action must be accept, decline or cancel");
  if (reason !== undefined && (typeof reason !== "string" || action !== "decline")) throw invalid("reason must be a text, with decline");
  if (digest !== undefined && typeof digest !== "string") throw invalid("digest must be the one that the question had when it was read");
  const answer = { action, ...(content !== undefined && { content }), ...(reason !== undefined && { reason }) };
  // Content of any other kind is refused as the question's form is read.
  return { digest, answer: answer as AnswerOnPage["reply"] };
}

const time = (ms: number) => new Date(ms).toISOString();

function summary({ askedAtMs, deadlineMs, called, ...rest }: AskSummary) {
  return { ...rest, tool: called.name, askedAt: time(askedAtMs), deadline: time(deadlineMs) };
}

function shownAsk(ask: AskRead) {
  if (ask.state !== "settled") return summary(ask);
  const { called, atMs, acceptedBy, ...rest } = ask;
  return {
    ...rest,
    tool: called.name,
    ...(atMs !== undefined && { at: time(atMs) }),
    ...(acceptedBy && { acceptedBy: acceptedBy.map(({ atMs: at, ...person }) => ({ ...person, at: time(at) })) }),
  };
}

/** A program that polls receives 304 while nothing has changed. */
function sendTagged(request: FastifyRequest, reply: FastifyReply, body: object): FastifyReply {
  const text = JSON.stringify(body);
  const tag = `"${hash("sha256", text, "base64url").slice(0, 22)}"`;
  void reply.header("etag", tag).header("cache-control", "private, no-cache");
  if (request.headers["if-none-match"] === tag) return reply.code(304).send();
  return reply.type("application/json; charset=utf-8").send(text);
}

const STATUS: Readonly<Record<Receipt["type"], number>> = {
  accepted: 200,
  duplicate: 200,
  late: 409,
  invalid: 422,
  forbidden: 403,
  unknown: 404,
};

const DETAIL: Readonly<Record<Exclude<Receipt["type"], "accepted" | "duplicate">, string>> = {
  late: "the question is closed: another answer, its deadline or the end of its task came first",
  invalid: "the answer does not fit the question, which stays open",
  forbidden: "the question is put to others",
  unknown: "the task never asked this",
};

function sendReceipt(reply: FastifyReply, receipt: Receipt & { readonly end?: object }): FastifyReply {
  if (receipt.type === "accepted" || receipt.type === "duplicate")
    return reply
      .type("application/json; charset=utf-8")
      .send({ receipt: receipt.type, ...("missing" in receipt && { missing: receipt.missing }) });
  const violations = receipt.type === "invalid" ? { violations: receipt.violations } : {};
  const end = receipt.end ? { ask: receipt.end } : {};
  return sendProblem(reply, { status: STATUS[receipt.type], receipt: receipt.type, detail: DETAIL[receipt.type], ...violations, ...end });
}

interface Problem {
  readonly status: number;
  readonly detail: string;
  readonly code?: string;
  readonly [more: string]: unknown;
}

/** RFC 9457. Without `type`, a problem means what its status says; `code` is as in docs/errors.md. */
function sendProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  return reply.code(problem.status).header("cache-control", "no-store").type("application/problem+json").send(JSON.stringify(problem));
}

function problemOf(frontEnd: FrontEnd, error: Error & { readonly code?: string }): Problem & { readonly retryAfterSeconds?: number } {
  const { bodyBytesMax } = frontEnd.limits;
  if (error instanceof InvalidRequest) return { status: 400, detail: error.message };
  if (error instanceof InvalidJson) return { status: 400, detail: "the body is not valid JSON" };
  if (error instanceof Encoded) return { status: 415, detail: error.message };
  if (error instanceof TooLarge) return { status: 400, detail: `the body ${error.message}` };
  if (error.code === "FST_ERR_CTP_BODY_TOO_LARGE")
    return { status: 413, detail: `the body is larger than ${bodyBytesMax} bytes (PARLEY_BODY_BYTES_MAX)` };
  if (error.code === "FST_ERR_CTP_INVALID_MEDIA_TYPE") return { status: 415, detail: "the Content-Type must be application/json" };
  const { httpStatus, body, retryAfterSeconds } = refusalOf(frontEnd, error);
  const { message, ...rest } = body.error;
  return { status: httpStatus, detail: message, ...rest, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) };
}
