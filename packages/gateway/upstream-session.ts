/**
 * One connection to an upstream, by the official client: Streamable HTTP of any revision, the older SSE transport where that is all there is,
 * or a process of its own over stdio.
 *
 * Each call has its own: a question of a session without tasks names no call, so that only a session with a single call tells for certain
 * whose question it is.
 */
import {
  Client,
  type ClientCapabilities,
  type ClientOptions,
  type PriorDiscovery,
  SdkHttpError,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type StreamableHTTPClientTransportOptions,
  type FetchLike,
} from "@modelcontextprotocol/client";
import { getDefaultEnvironment, StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import type { JsonObject } from "@parley/core";
import { MESSAGE_BYTES_MAX } from "./upstream-fetch.ts";
import { createTaskRequests, type TaskRequests, TASKS_EXTENSION } from "./upstream-tasks.ts";
import type { ByUrl, Upstream } from "./upstreams.ts";

export interface UpstreamSession {
  readonly client: Client;
  /** Whether the upstream asks by `input_required`, so that nothing has to be held while a person thinks. */
  readonly isStateless: boolean;
  /** Where the upstream may answer a call with a task. */
  readonly tasks?: TaskRequests;
  /** It was opened before it was wanted (prepared.ts): the upstream may have forgotten it. */
  readonly isPrepared?: boolean;
  /** Resolves once no process or connection of it is left. Never throws. */
  close(): Promise<void>;
}

export interface OpenSession {
  /** The stream of a tool call ended before its result. */
  readonly onCallCut?: () => void;
  readonly capabilities: ClientCapabilities;
  /** Registers what the upstream may ask for, before it can. */
  readonly prepare?: (client: Client) => void;
  readonly signal?: AbortSignal;
  readonly options?: Pick<ClientOptions, "listChanged">;
  /** Notifications that come with the replies to `tasks`. */
  readonly onNotification?: (method: string, params: unknown) => void;
  /** Not one that was prepared. */
  readonly isFresh?: boolean;
}

export interface UpstreamConnector {
  /** Throws what the client throws when there is nobody, or nobody who speaks MCP. */
  open(upstream: Upstream, request: OpenSession): Promise<UpstreamSession>;
  /** What was found out about an upstream is looked at again: it may be another one by now. */
  forget(upstream: Upstream): void;
}

/** How long ending a session at the upstream may take. */
const FAREWELL_MS = 2_000;

export interface ConnectorOptions {
  readonly fetch: FetchLike;
  readonly version: string;
  /** Sent along, so that a gateway notices that it is behind itself. */
  readonly deployment: string;
}

const CLIENT_NAME = "parley-gateway";
export const GATEWAY_HEADER = "parley-gateway";

export function createConnector({ fetch, version, deployment }: ConnectorOptions): UpstreamConnector {
  /** How each upstream wants to be spoken to, so that a call does not have to find out again. */
  const known = new Map<string, { readonly prior: PriorDiscovery; readonly isSse: boolean; readonly isSilent: boolean }>();

  async function open(
    upstream: Upstream,
    { capabilities, prepare, signal, onCallCut, onNotification, options = {} }: OpenSession,
  ): Promise<UpstreamSession> {
    const { name, reached, revisions, connectTimeoutMs } = upstream;
    const before = known.get(name);
    const attempt = async (isSse: boolean): Promise<UpstreamSession> => {
      const client = new Client(
        { name: CLIENT_NAME, version },
        {
          ...options,
          capabilities,
          inputRequired: { autoFulfill: false },
          ...(revisions === "auto" && !isSse && { versionNegotiation: { mode: "auto" } }),
        },
      );
      prepare?.(client);
      const listening = listenWatch(fetch);
      const transport = transportTo(upstream, { isSse, onCallCut, fetch: listening.fetch });
      try {
        const prior: PriorDiscovery | undefined = isSse ? { kind: "legacy" } : before?.prior;
        await client.connect(transport, { timeout: connectTimeoutMs, ...(signal && { signal }), ...(prior && { prior }) });
      } catch (error) {
        await client.close().catch(() => undefined);
        throw error;
      }
      const discover = client.getDiscoverResult();
      const isSilent = before?.isSilent === true || !(await listening.opened(connectTimeoutMs / 2));
      known.set(name, { isSse, isSilent, prior: discover ? { kind: "modern", discover } : { kind: "legacy" } });
      const isStateless = client.getProtocolEra() === "modern";
      const hasTasks = isStateless && reached.by === "url" && client.getServerCapabilities()?.extensions?.[TASKS_EXTENSION] !== undefined;
      const tasks =
        hasTasks &&
        createTaskRequests({
          url: reached.url,
          headers: headersTo(name, reached),
          fetch,
          clientInfo: { name: CLIENT_NAME, version },
          capabilities: capabilities as JsonObject,
          ...(onNotification && { onNotification }),
        });
      return { client, isStateless, ...(tasks && { tasks }), close: () => close(client) };
    };
    try {
      return await attempt(before?.isSse ?? false);
    } catch (error) {
      known.delete(name);
      // As the specification says of servers before 2025-03-26: a POST is refused there, and the address is that of a stream.
      const isRefused = error instanceof SdkHttpError && [400, 404, 405].includes(error.status ?? 0);
      if (reached.by === "command" || before?.isSse === true || !isRefused || signal?.aborted === true) throw error;
      return await attempt(true).catch(() => {
        throw error;
      });
    }
  }

  function headersTo(name: string, { headers }: ByUrl): Readonly<Record<string, string>> {
    return { ...headers, [GATEWAY_HEADER]: `${deployment}/${name}` };
  }

  function transportTo({ reached, name }: Upstream, { isSse, onCallCut, fetch }: Transporting) {
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
      : new CallTransport(url, { requestInit, fetch, reconnectionOptions }, onCallCut);
  }

  return { open, forget: ({ name }) => void known.delete(name) };
}

interface Transporting {
  readonly isSse: boolean;
  readonly onCallCut: (() => void) | undefined;
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

const CALLS: ReadonlySet<string> = new Set(["tools/call", "prompts/get"]);

/** The client waits forever for a result whose stream has ended: only its transport knows of that. */
class CallTransport extends StreamableHTTPClientTransport {
  readonly #onCut: (() => void) | undefined;

  constructor(url: URL, options: StreamableHTTPClientTransportOptions, onCut: (() => void) | undefined) {
    super(url, options);
    this.#onCut = onCut;
  }

  override async send(...[message, options]: Parameters<StreamableHTTPClientTransport["send"]>): Promise<void> {
    const onRequestStreamEnd = this.#onCut;
    const isCall = !Array.isArray(message) && "method" in message && CALLS.has(message.method);
    await super.send(message, isCall && onRequestStreamEnd ? { ...options, onRequestStreamEnd } : options);
  }
}

async function close(client: Client): Promise<void> {
  const { transport } = client;
  let timer: NodeJS.Timeout | undefined;
  try {
    if (transport instanceof StreamableHTTPClientTransport) {
      const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, FAREWELL_MS)));
      await Promise.race([transport.terminateSession(), late]);
    }
  } catch {
    // An upstream that is gone has no session left to end.
  } finally {
    clearTimeout(timer);
    await client.close().catch(() => undefined);
  }
}
