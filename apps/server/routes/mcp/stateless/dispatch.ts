import type { Intent } from "@parley/protocol/stateless";
import { completionsOf } from "../shared/completion.ts";
import { contentsOf } from "../shared/contents.ts";
import { callTool } from "./call-tool.ts";
import { getPrompt } from "./get-prompt.ts";
import { listen } from "./listen.ts";
import type { Exchange, Handled, Mcp } from "./mcp.ts";
import { cancelTask, getTask, updateTask } from "./tasks.ts";

type Answer = Handled | Promise<Handled>;

/** The members of Intent that may have that type. */
type IntentOf<Type> = Intent extends infer I ? (I extends Intent ? (Type extends I["type"] ? I : never) : never) : never;

type Handlers = {
  readonly [Type in Intent["type"]]: (mcp: Mcp, intent: IntentOf<Type>, exchange: Exchange) => Answer;
};

/** What is done about each intent. */
const HANDLERS: Handlers = {
  discover: ({ encode, catalogue }) => encode.discover(catalogue),
  listTools: ({ encode, catalogue }, { cursor }) => encode.toolList(catalogue, cursor),
  listPrompts: ({ encode, catalogue }, { cursor }) => encode.promptList(catalogue, cursor),
  listResources: ({ encode, catalogue }, { cursor }) => encode.resourceList(catalogue, cursor),
  listTemplates: ({ encode, catalogue }, { cursor }) => encode.templateList(catalogue, cursor),
  callTool,
  getPrompt,
  readResource: async ({ encode, catalogue }, { uri }) => encode.resourceContents(await contentsOf(catalogue, uri)),
  complete: async ({ encode, catalogue }, intent) => encode.completion(await completionsOf(catalogue, intent)),
  getTask,
  updateTask,
  cancelTask,
  listen,
};

export function dispatch(mcp: Mcp, intent: Intent, exchange: Exchange): Answer {
  // TypeScript does not see that the handler found by a type takes the intent of that type.
  const handle = HANDLERS[intent.type] as (mcp: Mcp, intent: Intent, exchange: Exchange) => Answer;
  return handle(mcp, intent, exchange);
}
