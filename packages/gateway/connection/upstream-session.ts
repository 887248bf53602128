/**
 * One connection to an upstream, through the official client: Streamable HTTP of any revision, the older SSE transport if the server has no other,
 * or a process of its own over stdio.
 *
 * Each call has its own connection. In a session without tasks, a question does not name its call, so only a session with a single call identifies
 * it reliably. (A reused session has a single call at a time: prepared.ts.)
 */
import { setTimeout as sleep } from "node:timers/promises";
import {
  Client,
  type ClientCapabilities,
  type ClientOptions,
  type PriorDiscovery,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SSEClientTransport,
  SseError,
  StreamableHTTPClientTransport,
  type StreamableHTTPClientTransportOptions,
  type FetchLike,
  type Transport,
} from "@modelcontextprotocol/client";
import { getDefaultEnvironment } from "@modelcontextprotocol/client/stdio";
import type { JsonObject } from "@parley/core";
import { CommandTransport } from "./command-transport.ts";
import { GATEWAY_HEADER } from "../config/settings.ts";
import { MESSAGE_BYTES_MAX, requestId } from "./upstream-fetch.ts";
import { boundReplies, REPLIES_WAITING_MAX } from "./pending-replies.ts";
import { insistOnAnswers } from "./sent-answers.ts";
import { dropOthers, isSharedStream, numberApart } from "./shared-stream.ts";
import { createSessionTasks } from "./session-tasks.ts";
import { createTaskRequests, MESSAGES_MAX, type TaskRequests, TASKS_EXTENSION } from "./upstream-tasks.ts";
import type { ByUrl, Upstream } from "../config/upstreams.ts";

export interface UpstreamSession {
  readonly client: Client;
  /** Whether the upstream asks with `input_required`, so that nothing is held while a person thinks. */
  readonly isStateless: boolean;
  /** Set if the upstream may answer a call with a task: any call of 2026-07-28, and in 2025-11-25 calls of tools that declare it. */
  readonly tasks?: TaskRequests;
  /** It declared that nobody can be asked, because the upstream sends the messages of one session to others. */
  readonly isMute?: boolean;
  /** It was opened in advance (prepared.ts), so the upstream may have forgotten it. */
  readonly isPrepared?: boolean;
  /** Another call starts in the session: resets the count of its messages. */
  begin(): void;
  /** Resolves when none of its processes and connections is left. Never throws. */
  close(options?: Closing): Promise<void>;
}

export interface Closing {
  /** The upstream keeps the session, for its task. */
  readonly keeps?: boolean;
  /** Its call ended with a result and left no open question: with `reuseSessions`, the next call may take the session (prepared.ts). */
  readonly isDone?: boolean;
}

/** Receives what happens in a session: the call that has it, which can later be another one. */
export interface SessionOwner {
  /** The stream of a tool call ended before its result, or an answer could not be delivered: the call will never end. */
  onCut?: ((why: string) => void) | undefined;
  /** An answer was refused for the caller's access token. Resolves when there is another one. */
  onUnauthorized?: (() => Promise<void>) | undefined;
  /** Notifications that arrive with the replies to `tasks`. */
  onNotification?: ((method: string, params: unknown) => void) | undefined;
  /** The upstream sent more than one call may; what comes later is dropped. */
  onFlood?: ((sent: string) => void) | undefined;
  /** A question was dropped, because the upstream sends the messages of one session to others. */
  onDropped?: (() => void) | undefined;
  /** The session must serve no other call. */
  isSpent?: boolean;
}

export interface OpenSession {
  readonly owner?: SessionOwner;
  /** The caller: a reused session serves only calls of the same caller. See CallFacts.session. */
  readonly principal?: string;
  readonly session?: string;
  /** Returns the caller's current access token, which each request sends in place of an `authorization` header of the file. */
  readonly accessToken?: (() => string) | undefined;
  readonly capabilities: ClientCapabilities;
  /** Registers handlers for the upstream's requests, before it can send any. `isMute`: the session has declared that there are none. */
  readonly prepare?: (client: Client, isMute: boolean) => void;
  readonly signal?: AbortSignal;
  readonly options?: Pick<ClientOptions, "listChanged">;
  /** Opens a new session rather than one that was opened in advance. */
  readonly isFresh?: boolean;
}

export interface UpstreamConnector {
  /** Throws what the client throws if nothing answers, or nothing that speaks MCP. */
  open(upstream: Upstream, request: OpenSession): Promise<UpstreamSession>;
  /** Polls tasks in sessions that any worker opened earlier. */
  sessionTasks(upstream: Upstream, accessToken?: () => string, onNotification?: SessionOwner["onNotification"]): TaskRequests;
  /** Forgets what was detected about an upstream, because another server may answer there now. */
  forget(upstream: Upstream): void;
}

/** How to speak to an upstream. */
interface Learned {
  readonly isSse: boolean;
  readonly speaks: "sessions" | "newest";
  readonly prior?: PriorDiscovery;
  /** The server sends no response headers on the session's own stream before the first message. */
  readonly isSilent?: boolean;
}

const OLDER: Learned = { isSse: true, speaks: "sessions" };

/** When two sessions are compared again, if the upstream did not answer in time: until then, nobody can be asked, and calls are not held up. */
const COMPARE_AGAIN_MS = 60_000;

/** A server is slow if connecting takes longer than this part of its time. */
const SLOW_CONNECT = 20;

/** How long ending a session at the upstream may take. Without it, the upstream keeps the session. Thousands may end at once. */
const END_SESSION_MS = 10_000;

export interface Connector extends UpstreamConnector {
  /** The file was read again: open sessions send its present headers, because a question may be open for longer than a credential is valid. */
  update(upstreams: readonly Upstream[]): void;
}

export interface ConnectorOptions {
  readonly fetch: FetchLike;
  readonly version: string;
  /** The name of this deployment, which is sent along so that a gateway notices that it is behind itself. */
  readonly deployment: string;
  readonly messagesMax?: number;
  /** Receives what commands print to standard error. Default: it is dropped, because it may contain anything. */
  readonly onStderr?: (upstream: string, text: string) => void;
}

/** Accepts every result: the caller validates it. A stranger's schemas are not compiled here; that would also take time for each session. */
const NO_VALIDATOR: NonNullable<ClientOptions["jsonSchemaValidator"]> = {
  getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
};
const CLIENT_NAME = "parley-gateway";

export function createConnector({ fetch, version, deployment, messagesMax = MESSAGES_MAX, onStderr }: ConnectorOptions): Connector {
  /** What was detected about each upstream, so that a call need not detect it again. */
  const known = new Map<string, Learned>();
  /** Upstreams with a session whose own stream was open before its first call. If one is late, the upstream is busy: it would drop its questions. */
  const listening = new Set<string>();
  /** Upstreams that send the messages of one session to others. */
  const shared = new Set<string>();
  /** Of upstreams of the older transport: whether each session has its own stream, as far as two of them show (shared-stream.ts). */
  const compared = new Map<string, Promise<boolean>>();

  /** By name. */
  const present = new Map<string, ByUrl>();

  async function open(upstream: Upstream, request: OpenSession): Promise<UpstreamSession> {
    const { name, reached, revisions } = upstream;
    const before = known.get(name);
    try {
      const connect = () => (before ? attempt(upstream, request, before) : find(upstream, request));
      const opened = await connect().catch(async (error: unknown) => {
        // Nothing has begun there.
        if (reached.by === "command" || !isCut(error) || request.signal?.aborted === true) throw error;
        return await connect();
      });
      known.set(name, opened.learned);
      return opened.session;
    } catch (error) {
      known.delete(name);
      if (request.signal?.aborted !== true) compared.delete(name);
      // The specification's test for servers before 2025-03-26: they refuse a POST, and the url is that of an event stream.
      const isRefused = error instanceof SdkHttpError && [400, 404, 405].includes(error.status ?? 0);
      if (reached.by === "command" || before?.isSse === true || !isRefused || request.signal?.aborted === true) throw error;
      const older = await attempt(upstream, request, OLDER).catch((thrown: unknown) => {
        // A server that took the connection and did not answer is there.
        throw isTimeout(thrown) ? thrown : error;
      });
      known.set(name, older.learned);
      return older.session;
    }

    /**
     * Some servers speak both families but have tools that can ask in a session only (FastMCP 4 refuses `ctx.elicit` at 2026-07-28). Others answer
     * `input_required`, which their SDK turns into questions in a session. So a session is preferred where there is one: every tool can ask in it, and
     * a call that was refused for lack of one could not be repeated, because what it did before is unknown.
     */
    async function find(...[of, how]: [Upstream, OpenSession]): Promise<Opened> {
      if (revisions !== "auto") return await attempt(of, how, { isSse: false, speaks: revisions });
      if (reached.by === "command") {
        return await attempt(of, how, { isSse: false, speaks: "sessions" }).catch(async (error: unknown) => {
          if (!(error instanceof ProtocolError)) throw error;
          return await attempt(of, how, { isSse: false, speaks: "newest" });
        });
      }
      const newest = await attempt(of, how, { isSse: false, speaks: "newest" });
      // An upstream with tasks of its own asks through them.
      if (!newest.session.isStateless || newest.session.tasks) return newest;
      const classic = await attempt(of, how, { isSse: false, speaks: "sessions" }).catch(() => undefined);
      const [taken, left] = classic?.hasSession === true ? [classic, newest] : [newest, classic];
      await left?.session.close();
      return taken;
    }
  }

  /** Whether each session has its own stream. Found out once for all of them, until the upstream cannot be reached. */
  async function areApart(upstream: Upstream, { accessToken }: OpenSession): Promise<boolean> {
    const { name, connectTimeoutMs } = upstream;
    const before = compared.get(name);
    if (before) return await before;
    const compare = async () => {
      const open = async (onShared: () => void) => (await attempt(upstream, { capabilities: {}, accessToken, onShared }, OLDER)).session;
      const isShared = await isSharedStream({ open, timeoutMs: connectTimeoutMs }).catch((error: unknown) => {
        compared.delete(name);
        throw error;
      });
      if (isShared === undefined) setTimeout(() => compared.delete(name), COMPARE_AGAIN_MS).unref();
      return isShared === false;
    };
    const comparing = compare();
    compared.set(name, comparing);
    return await comparing;
  }

  interface Attempt extends OpenSession {
    /** Of a session that is compared with another: it has received what belongs to that one. */
    readonly onShared?: () => void;
  }

  interface Opened {
    readonly session: UpstreamSession;
    readonly learned: Learned;
    readonly hasSession: boolean;
  }

  async function attempt(upstream: Upstream, request: Attempt, learned: Learned): Promise<Opened> {
    const { name, reached, connectTimeoutMs, ...rest } = upstream;
    const { prepare, signal, owner = {}, options = {}, accessToken, onShared } = request;
    const { isSse, speaks, prior: priorKnown, isSilent: wasSilent = false } = learned;
    const hasOwnStream = !isSse || (onShared === undefined && (await areApart(upstream, request)));
    const isShared = () => !hasOwnStream || shared.has(name);
    const isMute = isSse && isShared();
    const capabilities = isMute ? {} : request.capabilities;
    const client = new Client(
      { name: CLIENT_NAME, version },
      {
        ...options,
        capabilities,
        inputRequired: { autoFulfill: false },
        jsonSchemaValidator: NO_VALIDATOR,
        ...(speaks === "newest" && { versionNegotiation: { mode: "auto" } }),
      },
    );
    // A question that arrives while such a session is opened is that of another one (shared-stream.ts).
    if (!isSse) prepare?.(client, isMute);
    const firstId = numberApart(client);
    const sendAs = accessToken && reached.by === "url" ? withToken(fetch, reached.url, accessToken) : fetch;
    const send = reached.by === "url" ? withPresentHeaders(name, reached, sendAs) : sendAs;
    const stream = streamWatch(priorKnown?.kind === "modern" ? forgetsIfRefused(name, send) : send, {
      owner,
      isSse,
      listens: options.listChanged !== undefined,
    });
    const transport = transportTo({ name, reached, connectTimeoutMs, ...rest }, { isSse, owner, fetch: stream.fetch });
    if (reached.by === "url") insistOnAnswers(transport, owner);
    boundReplies(transport, () => owner.onFlood?.(`more than ${REPLIES_WAITING_MAX} requests without waiting for the replies`));
    let isSilent = wasSilent;
    let begin: () => void;
    try {
      const prior: PriorDiscovery | undefined = isSse ? { kind: "legacy" } : priorKnown;
      const startedMs = performance.now();
      const connected = boundConnecting(transport, connectTimeoutMs);
      await client.connect(transport, { timeout: connectTimeoutMs, ...(signal && { signal }), ...(prior && { prior }) });
      connected();
      const connectedMs = performance.now() - startedMs;
      boundIntroduction(client);
      begin = boundMessages(transport, { messagesMax, owner });
      if (isSse) {
        dropOthers(transport, {
          firstId,
          isShared,
          onShared() {
            shared.add(name);
            onShared?.();
          },
          onDropped: () => owner.onDropped?.(),
        });
        endWithStream(transport);
        prepare?.(client, isMute);
      }
      if (!isSilent) {
        const opened = await stream.opened(listening.has(name) ? connectTimeoutMs : connectTimeoutMs / 2);
        if (opened === "open") listening.add(name);
        else if (opened === "late" && listening.has(name)) throw new Error("the session's own stream was not open in time");
        // If everything is slow, so is the stream: nothing is learned from it.
        else isSilent = opened === "late" && connectedMs < connectTimeoutMs / SLOW_CONNECT;
      }
    } catch (error) {
      await client.close().catch(() => undefined);
      throw error;
    }
    const discover = client.getDiscoverResult();
    const isStateless = client.getProtocolEra() === "modern";
    const { extensions, tasks: sessionsTasks } = client.getServerCapabilities() ?? {};
    const hasTasks = isStateless && reached.by === "url" && extensions?.[TASKS_EXTENSION] !== undefined;
    const { sessionId } = transport instanceof StreamableHTTPClientTransport ? transport : {};
    const hasSessionTasks = !isStateless && sessionId !== undefined && sessionsTasks?.requests?.tools?.call !== undefined;
    const onNotification = (method: string, params: unknown) => owner.onNotification?.(method, params);
    const tasks = hasSessionTasks
      ? createSessionTasks({ ...sessionTasksOf(name, reached, rest), fetch: send, sessionId, onNotification })
      : hasTasks &&
        createTaskRequests({
          url: reached.url,
          headers: headersTo(name, reached),
          fetch: stream.fetch,
          clientInfo: { name: CLIENT_NAME, version },
          capabilities: capabilities as JsonObject,
          onNotification,
        });
    return {
      session: { client, isStateless, isMute, ...(tasks && { tasks }), begin, close: (closing) => close(client, closing) },
      learned: {
        isSse,
        isSilent,
        speaks: isStateless ? "newest" : "sessions",
        prior: discover ? { kind: "modern", discover } : { kind: "legacy" },
      },
      hasSession: sessionId !== undefined,
    };
  }

  /** No request precedes a call of 2026-07-28, so the call itself finds out that the server was replaced by one without that revision. */
  function forgetsIfRefused(name: string, sends: FetchLike): FetchLike {
    return async (url, init) => {
      const response = await sends(url, init);
      if (response.status >= 400 && response.status < 500) known.delete(name);
      return response;
    };
  }

  /** The access token of a caller comes after it, and replaces an `authorization` of the file. */
  function withPresentHeaders(name: string, opened: ByUrl, sends: FetchLike): FetchLike {
    const { origin } = new URL(opened.url);
    return (url, init) => {
      const now = present.get(name);
      if (!now || now === opened || now.url !== opened.url || new URL(url).origin !== origin) return sends(url, init);
      const headers = new Headers(init?.headers);
      for (const [key, value] of Object.entries(now.headers)) headers.set(key, value);
      return sends(url, { ...init, headers });
    };
  }

  function headersTo(name: string, { headers }: ByUrl): Readonly<Record<string, string>> {
    return { ...headers, [GATEWAY_HEADER]: `${deployment}/${name}` };
  }

  function transportTo({ reached, name }: Upstream, { isSse, owner, fetch }: Transporting) {
    if (reached.by === "command") {
      const { command, args, env, cwd } = reached;
      return new CommandTransport({
        command,
        args,
        env: { ...getDefaultEnvironment(), ...env },
        cwd,
        messageBytesMax: MESSAGE_BYTES_MAX,
        onStderr: onStderr && ((text) => onStderr(name, text)),
      });
    }
    const requestInit = { headers: headersTo(name, reached) };
    const url = new URL(reached.url);
    // A broken stream is reported at once: whether the rest can be resumed is unknown.
    const reconnectionOptions = {
      maxReconnectionDelay: 5_000,
      initialReconnectionDelay: 250,
      reconnectionDelayGrowFactor: 2,
      maxRetries: RETRIES_MAX,
    };
    return isSse
      ? new SSEClientTransport(url, { requestInit, fetch })
      : new CallTransport(url, { requestInit, fetch, reconnectionOptions }, owner);
  }

  function sessionTasksOf(name: string, reached: Upstream["reached"], { callTimeoutMs, questionTimeoutMs }: Times) {
    if (reached.by === "command") throw new Error(`${name} is a command: its tasks do not outlive the process`);
    // Each question may take that long, and their number is unknown.
    const ttlMs = callTimeoutMs + QUESTIONS_OF_A_TASK * (questionTimeoutMs ?? DAY_MS);
    return { url: reached.url, headers: headersTo(name, reached), fetch, ttlMs };
  }

  const sessionTasks: UpstreamConnector["sessionTasks"] = (upstream, accessToken, onNotification) =>
    createSessionTasks({
      ...sessionTasksOf(upstream.name, upstream.reached, upstream),
      onNotification,
      ...(accessToken && upstream.reached.by === "url" && { fetch: withToken(fetch, upstream.reached.url, accessToken) }),
    });

  return {
    open,
    sessionTasks,
    update(upstreams) {
      present.clear();
      for (const { name, reached } of upstreams) if (reached.by === "url") present.set(name, reached);
    },
    forget({ name }) {
      known.delete(name);
      listening.delete(name);
      shared.delete(name);
      compared.delete(name);
    },
  };
}

/** The token is for the upstream only: a redirect to another origin does not receive it. */
function withToken(fetch: FetchLike, upstreamUrl: string, accessToken: () => string): FetchLike {
  const { origin } = new URL(upstreamUrl);
  return (url, init) => {
    const headers = new Headers(init?.headers);
    if (new URL(url).origin !== origin) return fetch(url, init);
    headers.set("authorization", `Bearer ${accessToken()}`);
    return fetch(url, { ...init, headers });
  };
}

type Times = Pick<Upstream, "callTimeoutMs" | "questionTimeoutMs">;

const DAY_MS = 24 * 60 * 60 * 1_000;
const QUESTIONS_OF_A_TASK = 10;

interface Transporting {
  readonly isSse: boolean;
  readonly owner: SessionOwner;
  readonly fetch: FetchLike;
}

/** How often a session's own stream is opened: after a tenth of the session's age, within bounds. */
const STREAM_AGE_SHARE = 10;
const STREAMS_EVERY_MS = { shortest: 250, longest: 10_000 };
/** How often the client tries to open a stream again that was open before. */
const RETRIES_MAX = 3;

/**
 * Waits until the session's own stream is open. Many servers send their questions on it, and drop what they send before, so a call must not be made
 * earlier.
 *
 * Some servers answer a call with HTTP 202, which Streamable HTTP does not allow, and send its result on that stream, where the client finds it. Without
 * the stream the call would never end. The client opens no other stream after one that had a result, so the session is not used again.
 *
 * A server without session ids has no stream of a session: what it sends on the stream that belongs to no request could be a question of any other call,
 * and another caller would be asked. Only for changes of lists is it opened then; what is asked there is refused.
 */
function streamWatch(
  fetch: FetchLike,
  { owner, isSse, listens }: { readonly owner: SessionOwner; readonly isSse: boolean; readonly listens: boolean },
): { readonly fetch: FetchLike; opened(timeoutMs: number): Promise<"open" | "none" | "late"> } {
  const { promise, resolve } = Promise.withResolvers<"open" | "none">();
  let isBegun = false;
  /** How often the client will still ask for the stream if it gets none. */
  let triesLeft = 0;
  let isAwaited = false;

  function cutIfAwaited(): void {
    if (isAwaited && triesLeft <= 0) owner.onCut?.("the upstream accepted the call (HTTP 202), and there is no stream for its result");
  }
  let firstMs: number | undefined;
  let lastMs = -Infinity;

  /** A server may end each stream at once and ask for the next one without a pause, while a person thinks for days. */
  async function pause(signal: AbortSignal | null | undefined): Promise<void> {
    const nowMs = performance.now();
    firstMs ??= nowMs;
    const everyMs = Math.min(Math.max((nowMs - firstMs) / STREAM_AGE_SHARE, STREAMS_EVERY_MS.shortest), STREAMS_EVERY_MS.longest);
    const waitMs = lastMs + everyMs - nowMs;
    if (waitMs > 0) await sleep(waitMs, undefined, signal ? { signal } : {});
    lastMs = performance.now();
  }

  return {
    async fetch(url, init) {
      if (init?.method !== "GET") {
        const response = await fetch(url, init);
        if (response.status === 202 && !isSse && isCallBody(init?.body)) {
          isAwaited = true;
          owner.isSpent = true;
          cutIfAwaited();
        }
        const { onCut } = owner;
        return onCut ? watchAnswer(response, init?.body, () => onCut("the response of the upstream does not answer the call")) : response;
      }
      if (!isBegun) triesLeft = 1;
      isBegun = true;
      if (!isSse && !listens && !new Headers(init.headers).has("mcp-session-id")) {
        resolve("none");
        triesLeft = 0;
        cutIfAwaited();
        return new Response(null, { status: 405 });
      }
      try {
        await pause(init.signal);
        const response = await fetch(url, init);
        // A server without such a stream refuses the request.
        resolve(response.ok ? "open" : "none");
        triesLeft = response.ok ? RETRIES_MAX : response.status === 405 ? 0 : triesLeft - 1;
        return response;
      } catch (error) {
        resolve("none");
        triesLeft -= 1;
        throw error;
      } finally {
        cutIfAwaited();
      }
    },
    /** `late`: the server has not sent response headers. Some send them with their first message. */
    async opened(timeoutMs) {
      await new Promise((begun) => setImmediate(begun));
      if (!isBegun) return "none";
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<"late">((ends) => (timer = setTimeout(ends, timeoutMs, "late")));
      const opened = await Promise.race([promise, late]);
      clearTimeout(timer);
      return opened;
    },
  };
}

const CALLS: ReadonlySet<string> = new Set(["tools/call", "prompts/get", "resources/read", "completion/complete"]);

/** The client waits on if a response contains no message with the id of its request, such as an error without one. */
function watchAnswer(response: Response, body: unknown, onOther: () => void): Response {
  const id = typeof body === "string" ? requestId(body) : undefined;
  if (id === undefined || !response.ok || response.headers.get("content-type")?.startsWith("application/json") !== true) return response;
  const read = response.json.bind(response);
  const json = async (): Promise<unknown> => {
    const given: unknown = await read();
    const isAnswer = (message: { readonly id?: unknown } | null) => typeof message?.id !== "object" && Number(message?.id) === id;
    if (![given].flat().some((each) => isAnswer(each as { readonly id?: unknown } | null)) && isCallBody(body)) onOther();
    return given;
  };
  return Object.assign(response, { json });
}

function isCallBody(body: unknown): boolean {
  const { method } = typeof body === "string" ? (JSON.parse(body) as { method?: unknown }) : {};
  return typeof method === "string" && CALLS.has(method);
}

/**
 * The client bounds the requests by which it connects, but neither the start of a stream, which may never name an endpoint, nor the reply to a
 * notification, whose body may never end. Returns the function that ends this, once the client is connected.
 */
function boundConnecting(transport: Transport, timeoutMs: number): () => void {
  const start = transport.start.bind(transport);
  const send = transport.send.bind(transport);
  transport.start = () => inTime(start(), timeoutMs);
  transport.send = (message, options) => {
    const sent = send(message, options);
    return "id" in message ? sent : inTime(sent, timeoutMs);
  };
  return () => void (transport.send = send);
}

async function inTime(work: Promise<void>, timeoutMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new SdkError(SdkErrorCode.RequestTimeout, "Request timed out", { timeout: timeoutMs })), timeoutMs);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** In characters of JSON: what a server declares about itself. */
export const INTRODUCTION_CHARS_MAX = 65_536;

/** A held call keeps its client. With what an upstream may say about itself, thousands of them would fill the memory. */
function boundIntroduction(client: Client): void {
  // The client has no option for it. Nobody here reads them.
  Object.assign(client, { _instructions: undefined });
  const { length } = JSON.stringify([client.getServerCapabilities(), client.getServerVersion()]);
  if (length > INTRODUCTION_CHARS_MAX) throw new SdkError(SdkErrorCode.InvalidResult, "its capabilities are too large");
}

interface Flood {
  readonly messagesMax: number;
  readonly owner: SessionOwner;
}

/** Counts the messages of a call, and drops them once there are too many. Returns the function that resets the count. */
function boundMessages(transport: Transport, { messagesMax, owner }: Flood): () => void {
  const { onmessage } = transport;
  let messages = 0;
  transport.onmessage = (...message) => {
    const { onFlood } = owner;
    messages += 1;
    if (!onFlood || messages <= messagesMax) onmessage?.(...message);
    else if (messages === messagesMax + 1) onFlood(`more than ${messagesMax} messages in one call`);
  };
  return () => void (messages = 0);
}

/**
 * The older transport opens another stream when its own has ended. At the server that is another session, which has not been initialized and does not
 * know the call.
 */
function endWithStream(transport: Transport): void {
  const { onerror } = transport;
  transport.onerror = (error) => {
    onerror?.(error);
    if (error instanceof SseError) void transport.close();
  };
}

/** Reports streams that end before their result. The client would wait for it forever; only its transport notices. */
class CallTransport extends StreamableHTTPClientTransport {
  readonly #owner: SessionOwner;

  constructor(url: URL, options: StreamableHTTPClientTransportOptions, owner: SessionOwner) {
    super(url, options);
    this.#owner = owner;
  }

  override async send(...[message, options]: Parameters<StreamableHTTPClientTransport["send"]>): Promise<void> {
    const isCall = !Array.isArray(message) && "method" in message && CALLS.has(message.method);
    // Bound to this call: its stream may end after the next call has begun.
    const { onCut } = this.#owner;
    const onRequestStreamEnd = () => onCut?.("the upstream ended the stream of the call before its result");
    await super.send(message, isCall ? { ...options, onRequestStreamEnd } : options);
  }
}

const CUT: ReadonlySet<unknown> = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);

/** Whether the connection was closed before a response, for example as an idle one by its server. */
function isCut(error: unknown): boolean {
  return error instanceof Error && (CUT.has((error as NodeJS.ErrnoException).code) || isCut(error.cause));
}

function isTimeout(error: unknown): boolean {
  return error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout;
}

/** Ends the session at the upstream. Ending it twice has no further effect. */
async function endSession(transport: StreamableHTTPClientTransport): Promise<void> {
  try {
    await transport.terminateSession();
  } catch (error) {
    if (error instanceof SdkHttpError) throw error;
    // The connection was closed at that moment, for example as an idle one by its server.
    await transport.terminateSession();
  }
}

async function close(client: Client, { keeps = false }: Closing = {}): Promise<void> {
  const { transport } = client;
  let timer: NodeJS.Timeout | undefined;
  try {
    if (transport instanceof StreamableHTTPClientTransport && !keeps) {
      const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, END_SESSION_MS)));
      await Promise.race([endSession(transport), late]);
    }
  } catch {
    // An upstream that is gone has no session to end.
  } finally {
    clearTimeout(timer);
    await client.close().catch(() => undefined);
  }
}
