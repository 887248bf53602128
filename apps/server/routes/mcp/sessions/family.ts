/**
 * The MCP endpoint for the revisions with sessions: every request that does not name 2026-07-28.
 *
 *   POST    initialize ─▶ a session            other messages, with Mcp-Session-Id ─▶ 202, JSON or a stream
 *   GET     the session's own stream, or the rest of an interrupted one (Last-Event-ID)
 *   DELETE  ends the session
 *
 * A session is a record in the store that is read once per request, so any front end serves any request of it.
 *
 * Source: specification 2025-11-25, 2025-06-18 and 2025-03-26, basic/transports.
 */
import type { FastifyReply, FastifyRequest } from "fastify";
import { DEFAULT_TENANT, owns, ParleyError, type SessionStore, type Task } from "@parley/core";
import {
  headerValue,
  internalError,
  invalidRequest,
  type Request,
  resultMessage,
  SUPPORTED_VERSIONS,
  unsupportedVersion,
} from "@parley/protocol";
import {
  type Initialize,
  readInitialize,
  SESSION_DIALECTS,
  sessionDialect,
  type SessionIntent,
  type SessionMessage,
} from "@parley/protocol/sessions";
import { withFormPages } from "../../../front-end/form-pages.ts";
import { type Gate, gate, gates } from "../../../front-end/gate.ts";
import { signatures } from "../../../seals/signatures.ts";
import { Outlet, sendJson } from "../../../streams/outlet.ts";
import type { ReplyChannel } from "../../../streams/reply-channel.ts";
import { answer } from "../shared/answer.ts";
import { reportDefect } from "../shared/defects.ts";
import type { Family, FamilyDeps } from "../shared/family.ts";
import { refusalReply } from "../shared/refusals.ts";
import { permitted, withinRates } from "../shared/permitted.ts";
import { offeredOn } from "../shared/offered-on.ts";
import type { Action } from "../shared/action.ts";
import { askIds } from "./ask-ids.ts";
import { batch } from "./batch.ts";
import { dispatch } from "./dispatch.ts";
import { eventIds } from "./event-ids.ts";
import { followOnce } from "./follow-once.ts";
import { forgetEnded } from "./forget-ended.ts";
import { beginReading, receiveNotice, receiveReply } from "./replies.ts";
import { resumeCall } from "./resume.ts";
import { type SessionContext, type SessionExchange, type SessionRoute, wantsOf } from "./session-route.ts";
import { stepInSession } from "./rung.ts";
import { shownHere } from "./shown-asks.ts";
import { openStandalone } from "./standalone-stream.ts";

/** A request that is refused with an HTTP status, because it is not a message of a session. */
class Refused extends Error {
  readonly httpStatus: number;
  constructor(httpStatus: number, message: string) {
    super(message);
    this.httpStatus = httpStatus;
  }
}

/** The action of opening or resuming each kind of stream. */
const STREAMS = { standalone: "standalone", call: "resumeCall", result: "resumeResult" } as const;

const STREAMED = { acceptsStream: true };

function actionsOf(message: SessionMessage): readonly Action[] {
  switch (message.type) {
    case "request":
      return [message.intent];
    case "response":
      return [{ type: "reply" }];
    case "notification":
      return message.notice ? [{ type: message.notice.type }] : [];
    case "rejected":
      return [];
  }
}

export function sessionFamily({ frontEnd, facts, keys, outletOptions: options }: FamilyDeps, store: SessionStore): Family {
  const { services, times, limits, log } = frontEnd;
  const signed = signatures(keys);
  const sessions = followOnce(forgetEnded(store, services));
  const outletOptions = { ...options, streamWherePreferred: true };
  const route: SessionRoute = {
    ...frontEnd,
    sessions,
    sessionWaits: gates("calls of this session (PARLEY_SESSION_WAITS_MAX)", limits.sessionWaitsMax, "TOO_MANY_CALLS"),
    askIds: askIds(signed),
    shown: shownHere(),
    eventIds: eventIds(signed),
    encoders: new Map(SESSION_DIALECTS.map((dialect) => [dialect.version, dialect.encoder(facts)])),
  };
  const pagesRoute: SessionRoute = { ...route, services: withFormPages(route.services, route.ladder) };

  /** The same for everything that a session receives: its calls, its tasks and its replies. */
  function routeOf(context: SessionContext): SessionRoute {
    const { formsByPage } = stepInSession(route, { ...context, channel: STREAMED }, { takesTask: true, calls: "tool" });
    return formsByPage ? pagesRoute : route;
  }

  async function contextOf(request: FastifyRequest): Promise<SessionContext> {
    const sessionId = headerValue(request.headers, "mcp-session-id");
    if (sessionId === undefined)
      throw new Refused(400, "the Mcp-Session-Id header is missing: send initialize first, then the id that it returned");
    const { caller, catalogue } = request;
    const session = await sessions.touch(sessionId, times.sessionTtlMs, caller);
    // Another caller's session is treated as unknown, so that ids cannot be probed (I10).
    if (!session || !owns(caller, session)) throw new Refused(404, "no such session: it has ended or never existed; send initialize again");
    request.rpcVersion = session.version;
    const dialect = sessionDialect(session.version);
    const encode = route.encoders.get(session.version);
    if (!dialect || !encode) throw new Refused(404, `sessions of ${session.version} are no longer served; send initialize again`);
    return { session, caller, door: `${session.version} ${request.method}`, catalogue, dialect, encode };
  }

  async function initialize(request: FastifyRequest, reply: FastifyReply, { id, version, capabilities, clientInfo }: Initialize) {
    if (!(await withinRates(frontEnd, request, reply, { counts: { sessions: 1 }, id }))) return;
    const { principal, tenant } = request.caller;
    request.rpcVersion = version;
    const encode = route.encoders.get(version);
    if (!encode) throw new Error(`no encoder for ${version}`);
    // Whatever its streams will allow, it must read here that there are resources.
    const rung = capabilities.views === true && route.ladder.rungs.has("apps") ? "apps" : undefined;
    const offered = offeredOn(
      { rung, fallsToText: false, formsByPage: false },
      { catalogue: request.catalogue, intent: { type: "discover" }, ladder: route.ladder },
    );
    const owner = { principal, ...(tenant !== DEFAULT_TENANT && { tenant }) };
    const session = { id: services.ids.uuid(), ...owner, version, capabilities, ...(clientInfo && { clientInfo }) };
    await sessions.open(session, times.sessionTtlMs);
    log.info({ version, client: clientInfo?.name }, "session opened");
    void reply.header("mcp-session-id", session.id);
    sendJson(reply, 200, resultMessage(id, encode.initialize(offered)));
  }

  interface Answering {
    readonly channel: ReplyChannel;
    readonly batchWaits?: Gate;
  }

  async function answerRequest(context: SessionContext, request: Request<SessionIntent>, answering: Answering): Promise<void> {
    const { id, method, intent, wants } = request;
    const door = `${context.session.version} ${method}`;
    const step = stepInSession(route, { ...context, channel: answering.channel }, { takesTask: false, calls: "tool" });
    const catalogue = offeredOn(step, { catalogue: context.catalogue, intent, ladder: route.ladder });
    const exchange: SessionExchange = { ...context, catalogue, door, id, method, wants: wantsOf(context, wants), ...answering };
    const asking = routeOf(context);
    await answer(asking, exchange, { intent, handle: () => dispatch(asking, intent, exchange) });
  }

  interface Messages {
    readonly context: SessionContext;
    readonly messages: readonly SessionMessage[];
    readonly outlet: Outlet;
    readonly reply: FastifyReply;
    /** The task that a single message replies to. */
    readonly reading?: Promise<Task | undefined> | undefined;
  }

  async function receiveMessages({ context, messages, outlet, reply, reading }: Messages): Promise<void> {
    const toAnswer = messages.filter((message) => message.type === "request" || message.type === "rejected");
    const others = messages.filter((message) => message.type === "response" || message.type === "notification");
    const received = Promise.all(
      others.map(async (message) => {
        const asking = routeOf(context);
        // What was read does not say that the client was shown a page.
        if (message.type === "response") await receiveReply(asking, context, message, asking === route ? reading : undefined);
        else if (message.notice) await receiveNotice(route, context, message.notice);
      }),
    );
    if (toAnswer.length === 0) {
      await received;
      void reply.code(202).send();
      return;
    }
    const channels = batch(outlet, reply, toAnswer.length);
    const batchWaits = gate("calls of this batch (PARLEY_BATCH_WAITS_MAX)", limits.batchWaitsMax, "TOO_MANY_CALLS");
    const answered = toAnswer.map(async (message, index) => {
      const channel = channels[index];
      if (!channel) return;
      if (message.type === "request") await answerRequest(context, message, { channel, batchWaits });
      else channel.answer(message);
    });
    // The response to a batch has no place for the error of a reply or notification, so it is logged.
    await Promise.all([
      ...answered,
      received.catch((error: unknown) => log.warn({ err: error }, "message of a batch could not be handled")),
    ]);
  }

  async function post(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { body } = request;
    const first = readInitialize(body);
    if (first?.type === "rejected") return sendJson(reply, first.httpStatus, first.message);
    if (first) {
      request.rpcMethod = "initialize";
      return await initialize(request, reply, first.initialize);
    }
    const reading = beginReading(route, headerValue(request.headers, "mcp-session-id"), body);
    const context = await contextOf(request);
    const { dialect } = context;
    const outlet = new Outlet(request, reply, outletOptions);
    if (!outlet.acceptsAnything) throw new Refused(406, "accept application/json and text/event-stream: the response is one of them");
    if (Array.isArray(body)) {
      if (!dialect.batches) throw new Refused(400, "batches are not part of this protocol revision: send one message per request");
      if (body.length === 0 || body.length > limits.batchMax) {
        throw new Refused(400, `a batch contains 1 to ${limits.batchMax} messages (PARLEY_BATCH_MAX)`);
      }
      request.rpcMethod = "batch";
      const messages = body.map((message) => dialect.decode(message));
      // A batch is permitted as a whole: the client sends all of it again.
      if (!(await permitted(frontEnd, request, reply, { actions: messages.flatMap(actionsOf) }))) return;
      return await receiveMessages({ context, messages, outlet, reply });
    }
    const message = dialect.decode(body);
    if (message.type !== "rejected") request.rpcMethod = message.type === "response" ? "response" : message.method;
    if (message.type === "rejected") return sendJson(reply, message.httpStatus, message.message);
    if (
      !(await permitted(frontEnd, request, reply, { actions: actionsOf(message), ...(message.type === "request" && { id: message.id }) }))
    )
      return;
    if (message.type === "request") return await answerRequest(context, message, { channel: outlet });
    await receiveMessages({ context, messages: [message], outlet, reply, reading });
  }

  async function get(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const context = await contextOf(request);
    const outlet = new Outlet(request, reply, outletOptions);
    if (!outlet.acceptsStream) throw new Refused(406, "GET opens a stream: accept text/event-stream");
    const lastEventId = headerValue(request.headers, "last-event-id");
    const cursor = lastEventId === undefined ? undefined : route.eventIds.read(context.session.id, lastEventId);
    if (lastEventId !== undefined && !cursor) throw new Refused(400, "Last-Event-ID does not belong to this session");
    // 405 is the status on which clients stop coming back.
    if (cursor?.stream === "ended") {
      void reply.header("allow", "POST, DELETE, OPTIONS");
      throw new Refused(405, "nothing follows: the event with this Last-Event-ID ended its stream");
    }
    if (!(await permitted(frontEnd, request, reply, { actions: [{ type: STREAMS[cursor?.stream ?? "standalone"] }] }))) return;
    if (cursor === undefined || cursor.stream === "standalone") await openStandalone(routeOf(context), context, outlet, cursor);
    else await resumeCall(routeOf(context), context, { cursor, channel: outlet });
  }

  async function end(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { session } = await contextOf(request);
    await sessions.close(session.id);
    log.info({}, "session ended");
    void reply.code(204).send();
  }

  /** Runs a handler. An error that it throws is sent without an id, since there is no request that it could answer. */
  function guarded(handle: (request: FastifyRequest, reply: FastifyReply) => Promise<void>) {
    return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
      const version = headerValue(request.headers, "mcp-protocol-version");
      if (version !== undefined && !SUPPORTED_VERSIONS.includes(version)) {
        const refused = unsupportedVersion(undefined, version);
        return sendJson(reply, refused.httpStatus, refused.message);
      }
      try {
        await handle(request, reply);
      } catch (error) {
        // Once a stream has begun, closing it is the only way to report a failure. The client resumes the stream.
        if (reply.raw.headersSent) return void reply.raw.destroy();
        if (error instanceof Refused) return sendJson(reply, error.httpStatus, invalidRequest(error.message).message);
        const { httpStatus, message } = error instanceof ParleyError ? refusalReply(error) : internalError(reportDefect(route, error));
        sendJson(reply, httpStatus, message);
      }
    };
  }

  return { post: guarded(post), get: guarded(get), delete: guarded(end) };
}
