import { ParleyError } from "@parley/core";
import { resultMessage } from "@parley/protocol";
import type { SessionIntent } from "@parley/protocol/sessions";
import { completionsOf } from "../shared/completion.ts";
import { contentsOf } from "../shared/contents.ts";
import { reportDefect } from "../shared/defects.ts";
import { callTool, getPrompt } from "./calls.ts";
import type { Asked, Door, Talk } from "./door.ts";
import { cancelTask, getTask, listTasks, sendInput, taskResult } from "./tasks.ts";

/** The `result` of the answer, or nothing when the handler has answered itself. Whatever is thrown becomes the error. */
type Answer = object | void | Promise<object | void>;

type IntentOf<Type> = Extract<SessionIntent, { readonly type: Type }>;

type Handlers = {
  readonly [Type in SessionIntent["type"]]: (door: Door, talk: Talk, intent: IntentOf<Type>, asked: Asked) => Answer;
};

const HANDLERS: Handlers = {
  ping: (_door, { encode }) => encode.empty(),
  async setLogLevel({ sessions }, { session, encode }, { level }) {
    await sessions.setLogLevel(session.id, level);
    return encode.empty();
  },
  async subscribe({ sessions, limits }, { session, encode }, { uri }) {
    const most = limits.sessionSubscriptionsMax;
    const became = await sessions.subscribe(session.id, uri, most);
    if (became === "full") {
      throw new ParleyError("TOO_MANY_SUBSCRIPTIONS", `the session follows ${most} resources (PARLEY_SESSION_SUBSCRIPTIONS_MAX)`);
    }
    return encode.empty();
  },
  async unsubscribe({ sessions }, { session, encode }, { uri }) {
    await sessions.unsubscribe(session.id, uri);
    return encode.empty();
  },
  listTools: ({ catalogue }, { encode }, { cursor }) => encode.toolList(catalogue, cursor),
  listPrompts: ({ catalogue }, { encode }, { cursor }) => encode.promptList(catalogue, cursor),
  listResources: ({ catalogue }, { encode }, { cursor }) => encode.resourceList(catalogue, cursor),
  listTemplates: ({ catalogue }, { encode }, { cursor }) => encode.templateList(catalogue, cursor),
  readResource: async ({ catalogue }, { encode }, { uri }) => encode.resourceContents(await contentsOf(catalogue, uri)),
  complete: async ({ catalogue }, { encode }, intent) => encode.completion(await completionsOf(catalogue, intent)),
  callTool,
  getPrompt,
  getTask,
  taskResult,
  listTasks,
  cancelTask,
  sendInput,
};

/** Answers one request of a session; never throws. */
export async function dispatch(door: Door, talk: Talk, intent: SessionIntent, asked: Asked): Promise<void> {
  const { id, voice } = asked;
  try {
    // TypeScript does not see that the handler found by a type takes the intent of that type.
    const handle = HANDLERS[intent.type] as (door: Door, talk: Talk, intent: SessionIntent, asked: Asked) => Answer;
    const result = await handle(door, talk, intent, asked);
    if (result) voice.answer({ httpStatus: 200, message: resultMessage(id, result) });
  } catch (error) {
    voice.answer(talk.encode.failure({ id, intent, error, defectId: reportDefect(door, error, { intent: intent.type }) }));
  }
}
