/**
 * The client of /api/v1. Requests and replies have the types that are generated from its reference, so that the compiler
 * finds where a command and the server disagree.
 *
 * What was sent is sent again while the server is away or the caller's rate is used up: reads change nothing, and the same
 * answer counts once.
 */
import { bodyOf, isAway } from "../bridge/responses.ts";
import { isStream, parsed, readEvents } from "../bridge/events.ts";
import { backoff, BACKOFF_MAX_MS, pause, waited } from "../bridge/patience.ts";
import { ask, get, type Remote, Unreachable } from "../bridge/remote.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { printToStderr } from "../terminal/terminal.ts";
import type { components, paths } from "./api-types.ts";

type Schemas = components["schemas"];
export type Ask = Schemas["Ask"];
export type AskSummary = Schemas["AskSummary"];
export type Audience = Schemas["Audience"];
export type BatchAnswer = Schemas["BatchAnswer"];
export type BatchReceipt = Schemas["BatchReceipt"];
export type ContextPart = Schemas["ContextPart"];
export type OpenAsk = Schemas["OpenAsk"];
export type SettledAsk = Schemas["SettledAsk"];
export type Task = Schemas["Task"];
type Problem = Schemas["Problem"];
/** What may be asked of `listAsks`. */
export type AskFilters = NonNullable<paths["/asks"]["get"]["parameters"]["query"]>;

/** How long to wait for a server that is away. */
const PATIENCE_MS = 10 * 60_000;
/** How long to wait for a rate, in one wait and in all. A quota that only the end of tasks frees names a longer time. */
const RATE_WAIT_MAX_S = 5;
const RATE_PATIENCE_MS = 60_000;
const RESPONSE_MS = 30_000;

type Method = "get" | "post";
type Json<Reply> = Reply extends { content: { readonly "application/json": infer Body } } ? Body : never;
type Replies<Operation> = Operation extends { responses: infer All } ? Json<All[Extract<keyof All, 200 | 201>]> : never;
type Path<Operation> = Operation extends { parameters: { path: infer Names } } ? { readonly path: Names } : unknown;
type Query<Operation> = Operation extends { parameters: { query?: infer Names } } ? { readonly query?: Names } : unknown;
type Body<Operation> = Operation extends { requestBody: { content: { "application/json": infer Sent } } }
  ? { readonly body: Sent }
  : unknown;

/** The paths that have an operation of this method. */
type PathOf<M extends Method> = { [At in keyof paths]: [paths[At][M]] extends [undefined] ? never : At }[keyof paths];
type Given<At extends keyof paths, M extends Method> = Path<paths[At][M]> & Query<paths[At][M]> & Body<paths[At][M]>;

export interface ApiClient {
  /** Throws ApiError, and an Error that says what to do if there is no such server. */
  get<At extends PathOf<"get">>(at: At, given: Given<At, "get">): Promise<Replies<paths[At]["get"]>>;
  post<At extends PathOf<"post">>(at: At, given: Given<At, "post">): Promise<Replies<paths[At]["post"]>>;
  /**
   * Calls `onChange` when what the caller is asked has changed, until the signal is aborted. A stream that breaks is opened again, where the last one ended. What changes while there is
   * none is told when there is one again.
   */
  changes(onChange: () => void, signal: AbortSignal): Promise<void>;
}

/** A refusal of the server. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly problem: Problem;
  constructor(problem: Problem) {
    super(problem.hint === undefined ? problem.detail : `${problem.detail}\n    ${problem.hint}`);
    this.problem = problem;
  }
  get status(): number {
    return this.problem.status;
  }
}

interface Sent {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
}

export function apiClient(remote: Remote): ApiClient {
  let isAwaySaid = false;

  async function send(method: Method, at: string, { path, query, body }: Sent): Promise<unknown> {
    const below = `api/v1${at.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path?.[name] ?? ""))}${queryOf(query)}`;
    const there: Remote = { ...remote, url: async () => new URL(below, await remote.url()).href };
    const outgoing = {
      method: method.toUpperCase() as "GET" | "POST",
      headers: { accept: "application/json", ...(body !== undefined && { "content-type": "application/json" }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    };
    const startedAtMs = performance.now();
    for (let attempt = 0; ; attempt += 1) {
      const reply = await reached(there, outgoing);
      if (reply instanceof Unreachable) {
        if (waited(startedAtMs) > PATIENCE_MS) throw reply;
        if (!isAwaySaid) printToStderr("The server does not respond. Questions are kept; waiting for the server.");
        isAwaySaid = true;
        await sleep(backoff(attempt));
        continue;
      }
      if (isAwaySaid) printToStderr("The server is back.");
      isAwaySaid = false;
      const { response, text } = reply;
      if (response.ok) return parsed(text);
      const waitS = Number(response.headers.get("retry-after"));
      const isRated = response.status === 429 && waitS > 0 && waitS <= RATE_WAIT_MAX_S;
      if (!isRated || waited(startedAtMs) > RATE_PATIENCE_MS) throw refusalOf(reply, await remote.url());
      await sleep(waitS * 1_000);
    }
  }

  async function changes(onChange: () => void, signal: AbortSignal): Promise<void> {
    const there: Remote = { ...remote, url: async () => new URL("api/v1/asks/changes", await remote.url()).href };
    let lastId = "";
    let retryMs = 0;
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      try {
        const response = await get(there, lastId === "" ? {} : { "last-event-id": lastId }, signal);
        if (response && isStream(response) && response.ok) {
          attempt = 0;
          await readEvents(response, {
            onMessage: async () => onChange(),
            onId: (id) => void (lastId = id),
            onRetry: (ms) => void (retryMs = Math.min(ms, BACKOFF_MAX_MS)),
          });
        } else await response?.body?.cancel();
      } catch {
        // The connection broke, or the person leaves.
      }
      await pause(Math.max(retryMs, backoff(attempt)), signal).catch(() => undefined);
    }
  }

  return {
    changes,
    get: async (at, given) => (await send("get", at, given as Sent)) as never,
    post: async (at, given) => (await send("post", at, given as Sent)) as never,
  };
}

interface Replied {
  readonly response: Response;
  readonly text: string;
}

/** Refusals of a server that cannot serve anything at present. Others of status 503 are about the one question, such as a key that is missing. */
const AWAY: ReadonlySet<string | undefined> = new Set([undefined, "UNAVAILABLE", "OVERLOADED", "PROVIDER_UNAVAILABLE"]);

async function reached(remote: Remote, outgoing: Omit<Parameters<typeof ask>[1], "signal">): Promise<Replied | Unreachable> {
  const signal = AbortSignal.timeout(RESPONSE_MS);
  try {
    const response = await ask(remote, { ...outgoing, signal });
    const replied = { response, text: await bodyOf(response) };
    const isGone = isAway(response) && AWAY.has(problemIn(replied)?.code);
    return isGone ? new Unreachable(await remote.url(), new Error(`HTTP ${response.status}`)) : replied;
  } catch (error) {
    if (error instanceof Unreachable) return error;
    if (signal.aborted) return new Unreachable(await remote.url(), error);
    throw error;
  }
}

function queryOf(query: Sent["query"] = {}): string {
  const given = Object.entries(query).flatMap(([name, value]): [string, string][] => (value === undefined ? [] : [[name, String(value)]]));
  return given.length === 0 ? "" : `?${new URLSearchParams(given).toString()}`;
}

function problemIn({ response, text }: Replied): Problem | undefined {
  const isOne = response.headers.get("content-type")?.startsWith("application/problem+json");
  const problem = isOne ? parsed(text) : undefined;
  return isProblem(problem) ? problem : undefined;
}

function refusalOf(replied: Replied, url: string): Error {
  const { status } = replied.response;
  const problem = problemIn(replied);
  if (status === 401) return new Error(`${url} requires a login: run \`parley login --url ${url}\`, or set PARLEY_TOKEN`);
  if (problem) return new ApiError({ ...problem, status });
  if (status === 404) return new Error(`${url} has no API for people's questions: it is an older server of Parley, or another server`);
  return new Error(`${url} responds with ${status}`);
}

function isProblem(value: unknown): value is Problem {
  return typeof value === "object" && value !== null && typeof (value as Partial<Problem>).detail === "string";
}
