/** The revisions with sessions: questions are requests from the server, on a stream. */
import type { JsonObject } from "@parley/core/form";
import { filled } from "../../texts/words.ts";
import { TEXTS } from "../play-texts.ts";
import { type Endpoint, Lost, type Message, resultOf, RpcError } from "../wire/endpoint.ts";
import { isGone, nextId, openSession, type Session, sessionAt } from "./session.ts";
import { allPages, backoff, callThenFollow, endOf, isPassing, nothingKept, pause, questionOf, sameQuestion } from "./shared.ts";
import type { Call, Dialect, Question, Running, Status, ReplyOutcome, CallListener, Tool } from "./types.ts";

const POLL_MS = 1_000;

/** A session that opens on first use, and again after the server has lost it. */
function lastingSession(endpoint: Endpoint, version: string) {
  let opening: Promise<Session> | undefined;
  const open = () => {
    opening ??= openSession(endpoint, version).catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
  return async function inSession<T>(use: (session: Session) => Promise<T>): Promise<T> {
    try {
      return await use(await open());
    } catch (error) {
      if (!isGone(error)) throw error;
      opening = undefined;
      return await use(await open());
    }
  };
}

/** A question that is open on a stream, with the last request that asked it. Its id stays the same each time the server repeats the question. */
interface Open extends Question {
  readonly requestId: string | number;
  /**
   * Whether an equal question with another request id is this question, because an answer is in flight, the last answer was refused, or the stream was
   * lost. A refusal and the request that repeats the question use different connections and arrive in either order.
   */
  readonly mayBeRepeated: boolean;
  /** The last answer was refused, and the server has not repeated the question yet. */
  readonly awaitsRepeat: boolean;
}

/** How long an answer waits until the server repeats a refused question. Then it is sent as a reply to the earlier request. */
const REPEAT_WITHIN_MS = 2_000;

export function openQuestions(listener: Pick<CallListener, "questions">, changed: () => void = () => undefined) {
  let open: readonly Open[] = [];
  const show = () => {
    listener.questions(open);
    changed();
  };
  const find = (id: string) => open.find((each) => each.id === id);
  const update = (id: string, part: Partial<Open>) => (open = open.map((each) => (each.id === id ? { ...each, ...part } : each)));

  /** The question as it is asked now. An answer to the refused request could cross the request that repeats the question. */
  async function settled(id: string): Promise<Open | undefined> {
    for (let waitedMs = 0; find(id)?.awaitsRepeat && waitedMs < REPEAT_WITHIN_MS; waitedMs += 50) await pause(50);
    return find(id);
  }

  return {
    get all(): readonly Open[] {
      return open;
    },
    put({ id, method, params }: Message): void {
      const asked = id === undefined ? undefined : questionOf(nextId(), { method, params });
      if (!asked || id === undefined) return;
      const question: Open = { ...asked, requestId: id, mayBeRepeated: false, awaitsRepeat: false };
      const again = open.find((each) => each.requestId === id || (each.mayBeRepeated && sameQuestion(each) === sameQuestion(question)));
      if (again) update(again.id, { ...question, id: again.id });
      else open = [...open, question];
      show();
    },
    async answer(session: Pick<Session, "reply">, questionId: string, reply: Parameters<Session["reply"]>[1]): Promise<ReplyOutcome> {
      const question = await settled(questionId);
      if (!question) return { type: "late" };
      update(questionId, { mayBeRepeated: true });
      const outcome = await session.reply(question.requestId, reply);
      const current = find(questionId);
      const isRepeated = current !== undefined && current.requestId !== question.requestId;
      if (outcome.type === "refused") {
        if (!isRepeated) update(questionId, { awaitsRepeat: true });
        return outcome;
      }
      // Another branch of the tool asked the same question while this answer was in flight: it is a separate question.
      if (isRepeated) update(questionId, { id: nextId() });
      else open = open.filter(({ id }) => id !== questionId);
      show();
      return outcome;
    },
    /** Removes questions in `since` that are no longer open. Questions asked later are kept: the caller's knowledge is older than they are. */
    keep(isOpen: (question: Question) => boolean, since: readonly Question[] = open): void {
      const kept = open.filter((question) => isOpen(question) || !since.some(({ id }) => id === question.id));
      if (kept.length === open.length) return;
      open = kept;
      show();
    },
    streamLost(): void {
      open = open.map((each) => ({ ...each, mayBeRepeated: true }));
    },
    restore(questions: readonly Open[]): void {
      open = questions;
      show();
    },
  };
}

/** The state with which a held call resumes: its session, its request, and the last event that was read from its stream. */
interface Kept {
  readonly sessionId: string;
  readonly requestId: string;
  readonly lastEventId: string;
  readonly questions: readonly Open[];
}

/** Holds the call open until its result arrives, over as many connections as necessary. */
export function sessionCalls(endpoint: Endpoint, version: string): Dialect {
  const inSession = lastingSession(endpoint, version);

  function run(start: { readonly call: Call } | { readonly kept: Kept }, listener: CallListener): Running {
    const left = new AbortController();
    const { signal } = left;
    const requestId = "kept" in start ? start.kept.requestId : nextId();
    let session: Session | undefined = "kept" in start ? sessionAt(endpoint, version, start.kept.sessionId) : undefined;
    let lastEventId = "kept" in start ? start.kept.lastEventId : undefined;
    let over = false;
    const keep = () => {
      if (over || !session || lastEventId === undefined) return;
      listener.keep({ sessionId: session.id, requestId, lastEventId, questions: questions.all } as unknown as JsonObject);
    };
    const questions = openQuestions(listener, () => {
      if (!over) listener.state(questions.all.length > 0 ? "input_required" : "working");
      keep();
    });
    if ("kept" in start) questions.restore(start.kept.questions);

    function end(tell: () => void): void {
      if (over) return;
      over = true;
      listener.keep(undefined);
      listener.questions([]);
      tell();
    }

    function ended(result: Record<string, unknown>): void {
      end(() => {
        listener.state(result["isError"] === true ? "failed" : "completed");
        listener.ended({ type: "result", result });
      });
    }

    function onMessage(message: Message): void {
      if (message.method === "elicitation/create") questions.put(message);
      else if (message.method !== undefined) listener.notice({ method: message.method, params: message.params ?? {} });
      else if (message.id === requestId) {
        try {
          ended(resultOf(message, 200));
        } catch (error) {
          end(() => listener.ended(endOf(error)));
        }
      }
    }

    const onEventId = (id: string) => {
      const first = lastEventId === undefined;
      lastEventId = id;
      if (first) keep();
    };
    const options = { signal, onMessage, onEventId };

    async function first({ tool, args }: Call): Promise<void> {
      const params = { name: tool.name, arguments: args, _meta: { progressToken: requestId } };
      ended(
        await inSession((opened) => {
          session = opened;
          return opened.ask({ id: requestId, method: "tools/call", params, ...options });
        }),
      );
    }

    async function hold(): Promise<void> {
      const attempts = backoff(endpoint);
      let resuming = "kept" in start;
      while (!over && !signal.aborted) {
        try {
          listener.connected(true);
          if ("call" in start && !resuming) await first(start.call);
          else if (session && lastEventId !== undefined) await session.resume(lastEventId, options);
          else throw new Error(TEXTS.lostCall);
          attempts.succeeded();
        } catch (error) {
          if (over || signal.aborted) return;
          // A stream that ends without the response is resumed, but only after its first event.
          if (lastEventId === undefined || !isPassing(error)) return end(() => listener.ended(endOf(error)));
          listener.connected(!(error instanceof Lost && error.isAway));
        }
        resuming = true;
        if (!over) await attempts.wait(signal);
      }
    }

    void hold();
    const leaving = () => keep();
    addEventListener("pagehide", leaving, { signal });
    return {
      async answer(id, reply) {
        return session ? await questions.answer(session, id, reply) : { type: "late" };
      },
      async cancel() {
        await session?.notify("notifications/cancelled", { requestId, reason: "Cancelled in the playground" });
        end(() => listener.ended({ type: "cancelled" }));
        left.abort();
      },
      leave: () => left.abort(),
    };
  }

  return {
    id: version,
    title: version,
    note: TEXTS.session,
    hasTasks: false,
    listTools: () => inSession(listToolsOf),
    follow: () => nothingKept(),
    resume: (kept, listener) => run({ kept: kept as unknown as Kept }, listener),
    call: (call, listener) => run({ call }, listener),
  };
}

interface Pending {
  readonly mode?: string;
  readonly message: string;
  readonly requestedSchema?: JsonObject;
  readonly url?: string;
}

/** Tasks of 2025-11-25: the call returns a task, and questions and the result arrive on the stream of `tasks/result`. */
export function sessionTasks(endpoint: Endpoint): Dialect {
  const inSession = lastingSession(endpoint, "2025-11-25");

  function follow(taskId: string, listener: CallListener): Running {
    const left = new AbortController();
    const { signal } = left;
    const questions = openQuestions(listener);
    let over = false;

    function end(tell: () => void): void {
      if (over) return;
      over = true;
      listener.questions([]);
      tell();
      left.abort();
    }

    const read = () => inSession((session) => session.ask({ method: "tasks/get", params: { taskId }, signal }));

    /** Reads what the stream does not report: states, and answers by other clients. */
    async function poll(): Promise<void> {
      while (!over && !signal.aborted) {
        try {
          const asked = questions.all;
          const task = await read();
          const status = task["status"] as Status;
          if (over) return;
          listener.state(status, task["statusMessage"] as string | undefined);
          if (status === "cancelled") return end(() => listener.ended({ type: "cancelled" }));
          const meta = (task["_meta"] ?? {}) as Record<string, unknown>;
          const pending = ((meta["io.modelcontextprotocol/pending-elicitations"] ?? []) as Pending[]).map((each) =>
            sameQuestion({ message: each.message, schema: each.requestedSchema, url: each.url }),
          );
          questions.keep((question) => pending.includes(sameQuestion(question)), asked);
        } catch (error) {
          if (signal.aborted) return;
          if (!isPassing(error)) return end(() => listener.ended(endOf(error)));
        }
        await pause(POLL_MS, signal);
        await endpoint.permitted(signal);
      }
    }

    async function result(): Promise<void> {
      const attempts = backoff(endpoint);
      const onMessage = (message: Message) => {
        if (message.method === "elicitation/create") questions.put(message);
        else if (message.method !== undefined) listener.notice({ method: message.method, params: message.params ?? {} });
      };
      while (!over && !signal.aborted) {
        try {
          listener.connected(true);
          const answer = await inSession((session) => session.ask({ method: "tasks/result", params: { taskId }, signal, onMessage }));
          return end(() => {
            listener.state(answer["isError"] === true ? "failed" : "completed");
            listener.ended({ type: "result", result: answer });
          });
        } catch (error) {
          if (over || signal.aborted) return;
          if (error instanceof RpcError && !isPassing(error)) {
            // The result of a cancelled task is an error, too.
            const task = await read().catch((): Record<string, unknown> => ({}));
            return end(() => listener.ended(task["status"] === "cancelled" ? { type: "cancelled" } : endOf(error)));
          }
          listener.connected(false);
        }
        questions.streamLost();
        await attempts.wait(signal);
      }
    }

    void poll();
    void result();
    return {
      answer: (id, reply) => inSession((session) => questions.answer(session, id, reply)),
      async cancel() {
        await inSession((session) => session.ask({ method: "tasks/cancel", params: { taskId } }));
      },
      leave: () => left.abort(),
    };
  }

  return {
    id: "2025-11-25+tasks",
    title: filled(TEXTS.withTasks, { version: "2025-11-25" }),
    note: TEXTS.sessionTasks,
    hasTasks: true,
    listTools: () => inSession(listToolsOf),
    follow,
    resume: () => nothingKept(),
    call({ tool, args }, listener) {
      const task = tool.execution?.taskSupport === "forbidden" ? {} : { task: {} };
      const params = { name: tool.name, arguments: args, ...task };
      return callThenFollow(listener, {
        call: (signal) => inSession((session) => session.ask({ method: "tools/call", params, signal })),
        handleIn: (result) => (result["task"] as { readonly taskId: string } | undefined)?.taskId,
        follow,
      });
    },
  };
}

function listToolsOf(session: Session): Promise<Tool[]> {
  return allPages<Tool>((cursor) => session.ask({ method: "tools/list", params: cursor === undefined ? {} : { cursor } }), "tools");
}
