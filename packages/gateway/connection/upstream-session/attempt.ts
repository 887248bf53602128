/**
 * One attempt to open a session, in the way that is given.
 *
 *   client ─▶ transport, with its bounds (U4) ─▶ connected ─▶ own stream open, or known to be none (U2) ─▶ session
 */
import {
  Client,
  type FetchLike,
  type PriorDiscovery,
  SSEClientTransport,
  SseError,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import { getDefaultEnvironment } from "@modelcontextprotocol/client/stdio";
import type { JsonObject } from "@parley/core";
import { GATEWAY_HEADER } from "../../config/settings.ts";
import type { ByUrl, Upstream } from "../../config/upstreams.ts";
import { CommandTransport } from "../command-transport.ts";
import { createClientTokens } from "../client-token.ts";
import { boundReplies, REPLIES_WAITING_MAX } from "../pending-replies.ts";
import { insistOnAnswers } from "../sent-answers.ts";
import { createSessionTasks } from "../session-tasks.ts";
import { dropOthers, numberApart } from "../shared-stream.ts";
import { MESSAGE_BYTES_MAX } from "../upstream-fetch.ts";
import { createTaskRequests, TASKS_EXTENSION } from "../upstream-tasks.ts";
import { boundConnecting, boundIntroduction, boundMessages, declaresEvents, NO_VALIDATOR, watchIntroduction } from "./bounds.ts";
import { CallTransport } from "./call-end.ts";
import type { Knowledge, Learned } from "./knowledge.ts";
import { StreamLate } from "./open-failure.ts";
import { RETRIES_MAX, watchOwnStream } from "./own-stream.ts";
import { ownAccess, withPresentHeaders, withToken } from "./sent-headers.ts";
import { closeSession } from "./session-end.ts";
import type { ConnectorOptions, OpenSession, SessionOwner, UpstreamConnector, UpstreamSession } from "./session.ts";

export interface Attempt extends OpenSession {
  /** Of a session that is compared with another: it has received what belongs to that one. */
  readonly onShared?: () => void;
}

export interface Opened {
  readonly session: UpstreamSession;
  readonly learned: Learned;
  readonly hasSession: boolean;
}

export interface Attempts {
  attempt(this: void, upstream: Upstream, request: Attempt, learned: Learned): Promise<Opened>;
  readonly sessionTasks: UpstreamConnector["sessionTasks"];
}

export interface AttemptOptions extends ConnectorOptions {
  readonly messagesMax: number;
  readonly knowledge: Knowledge;
  /** Whether each session of the upstream has its own stream. */
  readonly areApart: (upstream: Upstream, request: OpenSession) => Promise<boolean>;
}

/** A server is slow if connecting takes longer than this part of its time. */
const SLOW_CONNECT = 20;

const CLIENT_NAME = "parley-gateway";
const DAY_MS = 24 * 60 * 60 * 1_000;
const QUESTIONS_OF_A_TASK = 10;

export function createAttempts({ fetch, version, deployment, messagesMax, onStderr, knowledge, areApart }: AttemptOptions): Attempts {
  const { listening, shared } = knowledge;
  const tokens = createClientTokens({ fetch });

  const ownAccessTo = (upstream: Upstream) => ownAccess(upstream, { tokens, present: () => knowledge.present.get(upstream.name) });

  /** Sends with the token of the caller, or else with the gateway's own. */
  function authorized(upstream: Upstream, accessToken: (() => string) | undefined): FetchLike {
    const { reached } = upstream;
    if (reached.by === "command") return fetch;
    return accessToken ? withToken(fetch, reached.url, accessToken) : ownAccessTo(upstream).sends(fetch);
  }

  async function attempt(upstream: Upstream, request: Attempt, learned: Learned): Promise<Opened> {
    const { name, reached, connectTimeoutMs, ...rest } = upstream;
    const { prepare, signal, owner = {}, options = {}, accessToken, onShared } = request;
    const { isSse, speaks, prior: priorKnown, isSilent: wasSilent = false } = learned;
    // Before the time to connect begins: it is the authorization server that may be late.
    if (!accessToken) await ownAccessTo(upstream).ready(signal);
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
    const sendAs = authorized(upstream, accessToken);
    const send = reached.by === "url" ? withPresentHeaders(sendAs, reached, () => knowledge.present.get(name)) : sendAs;
    const stream = watchOwnStream(priorKnown?.kind === "modern" ? forgetsIfRefused(name, send) : send, {
      owner,
      isSse,
      listens: options.listChanged !== undefined,
    });
    const transport = transportTo({ name, reached, connectTimeoutMs, ...rest }, { isSse, owner, fetch: stream.fetch });
    if (reached.by === "url") insistOnAnswers(transport, owner);
    boundReplies(transport, () => owner.onFlood?.(`more than ${REPLIES_WAITING_MAX} requests without waiting for the replies`));
    let isSilent = wasSilent;
    let hasEvents = learned.hasEvents === true;
    watchIntroduction(transport, (capabilities) => (hasEvents = declaresEvents(capabilities)));
    let instructions: string | undefined;
    let begin: () => void;
    try {
      const prior: PriorDiscovery | undefined = isSse ? { kind: "legacy" } : priorKnown;
      const startedMs = performance.now();
      const connected = boundConnecting(transport, connectTimeoutMs);
      await client.connect(transport, { timeout: connectTimeoutMs, ...(signal && { signal }), ...(prior && { prior }) });
      connected();
      const connectedMs = performance.now() - startedMs;
      instructions = boundIntroduction(client);
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
        else if (opened === "late" && listening.has(name)) throw new StreamLate("the session's own stream was not open in time");
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
      session: {
        client,
        isStateless,
        isMute,
        ...(options.listChanged && instructions !== undefined && { instructions }),
        ...(tasks && { tasks }),
        ...(hasEvents && { hasEvents }),
        begin,
        close: (closing) => closeSession(client, closing),
      },
      learned: {
        isSse,
        isSilent,
        hasEvents,
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
      if (response.status >= 400 && response.status < 500) knowledge.learned.delete(name);
      return response;
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
      fetch: authorized(upstream, accessToken),
    });

  return { attempt, sessionTasks };
}

type Times = Pick<Upstream, "callTimeoutMs" | "questionTimeoutMs">;

interface Transporting {
  readonly isSse: boolean;
  readonly owner: SessionOwner;
  readonly fetch: FetchLike;
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
