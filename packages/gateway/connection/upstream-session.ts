/**
 * Connections to upstreams, through the official client: Streamable HTTP of any revision, the older SSE transport if the server has no other, or a process
 * of its own over stdio.
 *
 *   open ─▶ known how to speak? ─yes─▶ attempt ─────────────────────────────────────────▶ session
 *              └─no─▶ newest revision, and beside it a session of an older one ─▶ the one in which every tool can ask
 *                        └─ POST refused ─▶ the older transport ─▶ two sessions are compared: does each have its own stream?
 *
 *   U1  A session serves one call at a time. In a session without tasks a question does not name its call, so only a session with a single call
 *       identifies it reliably. (prepared-sessions.ts gives a session to one call after another.)
 *   U2  A call is made only once the session's own stream is open, or known not to exist: servers drop the questions that they send before.
 *   U3  A call that can never end is reported to its owner: a stream that ends before the result, a response that answers something else.
 *   U4  Everything that a server may take or send has a bound: the time to connect, what it declares about itself, its messages in a call.
 *   U5  What is secret goes to the origin of the upstream's url only, also after a redirect.
 *   U6  What was detected is used until an attempt fails; then everything is detected again, because another server may answer there now.
 *   U7  Where a server sends the messages of one session to others, nobody is asked: the session declares nothing, and drops what may be somebody else's.
 *
 *   upstream-session/session.ts       what a session is, who has it       upstream-session/own-stream.ts    the stream that belongs to no request
 *   upstream-session/attempt.ts       one attempt to open one             upstream-session/call-end.ts      calls that can never end
 *   upstream-session/knowledge.ts     what was found out                  upstream-session/bounds.ts        what a server may take and send
 *   upstream-session/sent-headers.ts  what each request carries           upstream-session/session-end.ts   how a session ends
 *   upstream-session/open-failure.ts  what a failure says
 */
import { ProtocolError } from "@modelcontextprotocol/client";
import type { Upstream } from "../config/upstreams.ts";
import { createConnects } from "./connects.ts";
import { isSharedStream } from "./shared-stream.ts";
import { type Attempt, createAttempts, type Opened } from "./upstream-session/attempt.ts";
import { createKnowledge, forget, OLDER } from "./upstream-session/knowledge.ts";
import { isCut, isPostRefused, isTimeout } from "./upstream-session/open-failure.ts";
import type { ConnectorOptions, OpenSession, UpstreamConnector, UpstreamSession } from "./upstream-session/session.ts";
import { MESSAGES_MAX } from "./upstream-tasks.ts";

export { INSTRUCTIONS_CHARS_MAX, INTRODUCTION_CHARS_MAX } from "./upstream-session/bounds.ts";
export type { Closing, OpenSession, SessionOwner, StateOwner, UpstreamConnector, UpstreamSession } from "./upstream-session/session.ts";

export interface Connector extends UpstreamConnector {
  /** The file was read again: open sessions send its present headers, because a question may be open for longer than a credential is valid. */
  update(upstreams: readonly Upstream[]): void;
}

/** When two sessions are compared again, if the upstream did not answer in time: until then, nobody can be asked, and calls are not held up. */
const COMPARE_AGAIN_MS = 60_000;

export function createConnector(options: ConnectorOptions): Connector {
  const knowledge = createKnowledge();
  const { learned: known, compared, present } = knowledge;
  const { attempt, sessionTasks } = createAttempts({ messagesMax: MESSAGES_MAX, ...options, knowledge, areApart });

  const connects = createConnects();

  /** A session in its turn: the time to connect begins with it (U4). */
  async function open(upstream: Upstream, request: OpenSession): Promise<UpstreamSession> {
    return await connects.connect(upstream, request.signal, () => openNow(upstream, request));
  }

  async function openNow(upstream: Upstream, request: OpenSession): Promise<UpstreamSession> {
    const { name, reached } = upstream;
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
      // A server that is late is still the one that it was. Detecting it anew would take each of many callers twice as long.
      if (!(before && isTimeout(error))) known.delete(name);
      if (request.signal?.aborted !== true) compared.delete(name);
      if (reached.by === "command" || before?.isSse === true || !isPostRefused(error) || request.signal?.aborted === true) throw error;
      const older = await attempt(upstream, request, OLDER).catch((thrown: unknown) => {
        // A server that took the connection and did not answer is there.
        throw isTimeout(thrown) ? thrown : error;
      });
      known.set(name, older.learned);
      return older.session;
    }
  }

  /**
   * Some servers speak both families but have tools that can ask in a session only (FastMCP 4 refuses `ctx.elicit` at 2026-07-28). Others answer
   * `input_required`, which their SDK turns into questions in a session. So a session is preferred where there is one: every tool can ask in it, and
   * a call that was refused for lack of one could not be repeated, because what it did before is unknown.
   */
  async function find(upstream: Upstream, request: Attempt): Promise<Opened> {
    const { reached, revisions } = upstream;
    if (revisions !== "auto") return await attempt(upstream, request, { isSse: false, speaks: revisions });
    if (reached.by === "command") {
      return await attempt(upstream, request, { isSse: false, speaks: "sessions" }).catch(async (error: unknown) => {
        if (!(error instanceof ProtocolError)) throw error;
        return await attempt(upstream, request, { isSse: false, speaks: "newest" });
      });
    }
    const newest = await attempt(upstream, request, { isSse: false, speaks: "newest" });
    // An upstream with tasks of its own asks through them.
    if (!newest.session.isStateless || newest.session.tasks) return newest;
    const classic = await attempt(upstream, request, { isSse: false, speaks: "sessions" }).catch(() => undefined);
    const [taken, left] = classic?.hasSession === true ? [classic, newest] : [newest, classic];
    await left?.session.close();
    return taken;
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

  return {
    open,
    sessionTasks,
    update(upstreams) {
      present.clear();
      for (const { name, reached } of upstreams) if (reached.by === "url") present.set(name, reached);
    },
    forget({ name }) {
      forget(knowledge, name);
      connects.forget(name);
    },
  };
}
