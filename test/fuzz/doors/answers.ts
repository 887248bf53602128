/**
 * Answers to open questions, in every way in which a client can answer. A valid answer is accepted, an invalid one leaves the question
 * open, the same answer again is acknowledged, and a different one is too late. Each outcome is checked afterwards.
 */
import fc from "fast-check";
import type { Door } from "../door.ts";
import { type Answer, answersTo, type Question } from "../draw/answers.ts";
import { type Draft, type Due, finish } from "../draw/changes.ts";
import { type Drawn, type DrawnObject, isObject, type JsonObject } from "../draw/json.ts";
import { type Expected, judge } from "../judge.ts";
import { REPLY_BYTES_MAX, REPLY_TIMEOUT_MS } from "../limits.ts";
import { Broken } from "../rules.ts";
import { Caller, SetUpFailed } from "../wire/caller.ts";
import { Entrance } from "../wire/entrance.ts";
import type { Response } from "../wire/http.ts";
import type { Message } from "../wire/messages.ts";
import { type SessionPool, sessionPool } from "../wire/session-pool.ts";
import { ELICITATION_RESPONSE, type InSession, type Revision, sessionDraft, sessionHeaders } from "../wire/sessions.ts";
import { ASKABLE, statelessDraft } from "../wire/stateless.ts";

/** A call that asks at once. */
interface Scenario {
  readonly method: "tools/call" | "prompts/get";
  readonly params: JsonObject;
  /** For hours, once it is answered: a call without a task would be held as long. */
  readonly sleeps?: boolean;
  /** More than one question at once. */
  readonly asksTogether?: boolean;
}

const SCENARIOS: readonly Scenario[] = [
  { ...tool("several"), asksTogether: true },
  ...["every_field", "constructor_ask", "page", "model", "folders", "reports", "expense_report"].map((name) => tool(name)),
  tool("onboarding", { team: "c4n4ry" }),
  tool("approve_invoice", { invoice: "2026-117", amount: 12, approver: "c4n4ry Ada", deputy: "Bob" }),
  { ...tool("review_access", { project: "c4n4ry", accounts: ["ada", "bob"] }), asksTogether: true },
  { ...tool("deploy", { service: "c4n4ry", version: "1.2.3" }), sleeps: true },
  { ...tool("weekly_note", { journal: "c4n4ry" }), sleeps: true },
  { method: "prompts/get", params: { name: "letter", arguments: { to: "c4n4ry" } } },
];

function tool(name: string, args: JsonObject = {}): Scenario {
  return { method: "tools/call", params: { name, arguments: args } };
}

type Way =
  /** 2026-07-28, to a task that the client knows. */
  | "tasks/update"
  /** 2026-07-28 without tasks: the call again, with its requestState. */
  | "retry"
  /** Proposal #1869. */
  | "tasks/get with an answer"
  | "tasks/sendInput"
  /** A response to the request that came on the stream of tasks/result. */
  | "reply on tasks/result"
  | `reply in ${Revision}`;

interface Given {
  readonly way: Way;
  readonly scenario: Scenario;
  readonly answer: Answer;
  /** Sent once more, after an answer was taken. */
  readonly again: "same" | "other" | "not";
}

/** An open question, and how to answer it. */
interface Open {
  answer(reply: Drawn): Promise<{ readonly response: Response; readonly sent: Draft }>;
  /** Whether it is open still, as a client can see it. */
  isOpen(response: Response): Promise<boolean>;
  /** Whether a reply with the status of a success says that the answer was not taken. */
  notTaken?(response: Response): boolean;
  /** What is due for another answer once one was taken. */
  readonly late: Due;
}

const READING = { timeoutMs: REPLY_TIMEOUT_MS, bytesMax: REPLY_BYTES_MAX };
const SESSION_USES = 40;
/** Questions that were put together come together. */
const TOGETHER_MS = 300;

export const answers: Door<Given> = {
  name: "answers",
  // Each is four to six requests: the question has to be asked, and looked up afterwards.
  cost: 2,
  async open(system) {
    const entrance = new Entrance(system);
    const caller = new Caller(system.url);
    const pool = sessionPool(caller, SESSION_USES);
    let ids = 0;

    async function post(draft: Draft, streams = false): Promise<{ readonly response: Response; readonly sent: Draft }> {
      const { headers, body } = finish(draft, [], { due: "any" });
      const enough = (messages: readonly Message[]) => messages.some(({ id, method }) => id !== undefined || method !== undefined);
      const reading = streams ? { ...READING, enough, lingerMs: REPLY_TIMEOUT_MS } : READING;
      return { response: await entrance.send({ method: "POST", path: "/mcp", headers, body }, reading), sent: draft };
    }

    /** A task that asks, and the key of what it asks first. */
    async function askingTask({ params }: Scenario): Promise<{ readonly taskId: string; readonly key: string }> {
      const { taskId } = await caller.stateless({ method: "tools/call", params });
      for (;;) {
        const [key] = await keysOf(String(taskId));
        if (key !== undefined) return { taskId: String(taskId), key };
      }
    }

    async function keysOf(taskId: string): Promise<readonly string[]> {
      const task = await caller.stateless({ method: "tasks/get", params: { taskId } });
      if (task["status"] === "working") return [];
      return Object.keys((task["inputRequests"] as object | undefined) ?? {});
    }

    const open: { readonly [way in Exclude<Way, `reply in ${Revision}`>]: (scenario: Scenario) => Promise<Open> } = {
      async "tasks/update"(scenario) {
        const { taskId, key } = await askingTask(scenario);
        return {
          answer: (reply) =>
            post(statelessDraft({ method: "tasks/update", params: { taskId, inputResponses: { [key]: reply } as JsonObject } })),
          isOpen: async () => (await keysOf(taskId)).includes(key),
          late: "accepted",
        };
      },

      async retry({ method, params }) {
        const first = await caller.stateless({ method, params, capabilities: ASKABLE });
        const { requestState, inputRequests } = first as unknown as { requestState: string; inputRequests: object };
        const [key = ""] = Object.keys(inputRequests ?? {});
        const isAskedAgain = ({ messages }: Response) =>
          Object.hasOwn((messages[0]?.result?.["inputRequests"] as object | undefined) ?? {}, key);
        return {
          answer: (reply) =>
            post(
              statelessDraft({
                method,
                params: { ...params, requestState, inputResponses: { [key]: reply } as JsonObject },
                capabilities: ASKABLE,
              }),
              true,
            ),
          // Without an answer the same call is asked what is open.
          async isOpen() {
            const { response } = await post(statelessDraft({ method, params: { ...params, requestState }, capabilities: ASKABLE }), true);
            return isAskedAgain(response);
          },
          notTaken: isAskedAgain,
          late: "refused",
        };
      },

      async "tasks/get with an answer"(scenario) {
        const { taskId, key } = await askingTask(scenario);
        const session = await pool.of("2025-11-25");
        return {
          answer: (reply) =>
            post(
              sessionDraft(session, {
                method: "tasks/get",
                params: { taskId, _meta: { [ELICITATION_RESPONSE]: addressed(`${taskId}:${key}`, reply) } } as JsonObject,
              }),
            ),
          isOpen: async () => (await keysOf(taskId)).includes(key),
          late: "refused",
        };
      },

      async "tasks/sendInput"(scenario) {
        const { taskId, key } = await askingTask(scenario);
        const session = await pool.of("2025-11-25");
        return {
          answer: (reply) =>
            post(
              sessionDraft(session, {
                method: "tasks/sendInput",
                params: { taskId, ...(addressed(`${taskId}:${key}`, reply) as JsonObject) },
              }),
            ),
          isOpen: async () => (await keysOf(taskId)).includes(key),
          // Told by `accepted: false`.
          late: "accepted",
        };
      },

      async "reply on tasks/result"(scenario) {
        const { taskId } = await askingTask(scenario);
        const before = (await keysOf(taskId)).join();
        const session = await pool.of("2025-11-25");
        const asked = await caller.untilAsked(session, "tasks/result", { taskId }, (ids += 1));
        return {
          answer: (reply) => post(replyDraft(session, asked.id, reply)),
          isOpen: async () => (await keysOf(taskId)).join() === before,
          late: "refused",
        };
      },
    };

    async function openReply(revision: Revision, { method, params, asksTogether = false }: Scenario): Promise<Open> {
      const session = await pool.of(revision);
      const asked = await caller.untilAsked(session, method, params, (ids += 1));
      const [taskAndKey] = String(asked.id).split(/:\d+:[\w-]{22}$/);
      return {
        answer: (reply) => post(replyDraft(session, asked.id, reply)),
        /**
         * The stream continues where the question stood: with the question again, or with what followed the answer. Questions that were asked
         * with it and are open come before either, and nothing has to come behind them.
         */
        async isOpen() {
          const says = ({ id }: Message) => id !== undefined;
          const isAgain = ({ id, method }: Message) => method !== undefined && String(id).startsWith(`${taskAndKey}:`);
          const enough = (all: readonly Message[]) => all.some((each) => (asksTogether ? isAgain(each) : says(each)));
          for (let tries = 0; tries < 3; tries += 1) {
            const lingerMs = asksTogether ? TOGETHER_MS : REPLY_TIMEOUT_MS;
            const { messages } = await caller.resume(session, asked.eventId ?? "", { enough, lingerMs });
            if (messages.some(says)) return messages.some(isAgain);
          }
          // Nothing has happened: what is refused before it is read as a reply is not asked again.
          return true;
        },
        late: "refused",
      };
    }

    async function send({ way, scenario, answer: { name, reply, due: ofAnswer }, again }: Given): Promise<void> {
      // The answer is a member of its own there: several come in a list, which may be empty, and null is none.
      const isOther = way === "tasks/get with an answer" && (Array.isArray(reply) || reply === null);
      const due = isOther ? "any" : ofAnswer;
      const kind = way;
      const asked = way.startsWith("reply in ")
        ? await openReply(way.slice("reply in ".length) as Revision, scenario)
        : await open[way as keyof typeof open](scenario);
      const { response, sent } = await asked.answer(reply);
      const expected = expectation(kind, name, due, sent);
      judgeAnswer(response, expected, asked);
      if (due === "any") return;
      const isOpen = await asked.isOpen(response);
      if (isOpen !== (due === "refused")) {
        const what = `the question is ${isOpen ? "open" : "closed"} after an answer that was ${due}`;
        throw new Broken("effect", {
          kind,
          changes: [name],
          what: `${what}\n  reply    ${response.status} ${response.text.slice(0, 500)}`,
        });
      }
      if (due !== "accepted" || again === "not") return;
      const other = { action: isObject(reply) && reply["action"] === "decline" ? "cancel" : "decline" };
      const repeated = await asked.answer(again === "same" ? reply : other);
      const dueAgain = again === "same" ? "accepted" : asked.late;
      judgeAnswer(
        repeated.response,
        expectation(kind, `${name}, then ${again === "same" ? "the same" : "another one"}`, dueAgain, repeated.sent),
        {},
      );
    }

    return {
      cases: await everyAnswer(caller, pool, () => (ids += 1)),
      send,
      async close() {
        await pool.close();
        entrance.close();
        caller.close();
      },
    };
  },
};

function expectation(kind: string, name: string, due: Due, { body }: Draft): Expected {
  const { id, method } = body as { readonly id?: unknown; readonly method?: string };
  // What a tool makes of a right answer is its own affair; a response is answered by a status.
  return { kind, changes: [name], due, said: JSON.stringify(body), toolMaySayNo: true, ...(method !== undefined && { id }) };
}

/** A call that asks again with what was wrong has refused the answer, regardless of its status. */
function judgeAnswer(response: Response, expected: Expected, { notTaken = () => false }: Pick<Open, "notTaken">): void {
  if (!notTaken(response)) return judge(response, expected);
  judge(response, { ...expected, due: "any" });
  if (expected.due !== "accepted") return;
  throw new Broken("wrongly-refused", {
    kind: expected.kind,
    changes: expected.changes,
    what: `asked again\n  reply    ${response.text.slice(0, 700)}`,
  });
}

/** As proposal #1869 and FastMCP have it: beside the id of the question. */
function addressed(elicitationId: string, reply: Drawn): Drawn {
  return isObject(reply) ? ({ ...(reply as DrawnObject), elicitationId } as Drawn) : reply;
}

function replyDraft(session: InSession, id: unknown, reply: Drawn): Draft {
  return { headers: sessionHeaders(session), body: { jsonrpc: "2.0", id: id as string, result: reply } };
}

/** Asks everything once, to know what can be answered. */
async function everyAnswer(caller: Caller, pool: SessionPool, nextId: () => number): Promise<fc.Arbitrary<Given>> {
  const given: { weight: number; arbitrary: fc.Arbitrary<Given> }[] = [];
  const again = fc.constantFrom("not", "not", "same", "other" as const) as fc.Arbitrary<Given["again"]>;
  const add = (way: Way, scenario: Scenario, answer: fc.Arbitrary<Answer>) =>
    given.push({ weight: 1, arbitrary: fc.record({ way: fc.constant(way), scenario: fc.constant(scenario), answer, again }) });
  for (const scenario of SCENARIOS) {
    const { method, params, sleeps = false } = scenario;
    const { inputRequests } = (await caller.stateless({ method, params, capabilities: ASKABLE })) as unknown as {
      inputRequests: Readonly<Record<string, Question>>;
    };
    const [question] = Object.values(inputRequests);
    if (!question) throw new SetUpFailed(`${JSON.stringify(params)} asks nothing`);
    const isElicitation = question.method === "elicitation/create";
    const drawn = answersTo(question);
    for (const way of ["tasks/update", "reply on tasks/result"] as const) if (method === "tools/call") add(way, scenario, drawn);
    for (const way of ["tasks/get with an answer", "tasks/sendInput"] as const) {
      if (method === "tools/call" && isElicitation) add(way, scenario, drawn);
    }
    if (sleeps) continue;
    add("retry", scenario, drawn);
    add("reply in 2025-11-25", scenario, drawn);
    // Older revisions have no url mode.
    if (question.params?.["mode"] === "url") continue;
    for (const revision of ["2025-06-18", "2025-03-26"] as const) {
      const asked = await caller.untilAsked(await pool.of(revision), method, params, nextId());
      const inOldWords = answersTo({ method: String(asked.method), params: (asked.params ?? {}) as unknown as JsonObject });
      // A list of choices is one boolean for each there, and how many may be true is said in words alone.
      const hasList = JSON.stringify(question.params ?? {}).includes('"array"');
      add(`reply in ${revision}`, scenario, hasList ? inOldWords.map(anyContent) : inOldWords);
    }
  }
  return fc.oneof(...given);
}

function anyContent(answer: Answer): Answer {
  return /content|field/.test(answer.name) && !answer.name.startsWith("decline") ? { ...answer, due: "any" } : answer;
}
