/**
 * What the server issued and accepts again: sealed states, ids of tasks, sessions, questions and requests, cursors. It refuses all that
 * were changed in any way, and accepts those that were not.
 */
import fc from "fast-check";
import type { Door } from "../door.ts";
import { type Alteration, altered, alterations, meansTheSame } from "../draw/alter.ts";
import { type Draft, type Due, finish } from "../draw/changes.ts";
import type { JsonObject } from "../draw/json.ts";
import { judge } from "../judge.ts";
import { LIST_BYTES_MAX, PAGE_SIZE, REPLY_TIMEOUT_MS } from "../limits.ts";
import { Caller, SetUpFailed } from "../wire/caller.ts";
import { Entrance } from "../wire/entrance.ts";
import { ELICITATION_RESPONSE, type InSession, sessionDraft, sessionHeaders } from "../wire/sessions.ts";
import { ASKABLE, statelessDraft, WITH_TASKS } from "../wire/stateless.ts";

/** A sealed state is bound to the call that it came with. */
type OtherCall = "the same call" | "other arguments" | "another tool" | "a prompt" | "with tasks";

type Sent =
  | { readonly of: "requestState"; readonly alteration: Alteration; readonly call: OtherCall }
  | { readonly of: "task id"; readonly alteration: Alteration; readonly method: string; readonly family: "stateless" | "session" }
  | { readonly of: "session id" | "cursor" | "request id" | "elicitation id"; readonly alteration: Alteration };

/** Each is used this often before there is a new one. */
const USES = 50;

export const state: Door<Sent> = {
  name: "state",
  async open(system) {
    const entrance = new Entrance(system);
    const caller = new Caller(system.url);
    let turn = 0;
    let given: Given | undefined;
    let uses = 0;

    /** One of everything that the server gives out. */
    async function give(): Promise<Given> {
      if (given && uses < USES) {
        uses += 1;
        return given;
      }
      if (given) await caller.end(given.session);
      const session = await caller.open("2025-11-25");
      const call = { method: "tools/call", params: { name: "onboarding", arguments: { team: "c4n4ry" } } };
      const [asked, task, question] = await Promise.all([
        caller.stateless({ ...call, capabilities: ASKABLE }),
        caller.stateless({ method: "tools/call", params: { name: "several", arguments: {} } }),
        caller.untilAsked(session, "tools/call", { name: "constructor_ask", arguments: {} }, 1),
      ]);
      uses = 1;
      given = {
        session,
        requestState: String(asked["requestState"]),
        taskId: String(task["taskId"]),
        requestId: String(question.id),
        cursor: String((await caller.inSession(session, "tasks/list"))["nextCursor"]),
      };
      return given;
    }

    function draftOf(
      sent: Sent,
      all: Given,
    ): { readonly draft: Draft; readonly was: string; readonly is: string; readonly dueAsItWas: Due; readonly dueElse?: Due } {
      const { session, taskId } = all;
      const change = (was: string) => ({ was, is: altered(was, sent.alteration) });
      switch (sent.of) {
        case "requestState": {
          const { was, is } = change(all.requestState);
          const { method, params, capabilities = WITH_TASKS } = callOf(sent.call);
          const draft = statelessDraft({ method, params: { ...params, requestState: is }, capabilities, id: turn });
          return { draft, was, is, dueAsItWas: sent.call === "the same call" || sent.call === "with tasks" ? "accepted" : "refused" };
        }
        case "task id": {
          const { was, is } = change(taskId);
          const params = {
            taskId: is,
            ...(sent.method === "tasks/update" && { inputResponses: {} }),
            ...(sent.method === "tasks/sendInput" && { action: "accept", elicitationId: `${is}:four` }),
          };
          const draft =
            sent.family === "stateless"
              ? statelessDraft({ method: sent.method, params, id: turn })
              : sessionDraft(session, { method: sent.method, params, id: turn });
          return { draft, was, is, dueAsItWas: sent.method === "tasks/sendInput" ? "refused" : "accepted" };
        }
        case "session id": {
          const { was, is } = change(session.sessionId);
          return {
            draft: sessionDraft({ ...session, sessionId: is }, { method: "ping", params: {}, id: turn }),
            was,
            is,
            dueAsItWas: "accepted",
          };
        }
        case "cursor": {
          const { was, is } = change(all.cursor);
          // A cursor names a place, and another place may be one, too.
          return {
            draft: sessionDraft(session, { method: "tasks/list", params: { cursor: is }, id: turn }),
            was,
            is,
            dueAsItWas: "accepted",
            dueElse: "any",
          };
        }
        case "request id": {
          const { was, is } = change(all.requestId);
          const draft = { headers: sessionHeaders(session), body: { jsonrpc: "2.0", id: is, result: { action: "no action" } } };
          // The answer is none, so that the question stays open for everyone.
          return { draft, was, is, dueAsItWas: "refused" };
        }
        case "elicitation id": {
          const { was, is } = change(`${taskId}:one`);
          const params: JsonObject = { taskId, _meta: { [ELICITATION_RESPONSE]: { elicitationId: is, action: "no action" } } };
          return { draft: sessionDraft(session, { method: "tasks/get", params, id: turn }), was, is, dueAsItWas: "refused" };
        }
      }
    }

    async function send(sent: Sent): Promise<void> {
      turn += 1;
      const { draft, was, is, dueAsItWas, dueElse = "refused" } = draftOf(sent, await give());
      const due = is === was ? dueAsItWas : meansTheSame(was, is) ? "any" : dueElse;
      const { headers, body } = finish(draft, [], { due });
      const response = await entrance.send(
        { method: "POST", path: "/mcp", headers, body },
        { timeoutMs: REPLY_TIMEOUT_MS, bytesMax: LIST_BYTES_MAX, enough: (messages) => messages.length > 0, lingerMs: 300 },
      );
      const changes = [sent.alteration.how, ...("call" in sent ? [sent.call] : []), ...("method" in sent ? [sent.family] : [])];
      judge(response, {
        kind: "method" in sent ? `${sent.of} of ${sent.method}` : sent.of,
        changes,
        due,
        said: body.toString(),
        ...(sent.of !== "request id" && { id: turn }),
      });
    }

    // More tasks than one page has, so that there is a cursor.
    for (let made = 0; made <= PAGE_SIZE; made += 1)
      await caller.stateless({ method: "tools/call", params: { name: "several", arguments: {} } });
    if ((await give()).cursor === "undefined") throw new SetUpFailed("tasks/list gives no cursor");
    return {
      cases: cases(),
      send,
      async close() {
        if (given) await caller.end(given.session).catch(() => 0);
        entrance.close();
        caller.close();
      },
    };
  },
};

interface Given {
  readonly session: InSession;
  readonly requestState: string;
  readonly taskId: string;
  readonly requestId: string;
  readonly cursor: string;
}

function callOf(call: OtherCall): { readonly method: string; readonly params: JsonObject; readonly capabilities?: JsonObject } {
  const onboarding = { name: "onboarding", arguments: { team: "c4n4ry" } };
  switch (call) {
    case "the same call":
      return { method: "tools/call", params: onboarding, capabilities: ASKABLE };
    case "with tasks":
      return { method: "tools/call", params: onboarding };
    case "other arguments":
      return { method: "tools/call", params: { ...onboarding, arguments: { team: "others" } }, capabilities: ASKABLE };
    case "another tool":
      return { method: "tools/call", params: { name: "several", arguments: { team: "c4n4ry" } }, capabilities: ASKABLE };
    case "a prompt":
      return { method: "prompts/get", params: { name: "letter", arguments: { to: "c4n4ry" } }, capabilities: ASKABLE };
  }
}

function cases(): fc.Arbitrary<Sent> {
  const alteration = alterations();
  const calls = fc.constantFrom<OtherCall>("the same call", "the same call", "other arguments", "another tool", "a prompt", "with tasks");
  const methods = fc.oneof(
    fc.record({ family: fc.constant("stateless" as const), method: fc.constantFrom("tasks/get", "tasks/update") }),
    fc.record({ family: fc.constant("session" as const), method: fc.constantFrom("tasks/get", "tasks/sendInput", "tasks/result") }),
  );
  return fc.oneof(
    { weight: 3, arbitrary: fc.record({ of: fc.constant("requestState" as const), alteration, call: calls }) },
    {
      weight: 3,
      arbitrary: fc.tuple(alteration, methods).map(([change, where]) => ({ of: "task id" as const, alteration: change, ...where })),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        of: fc.constantFrom("session id" as const, "cursor", "request id", "elicitation id"),
        alteration,
      }) as fc.Arbitrary<Sent>,
    },
  );
}
