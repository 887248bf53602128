/**
 * One connection to an upstream, by the official client: Streamable HTTP of any revision, the older SSE transport where that is all there is,
 * or a process of its own over stdio.
 *
 * Each call has its own: a question of a session without tasks names no call, so that only a session with a single call tells for certain
 * whose question it is. (One that is used again has a single call at a time: prepared.ts.)
 */
import {
  Client,
  type ClientCapabilities,
  type ClientOptions,
  type PriorDiscovery,
  ProtocolError,
  SdkHttpError,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type StreamableHTTPClientTransportOptions,
  type FetchLike,
  type Transport,
} from "@modelcontextprotocol/client";
import { getDefaultEnvironment, StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import type { JsonObject } from "@parley/core";
import { GATEWAY_HEADER } from "./settings.ts";
import { MESSAGE_BYTES_MAX } from "./upstream-fetch.ts";
import { insistOnAnswers } from "./sent-answers.ts";
import { createSessionTasks } from "./session-tasks.ts";
import { createTaskRequests, MESSAGES_MAX, type TaskRequests, TASKS_EXTENSION } from "./upstream-tasks.ts";
import type { ByUrl, Upstream } from "./upstreams.ts";

export interface UpstreamSession {
  readonly client: Client;
  /** Whether the upstream asks by `input_required`, so that nothing has to be held while a person thinks. */
  readonly isStateless: boolean;
  /** Where the upstream may answer a call with a task: any call of 2026-07-28, and those of tools that say so before. */
  readonly tasks?: TaskRequests;
  /** It was opened before it was wanted (prepared.ts): the upstream may have forgotten it. */
  readonly isPrepared?: boolean;
  /** Another call begins in it: its messages are counted from here. */
  begin(): void;
  /** Resolves once no process or connection of it is left. Never throws. */
  close(options?: Closing): Promise<void>;
}

export interface Closing {
  /** The session itself stays at the upstream, for its task. */
  readonly keeps?: boolean;
  /** Its call has come to a result and has asked nothing that it did not wait for: where the file says so, the next call may have it (prepared.ts). */
  readonly isDone?: boolean;
}

/** Who is told of what happens in a session: the call that has it, which can be another one later. */
export interface SessionOwner {
  /** The stream of a tool call ended before its result, or an answer could not be given: the upstream will not come to an end. */
  onCut?: ((why: string) => void) | undefined;
  /** Notifications that come with the replies to `tasks`. */
  onNotification?: ((method: string, params: unknown) => void) | undefined;
  /** More messages came than one call may send; what comes afterwards is dropped. */
  onFlood?: (() => void) | undefined;
}

export interface OpenSession {
  readonly owner?: SessionOwner;
  /** Whose call it is: a session that is used again stays with its caller. */
  readonly principal?: string;
  /** The caller's access token at the moment: it is sent with each request in place of an `authorization` of the file. */
  readonly accessToken?: (() => string) | undefined;
  readonly capabilities: ClientCapabilities;
  /** Registers what the upstream may ask for, before it can. */
  readonly prepare?: (client: Client) => void;
  readonly signal?: AbortSignal;
  readonly options?: Pick<ClientOptions, "listChanged">;
  /** Not one that was prepared. */
  readonly isFresh?: boolean;
}

export interface UpstreamConnector {
  /** Throws what the client throws when there is nobody, or nobody who speaks MCP. */
  open(upstream: Upstream, request: OpenSession): Promise<UpstreamSession>;
  /** Looks at tasks in sessions that were opened before, by any worker. */
  sessionTasks(upstream: Upstream, accessToken?: () => string): TaskRequests;
  /** What was found out about an upstream is looked at again: it may be another one by now. */
  forget(upstream: Upstream): void;
}

/** How an upstream is spoken to. */
interface Learned {
  readonly isSse: boolean;
  readonly speaks: "sessions" | "newest";
  readonly prior?: PriorDiscovery;
  /** Its own stream says nothing before its first message. */
  readonly isSilent?: boolean;
}

/** How long ending a session at the upstream may take: one that is not told keeps it. Thousands may end at once. */
const FAREWELL_MS = 10_000;

export interface ConnectorOptions {
  readonly fetch: FetchLike;
  readonly version: string;
  /** Sent along, so that a gateway notices that it is behind itself. */
  readonly deployment: string;
  readonly messagesMax?: number;
}

/** What an upstream answers is judged by the caller, whose it is: schemas of strangers are not compiled here, which takes time for each session, too. */
const NO_VALIDATOR: NonNullable<ClientOptions["jsonSchemaValidator"]> = {
  getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
};
const CLIENT_NAME = "parley-gateway";

export function createConnector({ fetch, version, deployment, messagesMax = MESSAGES_MAX }: ConnectorOptions): UpstreamConnector {
  /** How each upstream wants to be spoken to, so that a call does not have to find out again. */
  const known = new Map<string, Learned>();

  async function open(upstream: Upstream, request: OpenSession): Promise<UpstreamSession> {
    const { name, reached, revisions } = upstream;
    const before = known.get(name);
    try {
      const opened = before ? await attempt(upstream, request, before) : await find(upstream, request);
      known.set(name, opened.learned);
      return opened.session;
    } catch (error) {
      known.delete(name);
      // As the specification says of servers before 2025-03-26: a POST is refused there, and the address is that of a stream.
      const isRefused = error instanceof SdkHttpError && [400, 404, 405].includes(error.status ?? 0);
      if (reached.by === "command" || before?.isSse === true || !isRefused || request.signal?.aborted === true) throw error;
      const older = await attempt(upstream, request, { isSse: true, speaks: "sessions" }).catch(() => {
        throw error;
      });
      known.set(name, older.learned);
      return older.session;
    }

    /**
     * Some servers have both families, and tools that ask in one of them alone: they block on their questions (FastMCP 4 refuses `ctx.elicit` at
     * 2026-07-28). Others answer `input_required`, which their SDK turns into questions in a session. So all can ask in a session, where there is one;
     * a call that was refused for that reason could not be made again, since nobody knows what it did before.
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
      // One with tasks of its own asks by them.
      if (!newest.session.isStateless || newest.session.tasks) return newest;
      const classic = await attempt(of, how, { isSse: false, speaks: "sessions" }).catch(() => undefined);
      const [taken, left] = classic?.hasSession === true ? [classic, newest] : [newest, classic];
      await left?.session.close();
      return taken;
    }
  }

  interface Opened {
    readonly session: UpstreamSession;
    readonly learned: Learned;
    readonly hasSession: boolean;
  }

  async function attempt(
    { name, reached, connectTimeoutMs, ...rest }: Upstream,
    { capabilities, prepare, signal, owner = {}, options = {}, accessToken }: OpenSession,
    { isSse, speaks, prior: priorKnown, isSilent: wasSilent = false }: Learned,
  ): Promise<Opened> {
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
    prepare?.(client);
    const send = accessToken && reached.by === "url" ? withToken(fetch, reached.url, accessToken) : fetch;
    const listening = listenWatch(send);
    const transport = transportTo({ name, reached, connectTimeoutMs, ...rest }, { isSse, owner, fetch: listening.fetch });
    if (reached.by === "url") insistOnAnswers(transport, owner);
    try {
      const prior: PriorDiscovery | undefined = isSse ? { kind: "legacy" } : priorKnown;
      await client.connect(transport, { timeout: connectTimeoutMs, ...(signal && { signal }), ...(prior && { prior }) });
    } catch (error) {
      await client.close().catch(() => undefined);
      throw error;
    }
    const begin = boundMessages(transport, { messagesMax, owner });
    const discover = client.getDiscoverResult();
    const isSilent = wasSilent || !(await listening.opened(connectTimeoutMs / 2));
    const isStateless = client.getProtocolEra() === "modern";
    const { extensions, tasks: sessionsTasks } = client.getServerCapabilities() ?? {};
    const hasTasks = isStateless && reached.by === "url" && extensions?.[TASKS_EXTENSION] !== undefined;
    const { sessionId } = transport instanceof StreamableHTTPClientTransport ? transport : {};
    const hasSessionTasks = !isStateless && sessionId !== undefined && sessionsTasks?.requests?.tools?.call !== undefined;
    const tasks = hasSessionTasks
      ? createSessionTasks({ ...sessionTasksOf(name, reached, rest), fetch: send, sessionId })
      : hasTasks &&
        createTaskRequests({
          url: reached.url,
          headers: headersTo(name, reached),
          fetch: send,
          clientInfo: { name: CLIENT_NAME, version },
          capabilities: capabilities as JsonObject,
          onNotification: (method, params) => owner.onNotification?.(method, params),
        });
    return {
      session: { client, isStateless, ...(tasks && { tasks }), begin, close: (closing) => close(client, closing) },
      learned: {
        isSse,
        isSilent,
        speaks: isStateless ? "newest" : "sessions",
        prior: discover ? { kind: "modern", discover } : { kind: "legacy" },
      },
      hasSession: sessionId !== undefined,
    };
  }

  function headersTo(name: string, { headers }: ByUrl): Readonly<Record<string, string>> {
    return { ...headers, [GATEWAY_HEADER]: `${deployment}/${name}` };
  }

  function transportTo({ reached, name }: Upstream, { isSse, owner, fetch }: Transporting) {
    if (reached.by === "command") {
      const { command, args, env, cwd } = reached;
      return new StdioClientTransport({
        command,
        args: [...args],
        env: { ...getDefaultEnvironment(), ...env },
        stderr: "ignore",
        maxBufferSize: MESSAGE_BYTES_MAX,
        ...(cwd !== undefined && { cwd }),
      });
    }
    const requestInit = { headers: headersTo(name, reached) };
    const url = new URL(reached.url);
    // A stream that breaks is told at once: nobody knows whether the rest of it can be had again.
    const reconnectionOptions = {
      maxReconnectionDelay: 5_000,
      initialReconnectionDelay: 250,
      reconnectionDelayGrowFactor: 2,
      maxRetries: 3,
    };
    return isSse
      ? new SSEClientTransport(url, { requestInit, fetch })
      : new CallTransport(url, { requestInit, fetch, reconnectionOptions }, owner);
  }

  function sessionTasksOf(name: string, reached: Upstream["reached"], { callTimeoutMs, questionTimeoutMs }: Times) {
    if (reached.by === "command") throw new Error(`${name} is a command, and has no tasks that outlive it`);
    // Each question may take that long; how many there are nobody knows.
    const ttlMs = callTimeoutMs + QUESTIONS_OF_A_TASK * (questionTimeoutMs ?? DAY_MS);
    return { url: reached.url, headers: headersTo(name, reached), fetch, ttlMs };
  }

  const sessionTasks = (upstream: Upstream, accessToken?: () => string) =>
    createSessionTasks({
      ...sessionTasksOf(upstream.name, upstream.reached, upstream),
      ...(accessToken && upstream.reached.by === "url" && { fetch: withToken(fetch, upstream.reached.url, accessToken) }),
    });

  return { open, sessionTasks, forget: ({ name }) => void known.delete(name) };
}

/** The token is for the upstream alone: a redirect to another origin does not get it. */
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

/**
 * Sees the session's own stream being opened. Many servers send their questions on that one, and drop what they send before it is open, so a call
 * must not come earlier.
 */
function listenWatch(fetch: FetchLike): { readonly fetch: FetchLike; opened(timeoutMs: number): Promise<boolean> } {
  const { promise, resolve } = Promise.withResolvers<true>();
  let isBegun = false;
  return {
    async fetch(url, init) {
      if (init?.method !== "GET") return await fetch(url, init);
      isBegun = true;
      try {
        return await fetch(url, init);
      } finally {
        // A server without such a stream says so.
        resolve(true);
      }
    },
    /** False when the server has not even begun to answer: some do so with their first message. */
    async opened(timeoutMs) {
      await new Promise((begun) => setImmediate(begun));
      if (!isBegun) return true;
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<false>((ends) => (timer = setTimeout(ends, timeoutMs, false)));
      const isOpen = await Promise.race([promise, late]);
      clearTimeout(timer);
      return isOpen;
    },
  };
}

const CALLS: ReadonlySet<string> = new Set(["tools/call", "prompts/get", "resources/read", "completion/complete"]);

interface Flood {
  readonly messagesMax: number;
  readonly owner: SessionOwner;
}

/** For as long as somebody is told of it. Returns what begins to count again. */
function boundMessages(transport: Transport, { messagesMax, owner }: Flood): () => void {
  const { onmessage } = transport;
  let messages = 0;
  transport.onmessage = (...message) => {
    const { onFlood } = owner;
    messages += 1;
    if (!onFlood || messages <= messagesMax) onmessage?.(...message);
    else if (messages === messagesMax + 1) onFlood();
  };
  return () => void (messages = 0);
}

/** The client waits forever for a result whose stream has ended: only its transport knows of that. */
class CallTransport extends StreamableHTTPClientTransport {
  readonly #owner: SessionOwner;

  constructor(url: URL, options: StreamableHTTPClientTransportOptions, owner: SessionOwner) {
    super(url, options);
    this.#owner = owner;
  }

  override async send(...[message, options]: Parameters<StreamableHTTPClientTransport["send"]>): Promise<void> {
    const isCall = !Array.isArray(message) && "method" in message && CALLS.has(message.method);
    // That of this call: its stream may end after the next one has begun.
    const { onCut } = this.#owner;
    const onRequestStreamEnd = () => onCut?.("the upstream ended the stream of the call before its result");
    await super.send(message, isCall ? { ...options, onRequestStreamEnd } : options);
  }
}

/** Ending it twice is ending it once. */
async function farewell(transport: StreamableHTTPClientTransport): Promise<void> {
  try {
    await transport.terminateSession();
  } catch (error) {
    if (error instanceof SdkHttpError) throw error;
    // The connection was closed just then, such as an idle one by its server.
    await transport.terminateSession();
  }
}

async function close(client: Client, { keeps = false }: Closing = {}): Promise<void> {
  const { transport } = client;
  let timer: NodeJS.Timeout | undefined;
  try {
    if (transport instanceof StreamableHTTPClientTransport && !keeps) {
      const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, FAREWELL_MS)));
      await Promise.race([farewell(transport), late]);
    }
  } catch {
    // An upstream that is gone has no session left to end.
  } finally {
    clearTimeout(timer);
    await client.close().catch(() => undefined);
  }
}
