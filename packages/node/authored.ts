/**
 * Code of authors that front ends run: schemas of arguments, resources and completions. An error that it leaves behind uncaught, as by a promise that
 * nothing awaits or a timer, must not end the process with the calls and streams of everybody else (I12).
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Catalogue } from "@parley/core";

const code = new AsyncLocalStorage<string>();

/** What the present code belongs to, such as `resource test://text`. Undefined outside of it. */
export function authoredCode(): string | undefined {
  return code.getStore();
}

/** The same catalogue; what it runs on a front end can be told from the front end's own code. */
export function authored(catalogue: Catalogue): Catalogue {
  const { tools, prompts, resources, templates } = catalogue;
  const of =
    <Given extends unknown[], T>(what: string, work: (...given: Given) => T) =>
    (...given: Given): T =>
      code.run(what, work, ...given);
  return {
    ...catalogue,
    tools: mapped(tools, (tool) => ({ ...tool, readArguments: of(`tool ${tool.name}`, tool.readArguments) })),
    prompts: mapped(prompts, (prompt) => ({
      ...prompt,
      arguments: prompt.arguments.map(({ complete, ...rest }) => ({
        ...rest,
        ...(complete && { complete: of(`prompt ${prompt.name}`, complete) }),
      })),
    })),
    resources: mapped(resources, (resource) => ({ ...resource, read: of(`resource ${resource.uri}`, resource.read) })),
    templates: templates.map(({ complete, ...template }) => ({
      ...template,
      read: of(`resource template ${template.uriTemplate}`, template.read),
      ...(complete && { complete: of(`resource template ${template.uriTemplate}`, complete) }),
    })),
  };
}

function mapped<T>(all: ReadonlyMap<string, T>, change: (one: T) => T): ReadonlyMap<string, T> {
  return new Map([...all].map(([name, one]) => [name, change(one)]));
}
