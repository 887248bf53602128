import { type Caller, type Catalogue, ParleyError, resourceNotFound, takerOf } from "@parley/core";
import type { Complete } from "@parley/protocol";

/** Completions of an argument, or none. Throws PROMPT_NOT_FOUND or RESOURCE_NOT_FOUND if the prompt or template is not served. */
export async function completionsOf({ prompts, templates }: Catalogue, intent: Complete, caller: Caller): Promise<readonly string[]> {
  const { of, argument, value, others } = intent;
  if (of.type === "prompt") {
    const prompt = prompts.get(of.name);
    if (!prompt) throw new ParleyError("PROMPT_NOT_FOUND", `no prompt ${JSON.stringify(of.name.slice(0, 100))}`);
    const definition = prompt.arguments.find(({ name }) => name === argument);
    return (await definition?.complete?.(value, others, takerOf(caller))) ?? [];
  }
  const template = templates.find(({ uriTemplate }) => uriTemplate === of.uri);
  if (!template) throw resourceNotFound("no resource template of that uri", of.uri);
  return (await template.complete?.(argument, value, others, takerOf(caller))) ?? [];
}
