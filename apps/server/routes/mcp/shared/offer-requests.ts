/** Requests about what the server offers, which every revision handles alike. */
import { type Catalogue, ParleyError, type Prompt, type Tool } from "@parley/core";
import type { Complete, List, ReadResource } from "@parley/protocol";
import type { Exchange } from "../../../front-end/exchange.ts";
import type { FrontEnd } from "../../../front-end/front-end.ts";
import { completionsOf } from "./completion.ts";
import { contentsOf } from "./contents.ts";
import { inTime } from "./within-timeout.ts";

/** Handlers in the tables of both families. */
export const SERVED = {
  listTools: (_route: FrontEnd, { cursor }: List, { encode, catalogue }: Exchange) => encode.toolList(catalogue, cursor),
  listPrompts: (_route: FrontEnd, { cursor }: List, { encode, catalogue }: Exchange) => encode.promptList(catalogue, cursor),
  listResources: (_route: FrontEnd, { cursor }: List, { encode, catalogue }: Exchange) => encode.resourceList(catalogue, cursor),
  listTemplates: (_route: FrontEnd, { cursor }: List, { encode, catalogue }: Exchange) => encode.templateList(catalogue, cursor),
  readResource: async (route: FrontEnd, { uri }: ReadResource, { encode, catalogue, caller }: Exchange) =>
    encode.resourceContents(await inTime(route, "reading the resource", contentsOf(catalogue, uri, caller))),
  complete: async (route: FrontEnd, intent: Complete, { encode, catalogue, caller }: Exchange) =>
    encode.completion(await inTime(route, "completing the argument", completionsOf(catalogue, intent, caller))),
};

/** Throws TOOL_NOT_FOUND. */
export function toolOf({ tools }: Catalogue, name: string): Tool {
  const tool = tools.get(name);
  if (!tool) throw new ParleyError("TOOL_NOT_FOUND", `no tool ${JSON.stringify(name.slice(0, 100))}`);
  return tool;
}

/** Throws PROMPT_NOT_FOUND. */
export function promptOf({ prompts }: Catalogue, name: string): Prompt {
  const prompt = prompts.get(name);
  if (!prompt) throw new ParleyError("PROMPT_NOT_FOUND", `no prompt ${JSON.stringify(name.slice(0, 100))}`);
  return prompt;
}
