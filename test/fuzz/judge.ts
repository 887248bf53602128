/** Checks one reply against the rules. */
import type { Due } from "./draw/changes.ts";
import { leakIn } from "./leaks.ts";
import { REPLY_BYTES_MAX } from "./limits.ts";
import { Broken, type ReplyRule } from "./rules.ts";
import type { Response } from "./wire/http.ts";
import type { Message } from "./wire/messages.ts";

export interface Expected {
  /** The method, or what else tells requests apart. */
  readonly kind: string;
  /** What was done to it. */
  readonly changes: readonly string[];
  readonly due: Due;
  /** The id that the reply carries if the request's could be read. */
  readonly id?: unknown;
  /** Of a refusal, where one thing alone is wrong. */
  readonly codes?: readonly number[] | undefined;
  /** HTTP statuses that the reply may have, where the request decides on them. */
  readonly statuses?: readonly number[];
  /** What only this door may answer with. */
  readonly alsoStatuses?: readonly number[];
  /** What was sent, so that an echo is no leak. */
  readonly said: string;
  /** What answers is no JSON-RPC. */
  readonly plain?: boolean;
  /** A tool's own answer, error or not, is no refusal. */
  readonly toolMaySayNo?: boolean;
}

/** docs/errors.md, those of events with it; −32050 is a tool's own. */
const CODES = new Set([
  -32_700, -32_600, -32_601, -32_602, -32_603, -32_020, -32_021, -32_022, -32_002, -32_042, -32_050, -32_011, -32_012, -32_013, -32_014,
  -32_015,
]);
const INTERNAL_ERROR = -32_603;
const STATUSES = new Set([200, 202, 204, 400, 403, 404, 405, 406, 413, 415, 431, 408, 417]);

export function judge(response: Response, expected: Expected): void {
  const broken = brokenBy(response, expected);
  if (!broken) return;
  const [rule, what] = broken;
  const { kind, changes } = expected;
  const reply = `${response.status} ${response.text.length > 700 ? `${response.text.slice(0, 700)}…` : response.text}`;
  throw new Broken(rule, { kind, changes, what: `${what}\n  reply    ${reply.replaceAll("\n", "\\n")}` });
}

function brokenBy(response: Response, expected: Expected): readonly [ReplyRule, string] | undefined {
  const { outcome, status, text, bytes, messages, ms } = response;
  if (status >= 500) return ["server-error", `HTTP ${status}`];
  if (outcome === "too large") return ["size", `${bytes} bytes or more`];
  if (outcome === "timed out") return ["hang", `nothing, or not all of it, within ${Math.round(ms)} ms`];
  if (outcome === "broken") return ["dropped", `the connection broke after ${Math.round(ms)} ms and ${bytes} bytes`];
  const errorBytes = largestError(response);
  if (errorBytes > REPLY_BYTES_MAX) return ["size", `an error of ${errorBytes} bytes`];
  const leak = leakIn(text, expected.said) ?? leakIn(JSON.stringify(response.headers), expected.said);
  if (leak !== undefined) return ["leak", leak];
  const internal = messages.find(({ error }) => error?.message === "Internal error");
  if (internal) return ["server-error", "Internal error"];
  return misshapen(response, expected) ?? misjudged(response, expected);
}

/** In bytes. Next to other messages, as in a batch with lists, an error is measured by itself. */
function largestError({ messages, bytes }: Response): number {
  const errors = messages.filter(({ error }) => error !== undefined);
  if (messages.length === 1) return errors.length * bytes;
  return Math.max(0, ...errors.map((message) => Buffer.byteLength(JSON.stringify(message))));
}

function misshapen(
  { status, messages, text, headers }: Response,
  { id, plain = false, alsoStatuses }: Expected,
): readonly [ReplyRule, string] | undefined {
  if (!STATUSES.has(status) && !alsoStatuses?.includes(status)) return ["shape", `HTTP ${status} is documented nowhere`];
  const isJson = headers["content-type"]?.startsWith("application/json") === true;
  if (isJson && status < 400 && messages.length === 0 && text !== "[]") return ["shape", "the body is no JSON"];
  for (const message of plain ? [] : messages) {
    const { error } = message;
    if (error === undefined) continue;
    if (message.jsonrpc !== "2.0") return ["shape", "an error without jsonrpc"];
    if (typeof error.message !== "string" || !CODES.has(error.code)) return ["shape", `code ${error.code} is documented nowhere`];
    if (message.id === null) return ["shape", "id null: MCP has none"];
    if (message.id !== undefined && id !== undefined && message.id !== id) return ["shape", "the id is another request's"];
  }
  return undefined;
}

function misjudged(
  response: Response,
  { due, codes, statuses, id, plain = false, toolMaySayNo = false }: Expected,
): readonly [ReplyRule, string] | undefined {
  const { status, messages } = response;
  const answer = answerIn(messages, id);
  const refusal = plain ? plainRefusalIn(response) : refusalIn(response, answer, toolMaySayNo);
  if (due === "refused" && refusal === undefined) return ["wrongly-accepted", "an error is due"];
  if (due === "accepted" && refusal !== undefined) return ["wrongly-refused", refusal];
  if (due === "refused" && codes && answer?.error && !codes.includes(answer.error.code)) {
    return ["shape", `code ${answer.error.code} where ${codes.join(" or ")} is due`];
  }
  if (due !== "any" && statuses && !statuses.includes(status)) return ["shape", `HTTP ${status} where ${statuses.join(" or ")} is due`];
  return undefined;
}

/** The message that answers the request; of a body without a readable id, the only one. */
export function answerIn(messages: readonly Message[], id: unknown): Message | undefined {
  const answers = messages
    .filter(({ method }) => method === undefined)
    .filter(({ result, error }) => result !== undefined || error !== undefined);
  return answers.find((message) => message.id === id) ?? answers.find((message) => message.id === undefined);
}

function plainRefusalIn({ status }: Response): string | undefined {
  return status >= 400 ? `HTTP ${status}` : undefined;
}

/** Why the reply counts as an error; undefined for a success. */
function refusalIn({ status, outcome, messages }: Response, answer: Message | undefined, toolMaySayNo: boolean): string | undefined {
  if (status >= 400) return `HTTP ${status}${answer?.error ? `, ${answer.error.message}` : ""}`;
  // A prompt has no result that says no.
  if (answer?.error) return toolMaySayNo && answer.error.code === INTERNAL_ERROR ? undefined : answer.error.message;
  if (answer?.result && answer.result["isError"] === true && !toolMaySayNo) return "a result with isError";
  // A stream that was left has answered by being one; a body must hold an answer.
  if (status === 200 && answer === undefined && outcome === "complete" && messages.length === 0) return "no answer";
  return undefined;
}
