/** Lists the tools of a server. */
import { fieldsOf, type JsonObject } from "@parley/core";
import type { McpClient } from "../client/mcp-client.ts";
import { clean, cleanLine, print, printJson, styled } from "../terminal/terminal.ts";

export interface ListedTool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: JsonObject;
}

const PAGES_MAX = 1_000;

async function* pagesOf<Entry>(
  ask: (cursor: string | undefined) => Promise<{ readonly nextCursor?: string; readonly entries: readonly Entry[] }>,
): AsyncGenerator<Entry> {
  let cursor: string | undefined;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const { nextCursor, entries } = await ask(cursor);
    yield* entries;
    if (nextCursor === undefined) return;
    cursor = nextCursor;
  }
}

export function listTools(client: McpClient): AsyncGenerator<ListedTool> {
  return pagesOf(async (cursor) => {
    const page = await client.request<{ tools: ListedTool[]; nextCursor?: string }>("tools/list", cursor === undefined ? {} : { cursor });
    return { ...page, entries: page.tools };
  });
}

/** Throws an Error that names the tools that exist. */
export async function findTool(client: McpClient, name: string): Promise<ListedTool> {
  const names: string[] = [];
  for await (const tool of listTools(client)) {
    if (tool.name === name) return tool;
    names.push(tool.name);
  }
  throw new Error(`there is no tool ${cleanLine(name).slice(0, 64)}; there are ${names.slice(0, 50).join(", ") || "none"}`);
}

export async function printTools(client: McpClient, { json }: { readonly json?: boolean }): Promise<void> {
  const tools: ListedTool[] = [];
  for await (const tool of listTools(client)) tools.push(tool);
  if (json) return printJson({ tools });
  for (const { name, description, inputSchema } of tools) {
    print(
      `${styled("bold", cleanLine(name), process.stdout)}${description === undefined ? "" : `  ${clean(description).split("\n", 1)[0]}`}`,
    );
    for (const { name: field, kind, isRequired, description: says, choices } of fieldsOf(inputSchema)) {
      const values =
        choices.length > 0
          ? choices
              .slice(0, 8)
              .map(({ value }) => cleanLine(value))
              .join("|")
          : kind;
      print(`    --${cleanLine(field)} <${values}>${isRequired ? "" : "  (optional)"}${says === undefined ? "" : `  ${cleanLine(says)}`}`);
    }
  }
}
