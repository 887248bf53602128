/**
 * Code of authors that runs outside of runs: schemas of arguments, resources and completions on front ends, and on workers what is asked before and
 * after a run. An error that it leaves behind uncaught, as by a promise that
 * nothing awaits or a timer, must not end the process with the calls and streams of everybody else (I12).
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Catalogue, Tool } from "@parley/core";

const code = new AsyncLocalStorage<string>();

/** What the present code belongs to, such as `resource test://text`. Undefined outside of it. */
export function authoredCode(): string | undefined {
  return code.getStore();
}

/** The same catalogue; what it runs can be told from the process' own code. */
export function authored(catalogue: Catalogue): Catalogue {
  const { tools, prompts, resources, templates } = catalogue;
  return {
    ...catalogue,
    tools: mapped(tools, authoredTool),
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

function authoredTool(tool: Tool): Tool {
  const { name, limit, older } = tool;
  return {
    ...tool,
    readArguments: of(`tool ${name}`, tool.readArguments),
    ...(limit && { limit: { ...limit, keyOf: of(`tool ${name}`, limit.keyOf) } }),
    ...(older && { older: older.map(authoredTool) }),
  };
}

function of<Given extends unknown[], T>(what: string, work: (...given: Given) => T): (...given: Given) => T {
  return (...given) => code.run(what, work, ...given);
}

function mapped<T>(all: ReadonlyMap<string, T>, change: (one: T) => T): ReadonlyMap<string, T> {
  return new Map([...all].map(([name, one]) => [name, change(one)]));
}
