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

/** Questions that are open on a stream, each with the id of the request that put it. */
interface Open extends Question {
  readonly requestId: string | number;
  /**
   * It may be put again, perhaps under another id, and then in this place: it is being answered, its last answer did not fit, or its stream was
   * lost. An answer that does not fit is refused on one connection and the question put again on another, in either order.
   */
  readonly isPutAgain: boolean;
}

export function openQuestions(told: Pick<Told, "questions">, changed: () => void = () => undefined) {
  let open: Open[] = [];
  const show = () => {
    told.questions(open);
    changed();
  };
  return {
    get all(): readonly Open[] {
      return open;
    },
    put({ id, method, params }: Message): void {
      const asked = id === undefined ? undefined : questionOf(String(id), { method, params });
      if (!asked || id === undefined) return;
      const question: Open = { ...asked, requestId: id, isPutAgain: false };
      const again = open.findIndex((each) => each.requestId === id || (each.isPutAgain && sameQuestion(each) === sameQuestion(question)));
      open = again === -1 ? [...open, question] : open.with(again, question);
      show();
    },
    async answer(session: Pick<Session, "reply">, questionId: string, reply: Parameters<Session["reply"]>[1]): Promise<Taken> {
      const question = open.find(({ id }) => id === questionId);
      if (!question) return { type: "late" };
      open = open.map((each) => (each.id === questionId ? { ...each, isPutAgain: true } : each));
      const taken = await session.reply(question.requestId, reply);
      if (taken.type === "refused") return taken;
      open = open.filter(({ id }) => id !== questionId);
      show();
      return taken;
    },
    keep(isOpen: (question: Question) => boolean): void {
      const kept = open.filter(isOpen);
      if (kept.length === open.length) return;
      open = kept;
      show();
    },
    streamLost(): void {
      open = open.map((each) => ({ ...each, isPutAgain: true }));
    },
    restore(questions: readonly Open[]): void {
      open = [...questions];
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
          const task = await inSession((session) => session.ask({ method: "tasks/get", params: { taskId }, signal }));
          const status = task["status"] as Status;
          if (over) return;
          told.state(status, task["statusMessage"] as string | undefined);
          if (status === "cancelled") return end(() => told.ended({ type: "cancelled" }));
          const meta = (task["_meta"] ?? {}) as Record<string, unknown>;
          const pending = ((meta["io.modelcontextprotocol/pending-elicitations"] ?? []) as Pending[]).map((each) =>
            sameQuestion({ id: "", message: each.message, schema: each.requestedSchema, url: each.url }),
          );
          questions.keep((question) => pending.includes(sameQuestion(question)));
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
