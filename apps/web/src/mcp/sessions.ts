/** The revisions with sessions: questions are requests of the server, on a stream. */
import type { JsonObject } from "@parley/core/form";
import { type Endpoint, Lost, type Message, resultOf, RpcError } from "../wire/endpoint.ts";
import { isGone, nextId, openSession, type Session, sessionAt } from "./session.ts";
import { allPages, backoff, endOf, isPassing, pause, questionOf, sameQuestion } from "./shared.ts";
import type { Call, Dialect, Question, Running, Status, Taken, Told, Tool } from "./types.ts";

const POLL_MS = 1_000;

/** Opened on first use, and again when it is gone. */
function lasting(endpoint: Endpoint, version: string) {
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

/** A question that is open on a stream, with the request that asked it last. Its own id stays the same however often the server asks it again. */
interface Open extends Question {
  readonly requestId: string | number;
  /**
   * The server may ask it again under another request id, and then it is this question: an answer is on its way, the last answer was refused, or
   * the stream was lost. A refusal and the request that asks again travel on two connections and arrive in either order.
   */
  readonly mayBeRepeated: boolean;
  /** The last answer was refused, and the server has not asked again yet. */
  readonly awaitsRepeat: boolean;
}

/** How long an answer waits for the server to ask a refused question again. Then it is sent as a reply to the earlier request. */
const REPEAT_WITHIN_MS = 2_000;

export function openQuestions(told: Pick<Told, "questions">, changed: () => void = () => undefined) {
  let open: readonly Open[] = [];
  const show = () => {
    told.questions(open);
    changed();
  };
  const find = (id: string) => open.find((each) => each.id === id);
  const update = (id: string, part: Partial<Open>) => (open = open.map((each) => (each.id === id ? { ...each, ...part } : each)));

  /** The question as it is asked now: an answer to a request that was refused already might cross the one that asks again. */
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
    async answer(session: Pick<Session, "reply">, questionId: string, reply: Parameters<Session["reply"]>[1]): Promise<Taken> {
      const question = await settled(questionId);
      if (!question) return { type: "late" };
      update(questionId, { mayBeRepeated: true });
      const taken = await session.reply(question.requestId, reply);
      const current = find(questionId);
      const isRepeated = current !== undefined && current.requestId !== question.requestId;
      if (taken.type === "refused") {
        if (!isRepeated) update(questionId, { awaitsRepeat: true });
        return taken;
      }
      // Another branch of the tool asked the same while this answer was on its way: that is a question of its own.
      if (isRepeated) update(questionId, { id: nextId() });
      else open = open.filter(({ id }) => id !== questionId);
      show();
      return taken;
    },
    /** Removes the questions that `isOpen` denies, of those that were there at `since`: what was asked later is newer than the caller's knowledge. */
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

/** What leads back to a held call: its session, its request, and the last event that was read of its stream. */
interface Kept {
  readonly sessionId: string;
  readonly requestId: string;
  readonly lastEventId: string;
  readonly questions: readonly Open[];
}

/** The call is held open until its result comes, over as many connections as that takes. */
export function sessionCalls(endpoint: Endpoint, version: string): Dialect {
  const inSession = lasting(endpoint, version);

  function run(start: { readonly call: Call } | { readonly kept: Kept }, told: Told): Running {
    const left = new AbortController();
    const { signal } = left;
    const requestId = "kept" in start ? start.kept.requestId : nextId();
    let session: Session | undefined = "kept" in start ? sessionAt(endpoint, version, start.kept.sessionId) : undefined;
    let lastEventId = "kept" in start ? start.kept.lastEventId : undefined;
    let over = false;
    const keep = () => {
      if (over || !session || lastEventId === undefined) return;
      told.keep({ sessionId: session.id, requestId, lastEventId, questions: questions.all } as unknown as JsonObject);
    };
    const questions = openQuestions(told, () => {
      if (!over) told.state(questions.all.length > 0 ? "input_required" : "working");
      keep();
    });
    if ("kept" in start) questions.restore(start.kept.questions);

    function end(tell: () => void): void {
      if (over) return;
      over = true;
      told.keep(undefined);
      told.questions([]);
      tell();
    }

    function ended(result: Record<string, unknown>): void {
      end(() => {
        told.state(result["isError"] === true ? "failed" : "completed");
        told.ended({ type: "result", result });
      });
    }

    function onMessage(message: Message): void {
      if (message.method === "elicitation/create") questions.put(message);
      else if (message.method !== undefined) told.notice({ method: message.method, params: message.params ?? {} });
      else if (message.id === requestId) {
        try {
          ended(resultOf(message, 200));
        } catch (error) {
          end(() => told.ended(endOf(error)));
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
      const attempts = backoff();
      let resuming = "kept" in start;
      while (!over && !signal.aborted) {
        try {
          told.connected(true);
          if ("call" in start && !resuming) await first(start.call);
          else if (session && lastEventId !== undefined) await session.resume(lastEventId, options);
          else throw new Error("the connection was lost before anything led back to the call");
          attempts.succeeded();
        } catch (error) {
          if (over || signal.aborted) return;
          // A stream that ends without the answer is resumed. Before its first event nothing leads back to it.
          if (lastEventId === undefined || !isPassing(error)) return end(() => told.ended(endOf(error)));
          told.connected(!(error instanceof Lost && error.isAway));
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
        end(() => told.ended({ type: "cancelled" }));
        left.abort();
      },
      leave: () => left.abort(),
    };
  }

  return {
    id: version,
    title: version,
    note: "A session holds the call open; questions are the server's own requests, on the call's stream.",
    hasTasks: false,
    listTools: () => inSession(listToolsOf),
    follow: () => nothingKept(),
    resume: (kept, told) => run({ kept: kept as unknown as Kept }, told),
    call: (call, told) => run({ call }, told),
  };
}

interface Pending {
  readonly mode?: string;
  readonly message: string;
  readonly requestedSchema?: JsonObject;
  readonly url?: string;
}

/** Tasks of 2025-11-25: the call returns a task, `tasks/result` is the stream on which it asks and ends. */
export function sessionTasks(endpoint: Endpoint): Dialect {
  const inSession = lasting(endpoint, "2025-11-25");

  function follow(taskId: string, told: Told): Running {
    const left = new AbortController();
    const { signal } = left;
    const questions = openQuestions(told);
    let over = false;

    function end(tell: () => void): void {
      if (over) return;
      over = true;
      told.questions([]);
      tell();
      left.abort();
    }

    /** Says what the stream does not: states, and that somebody else has answered. */
    async function poll(): Promise<void> {
      while (!over && !signal.aborted) {
        try {
          const asked = questions.all;
          const task = await inSession((session) => session.ask({ method: "tasks/get", params: { taskId }, signal }));
          const status = task["status"] as Status;
          if (over) return;
          told.state(status, task["statusMessage"] as string | undefined);
          if (status === "cancelled") return end(() => told.ended({ type: "cancelled" }));
          const meta = (task["_meta"] ?? {}) as Record<string, unknown>;
          const pending = ((meta["io.modelcontextprotocol/pending-elicitations"] ?? []) as Pending[]).map((each) =>
            sameQuestion({ id: "", message: each.message, schema: each.requestedSchema, url: each.url }),
          );
          questions.keep((question) => pending.includes(sameQuestion(question)), asked);
        } catch (error) {
          if (signal.aborted) return;
          if (!isPassing(error)) return end(() => told.ended(endOf(error)));
        }
        await pause(POLL_MS, signal);
      }
    }

    async function result(): Promise<void> {
      const attempts = backoff();
      const onMessage = (message: Message) => {
        if (message.method === "elicitation/create") questions.put(message);
        else if (message.method !== undefined) told.notice({ method: message.method, params: message.params ?? {} });
      };
      while (!over && !signal.aborted) {
        try {
          told.connected(true);
          const answer = await inSession((session) => session.ask({ method: "tasks/result", params: { taskId }, signal, onMessage }));
          return end(() => {
            told.state(answer["isError"] === true ? "failed" : "completed");
            told.ended({ type: "result", result: answer });
          });
        } catch (error) {
          if (over || signal.aborted) return;
          if (error instanceof RpcError && !isPassing(error)) return end(() => told.ended(endOf(error)));
          told.connected(false);
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
    title: "2025-11-25, tasks",
    note: "A session with tasks: the call returns a task, and tasks/result is the stream on which it asks.",
    hasTasks: true,
    listTools: () => inSession(listToolsOf),
    follow,
    resume: () => nothingKept(),
    call({ tool, args }, told) {
      const left = new AbortController();
      let running: Running | undefined;
      const task = tool.execution?.taskSupport === "forbidden" ? {} : { task: {} };
      const params = { name: tool.name, arguments: args, ...task };
      inSession((session) => session.ask({ method: "tools/call", params, signal: left.signal })).then(
        (answer) => {
          const handle = answer["task"] as { readonly taskId: string } | undefined;
          if (!handle) return told.ended({ type: "result", result: answer });
          told.handle(handle.taskId);
          running = follow(handle.taskId, told);
        },
        (error: unknown) => left.signal.aborted || told.ended(endOf(error)),
      );
      return {
        answer: async (id, reply) => (running ? await running.answer(id, reply) : { type: "late" }),
        cancel: async () => await running?.cancel(),
        leave() {
          left.abort();
          running?.leave();
        },
      };
    },
  };
}

function listToolsOf(session: Session): Promise<Tool[]> {
  return allPages<Tool>((cursor) => session.ask({ method: "tools/list", params: cursor === undefined ? {} : { cursor } }), "tools");
}

function nothingKept(): never {
  throw new Error("this dialect has no such call to come back to");
}
