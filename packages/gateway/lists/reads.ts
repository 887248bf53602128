/**
 * Reads at an upstream on behalf of front ends, which have no connection to upstreams and no credentials for them: they ask the workers.
 *
 *   front end ── asks all ──▶ a worker with a free place claims it ──▶ upstream
 *      ▲                                                                 │
 *      └──────────────── reply to that front end ◀───────────────────────┘
 *
 * Nothing is stored: if a request, a reply or the worker is lost, the front end asks again, because a read has no effect. The size of a read
 * is bounded. Tenants and callers share the places of workers, and those of front ends for reads that wait (packages/core/callers/shares.ts). Polls of
 * events are such reads, with places of their own.
 */
import { hash, randomUUID } from "node:crypto";
import { isInputRequiredResult, ProtocolError, SdkError, SdkErrorCode } from "@modelcontextprotocol/client";
import {
  describeError,
  type Json,
  type Log,
  ParleyError,
  type ResourceContents,
  resourceNotFound,
  RpcFailure,
  type SharedPlaces,
  sharedPlaces,
  type Taker,
} from "@parley/core";
import { z } from "zod";
import { withBodyError } from "../wire/body-error.ts";
import { REFUSED } from "../wire/question.ts";
import type { PollThrough, PollWanted } from "./gateway-event.ts";
import type { Completion, ReadThrough } from "./gateway-resource.ts";
import { ownUri } from "./own-uri.ts";
import { sharedPolls } from "./shared-polls.ts";
import type { Post } from "../process-messages.ts";
import { createReplies } from "../process-replies.ts";
import type { UpstreamConnector } from "../connection/upstream-session.ts";
import type { Upstream } from "../config/upstreams.ts";
import { describeFailure } from "../wire/describe-failure.ts";

/** How the processes of a deployment ask one another. packages/redis implements it. */
export interface Asking extends Post {
  /** Sends to all workers with a gateway. */
  ask(text: string): Promise<void>;
  onAsked(listener: (text: string) => void): Promise<() => void>;
  /** Returns whether this process claimed the request with that id. */
  claimAsked(id: string, ttlMs: number): Promise<boolean>;
  /** Prolongs a claim of this process. */
  renewAsked(id: string, ttlMs: number): Promise<void>;
}

/** Limits: characters of JSON per read, which fits in a message of an upstream; maximum duration; concurrent reads in one worker; waiting reads in one front end. */
export const READ_CHARS_MAX = 8_000_000;
/** For a front end of an older version, which expects nothing larger. */
const READ_CHARS_BEFORE = 1_048_576;
const READ_TIMEOUT_MS = 30_000;
export const READS_MAX = 100;
export const READS_WAITING_MAX = 1_000;
/** A request is repeated after this time, in case no worker received it or the reply was lost. */
const ASK_AGAIN_MS = 1_000;
/** A worker renews its claim with each repetition. If it dies, another one takes the request when it has missed three. */
const CLAIM_MS = 3 * ASK_AGAIN_MS;

type Wanted =
  | { readonly type: "read"; readonly uri: string }
  | { readonly type: "complete"; readonly completion: Completion }
  | { readonly type: "poll"; readonly poll: PollWanted };

interface Asked {
  readonly id: string;
  readonly from: string;
  readonly upstream: string;
  readonly wanted: Wanted;
  /** The words of whom it is for; absent from a process of an older version, and for callers that cannot be told apart. */
  readonly taker?: Taker;
  /** Absent from a process of an older version. */
  readonly charsMax?: number;
}

type Came =
  | { readonly type: "read"; readonly contents: readonly ResourceContents[] }
  | { readonly type: "completed"; readonly values: readonly string[] }
  | { readonly type: "polled"; readonly page: unknown }
  /** The upstream's error, unchanged. `polled` if it was asked for events: a worker of an older version asks it to complete something instead. */
  | { readonly type: "error"; readonly code: number; readonly message: string; readonly data?: Json; readonly polled?: true }
  | { readonly type: "unavailable" | "invalid" | "large" | "timeout"; readonly message: string };

type Reply = Came & { readonly id: string };

const ANYTHING = z.looseObject({});
const OLDER: Came = { type: "unavailable", message: "a worker of an older version was asked, which cannot poll" };

/** Polls have places of their own: an upstream that does not answer those of many subscribers must not keep anybody from reading at others. */
function placesFor(most: number): (wanted: Wanted) => SharedPlaces {
  const [polls, others] = [sharedPlaces(most), sharedPlaces(most)];
  return ({ type }) => (type === "poll" ? polls : others);
}

const timeoutOf = ({ callTimeoutMs }: Upstream) => Math.min(callTimeoutMs, READ_TIMEOUT_MS);

// ── front ends ───────────────────────────────────────────────────────────────────────────────────────────────────

export async function createReadThrough(asking: Asking): Promise<ReadThrough & PollThrough & { close(): void }> {
  const replies = await createReplies<Reply>((listener) => asking.onPost("read", listener));
  const places = placesFor(READS_WAITING_MAX);

  async function through(upstream: Upstream, wanted: Wanted, taker: Taker | undefined): Promise<Came> {
    const { name } = upstream;
    const leave = places(wanted).take(taker);
    if (typeof leave === "string") {
      const message =
        leave === "all"
          ? `${READS_WAITING_MAX} reads of upstreams are waiting already`
          : `this caller has its share of the ${READS_WAITING_MAX} reads of upstreams that may wait`;
      throw new ParleyError("UPSTREAM_BUSY", message, { data: { upstream: name, retryAfterMs: 1_000 } });
    }
    const id = randomUUID();
    const asked: Asked = { id, from: asking.id, upstream: name, wanted, ...(taker && { taker: wordsOf(taker) }), charsMax: READ_CHARS_MAX };
    const text = JSON.stringify(asked);
    // The worker's own deadline is earlier.
    const withinMs = timeoutOf(upstream) + ASK_AGAIN_MS;
    const { reply, giveUp } = replies.expect(id, withinMs);
    const again = setInterval(() => void asking.ask(text).catch(() => undefined), ASK_AGAIN_MS);
    try {
      await asking.ask(text);
      return (await reply) ?? { type: "unavailable", message: `no worker read it within ${withinMs} ms` };
    } finally {
      leave();
      giveUp();
      clearInterval(again);
    }
  }

  const poll: PollThrough["poll"] = async (upstream, wanted, taker) => {
    const came = await through(upstream, { type: "poll", poll: wanted }, taker);
    if (came.type === "polled") return came.page;
    const isOlder = came.type === "completed" || (came.type === "error" && came.polled !== true);
    throw failureOf(isOlder ? OLDER : came, upstream, "poll of events");
  };

  return {
    async read(upstream, uri, taker) {
      const came = await through(upstream, { type: "read", uri }, taker);
      if (came.type === "read") return came.contents;
      // −32002 up to 2025-11-25, −32602 afterwards: each dialect encodes it in its own way.
      const isMissing = came.type === "error" && (came.code === -32002 || (came.code === -32602 && isAbout(came.data, uri)));
      throw isMissing ? resourceNotFound("no resource of that uri", ownUri(upstream, uri)) : failureOf(came, upstream, "resource");
    },
    async complete(upstream, completion, taker) {
      const came = await through(upstream, { type: "complete", completion }, taker);
      if (came.type === "completed") return came.values;
      throw failureOf(came, upstream, "completion");
    },
    poll,
    pollWithOthers: sharedPolls(poll),
    close: replies.close,
  };
}

/** Processes need to tell takers apart, and not to learn who they are. */
function wordsOf({ share, principal }: Taker): Taker {
  return { share: hash("sha256", share, "base64url"), principal: hash("sha256", principal, "base64url") };
}

function isAbout(data: Json | undefined, uri: string): boolean {
  return typeof data === "object" && data !== null && !Array.isArray(data) && data["uri"] === uri;
}

function failureOf(came: Came, { name }: Upstream, what: string): Error {
  switch (came.type) {
    case "error":
      return new RpcFailure(came.code, came.message, came.data);
    case "read":
    case "completed":
    case "polled":
      return new Error(`a ${what} was answered with another kind of reply`);
    case "unavailable":
    case "invalid":
    case "large":
    case "timeout": {
      const codes = {
        unavailable: "UPSTREAM_UNAVAILABLE",
        invalid: "UPSTREAM_INVALID",
        large: "TOO_LARGE",
        timeout: "UPSTREAM_TIMEOUT",
      } as const;
      return new ParleyError(codes[came.type], `${what} of upstream ${name}: ${came.message}`, { data: { upstream: name } });
    }
  }
}

// ── workers ──────────────────────────────────────────────────────────────────────────────────────────────────────

export interface ServeReads {
  readonly asking: Asking;
  readonly connector: UpstreamConnector;
  readonly upstreams: () => readonly Upstream[];
  readonly log: Log;
}

/** Serves the reads that front ends ask for. Returns the function that stops serving. */
export async function serveReads({ asking, connector, upstreams, log }: ServeReads): Promise<() => void> {
  const places = placesFor(READS_MAX);
  /** Requests that were answered here a moment ago. One that comes again lost its reply. */
  const answered = new Set<string>();

  function remember(id: string): void {
    answered.add(id);
    setTimeout(() => answered.delete(id), READ_TIMEOUT_MS).unref();
  }

  async function serve({ id, from, upstream: name, wanted, taker, charsMax = READ_CHARS_BEFORE }: Asked): Promise<void> {
    const upstream = upstreams().find((each) => each.name === name);
    if (!upstream) return;
    const leave = places(wanted).take(taker);
    // No place is free for it. Another worker takes the request, or this one when it is repeated.
    if (typeof leave === "string") return;
    let renewal: NodeJS.Timeout | undefined;
    try {
      if (!answered.delete(id) && !(await asking.claimAsked(id, CLAIM_MS))) return;
      // If it cannot be renewed, another worker reads the same.
      renewal = setInterval(() => void asking.renewAsked(id, CLAIM_MS).catch(() => undefined), ASK_AGAIN_MS);
      const came = bounded(await readAt(connector, upstream, wanted), Math.min(charsMax, READ_CHARS_MAX));
      remember(id);
      await asking.post("read", from, JSON.stringify({ id, ...came } satisfies Reply));
    } catch (error) {
      log.warn({ upstream: name, ...describeError(error) }, "read of an upstream could not be answered");
    } finally {
      clearInterval(renewal);
      leave();
    }
  }

  return await asking.onAsked((text) => void serve(JSON.parse(text) as Asked));
}

function bounded(came: Came, charsMax: number): Came {
  const size = JSON.stringify(came).length;
  return size <= charsMax ? came : { type: "large", message: `has ${size} characters of JSON; the limit is ${charsMax}` };
}

const MISSING_CAPABILITY = -32021;
/** A read has no task, so nobody could answer it later, and many readers are programs. */
const NEEDS_INPUT = {
  code: REFUSED,
  message:
    "The server asks for input before this resource can be read, and the gateway passes on questions of tools and prompts only. Have the server offer it as a tool.",
  data: { reason: "input_required" },
} as const;

async function readAt(connector: UpstreamConnector, upstream: Upstream, wanted: Wanted, isFresh = false): Promise<Came> {
  const timeoutMs = timeoutOf(upstream);
  const cut = new AbortController();
  const signal = AbortSignal.any([cut.signal, AbortSignal.timeout(timeoutMs)]);
  let session: Awaited<ReturnType<UpstreamConnector["open"]>>;
  try {
    session = await connector.open(upstream, { capabilities: {}, signal, isFresh, owner: { onCut: () => cut.abort() } });
  } catch (error) {
    return { type: "unavailable", message: `cannot be reached: ${describeFailure(error)}` };
  }
  try {
    const options = { timeout: timeoutMs, signal };
    if (wanted.type === "read") {
      const result = await session.client.readResource({ uri: wanted.uri }, { ...options, allowInputRequired: true });
      if (isInputRequiredResult(result)) return { type: "error", ...NEEDS_INPUT };
      return { type: "read", contents: result.contents as readonly ResourceContents[] };
    }
    if (wanted.type === "poll") {
      // As front ends read it, also those that are newer than this worker.
      const page = await session.client.request({ method: "events/poll", params: { ...wanted.poll } }, ANYTHING, options);
      return { type: "polled", page };
    }
    const { completion } = await session.client.complete(wanted.completion, options);
    return { type: "completed", values: completion.values };
  } catch (thrown) {
    // The upstream may have forgotten a session that was opened in advance.
    const error = session.isPrepared === true ? thrown : withBodyError(thrown);
    // A reader that has the capability would be told to declare it.
    if (error instanceof ProtocolError && error.code === MISSING_CAPABILITY && wanted.type === "read")
      return { type: "error", ...NEEDS_INPUT };
    if (error instanceof ProtocolError) {
      const { code, message, data } = error;
      const said = data !== undefined && { data: data as Json };
      return { type: "error", code, message, ...said, ...(wanted.type === "poll" && { polled: true }) };
    }
    if (session.isPrepared === true && !signal.aborted) return await readAt(connector, upstream, wanted, true);
    if (error instanceof SdkError && error.code === SdkErrorCode.InvalidResult) {
      return { type: "invalid", message: "answered with a result that MCP does not allow" };
    }
    if (signal.aborted && !cut.signal.aborted) return { type: "timeout", message: `not read within ${timeoutMs} ms` };
    return { type: "unavailable", message: `did not answer: ${describeFailure(error)}` };
  } finally {
    void session.close();
  }
}
