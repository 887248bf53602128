/**
 * Which scopes a caller needs for what it wants: one table for both families, looked at before any work is done. What the policy says about the
 * task itself comes on top of it.
 *
 * Lists, `initialize` and whatever else says only what is served need none: any caller may see it.
 */
import { type Catalogue, isCounted, ParleyError, RATED, type Rated, SCOPES } from "@parley/core";
import { CREDENTIAL_ERRORS, errorMessage, INVALID_REQUEST, type Intent, type RequestId } from "@parley/protocol";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { FrontEnd } from "../../../front-end/front-end.ts";
import { requireScopes } from "../../../front-end/protected-resource.ts";
import { sendJson } from "../../../streams/outlet.ts";

/** What a client can want beside requests: to answer by a response, to cancel by a notification, to open or resume a stream. */
export type Wanted = Intent | { readonly type: "reply" | "cancelled" | "standalone" | "resumeCall" | "resumeResult" };

type ScopesOf<Type extends Wanted["type"]> = readonly string[] | ((wanted: Extract<Wanted, { type: Type }>) => readonly string[]);

const { call, read, answer } = SCOPES;

const NEEDED: { readonly [Type in Wanted["type"]]: ScopesOf<Type> } = {
  discover: [],
  ping: [],
  setLogLevel: [],
  listTools: [],
  listPrompts: [],
  listResources: [],
  listTemplates: [],
  complete: [call],
  readResource: [call],
  subscribe: [call],
  unsubscribe: [call],
  callTool: (wanted) => (repliesIn(wanted) ? [call, answer] : [call]),
  getPrompt: (wanted) => (repliesIn(wanted) ? [call, answer] : [call]),
  cancelTask: [call],
  cancelled: [call],
  resumeCall: [call],
  listen: ({ taskIds, resourceSubscriptions }) => [
    ...(taskIds.length > 0 ? [read] : []),
    ...(resourceSubscriptions.length > 0 ? [call] : []),
  ],
  getTask: ({ answers = [] }) => (answers.length > 0 ? [read, answer] : [read]),
  taskResult: [read],
  listTasks: [read],
  standalone: [read],
  resumeResult: [read],
  updateTask: [answer],
  sendInput: [answer],
  reply: [answer],
};

function repliesIn({ replies = {} }: { readonly replies?: object }): boolean {
  return Object.keys(replies).length > 0;
}

/** With those that the tool itself declares. */
export function scopesFor(wanted: Wanted, { tools }: Pick<Catalogue, "tools">): readonly string[] {
  // TypeScript does not see that what is found by a type takes what is wanted of that type.
  const needed = NEEDED[wanted.type] as ScopesOf<Wanted["type"]>;
  const scopes = typeof needed === "function" ? (needed as (wanted: Wanted) => readonly string[])(wanted) : needed;
  const declared = wanted.type === "callTool" ? tools.get(wanted.name)?.scopes : undefined;
  return declared === undefined ? scopes : [...scopes, ...declared];
}

interface Permit {
  readonly wanted: readonly Wanted[];
  /** Of the request, for its answer. Absent where there are several, or where there is no message. */
  readonly id?: RequestId;
}

/**
 * False when the caller's scopes or its rates do not suffice for all of it, and the refusal was sent. Nothing of it may be done then. Throws
 * UNAVAILABLE.
 */
export async function permitted(frontEnd: FrontEnd, request: FastifyRequest, reply: FastifyReply, permit: Permit): Promise<boolean> {
  return inScope(frontEnd, request, reply, permit) && (await withinRates(frontEnd, request, reply, permit));
}

function inScope(frontEnd: FrontEnd, request: FastifyRequest, reply: FastifyReply, { wanted, id }: Permit): boolean {
  const { resource, log } = frontEnd;
  if (!resource) return true;
  const needed = new Set(wanted.flatMap((each) => scopesFor(each, request.catalogue)));
  try {
    requireScopes(request.caller, [...needed], described(wanted));
    return true;
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    const { code: name, message, hint, data } = error;
    const { code, httpStatus } = CREDENTIAL_ERRORS.SCOPE_INSUFFICIENT;
    log.info({ requestId: request.id, code: name, problem: message }, "request refused");
    void reply.header("www-authenticate", resource.challenge(request, error));
    sendJson(reply, httpStatus, errorMessage(id, { code, message, data: { ...data, code: name, hint } }));
    return false;
  }
}

/** By what a request costs. What is not named is free: it is answered from memory. */
const RATED_AS: { readonly [Type in Wanted["type"]]?: Rated } = {
  complete: "calls",
  readResource: "calls",
  callTool: "calls",
  getPrompt: "calls",
  cancelTask: "calls",
  cancelled: "calls",
  resumeCall: "reads",
  listen: "reads",
  getTask: "reads",
  taskResult: "reads",
  listTasks: "reads",
  standalone: "reads",
  resumeResult: "reads",
  subscribe: "reads",
  unsubscribe: "reads",
  updateTask: "answers",
  sendInput: "answers",
  reply: "answers",
};

function rateOf(wanted: Wanted): Rated | undefined {
  return wanted.type === "getTask" && (wanted.answers ?? []).length > 0 ? "answers" : RATED_AS[wanted.type];
}

async function withinRates(frontEnd: FrontEnd, request: FastifyRequest, reply: FastifyReply, { wanted, id }: Permit): Promise<boolean> {
  const counts = Map.groupBy(wanted, rateOf);
  for (const rate of RATED) {
    const count = counts.get(rate)?.length ?? 0;
    if (count > 0 && !(await withinRate(frontEnd, request, reply, { rate, count, ...(id !== undefined && { id }) }))) return false;
  }
  return true;
}

interface WithinRate extends Pick<Permit, "id"> {
  readonly rate: Rated;
  readonly count: number;
}

/** False when the caller has done so much of that that it must wait, and the refusal was sent. Throws UNAVAILABLE. */
export async function withinRate(
  { rates, log }: Pick<FrontEnd, "rates" | "log">,
  request: FastifyRequest,
  reply: FastifyReply,
  { rate, count, id }: WithinRate,
): Promise<boolean> {
  if (!isCounted(request.caller)) return true;
  try {
    await rates.take(request.caller, rate, count);
    return true;
  } catch (error) {
    if (!(error instanceof ParleyError) || error.code !== "QUOTA_EXCEEDED") throw error;
    const { code, message, hint, data } = error;
    log.info({ requestId: request.id, code, problem: message }, "request refused");
    void reply.header("retry-after", Math.ceil(Number(data?.["retryAfterMs"]) / 1_000));
    sendJson(reply, 429, errorMessage(id, { code: INVALID_REQUEST, message, data: { ...data, code, hint } }));
    return false;
  }
}

function described([first, ...others]: readonly Wanted[]): string {
  if (!first || others.length > 0) return "what the batch wants";
  return first.type === "callTool" ? `the tool ${first.name}` : first.type;
}
