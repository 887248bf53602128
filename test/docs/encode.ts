/** Sends a question of a generator tool to a client of each revision, and answers it. */
import type { Ask, Json, JsonObject } from "@parley/core";
import { SESSION_DIALECTS } from "@parley/protocol/sessions";
import { STATELESS_DIALECTS } from "@parley/protocol/stateless";
import { type Yielded, defineTool } from "@parley/sdk";
import { startTool } from "@parley/sdk/testing";

const FACTS = { name: "parley", version: "1.2.3", pollInterval: () => 500, listTtlMs: 0, pageSize: 100 };

export interface Put {
  readonly version: string;
  /** The fields of the form; undefined where the client cannot be asked. */
  readonly fields: JsonObject | undefined;
  readonly message: string | undefined;
  readonly meta: JsonObject | undefined;
}

/** The tool that yields it once, and returns what it got. */
function yielding(yielded: JsonObject) {
  return defineTool({
    name: "tool",
    *run() {
      const value: unknown = yield yielded as unknown as Yielded;
      return { value } as never;
    },
  });
}

/** The tool that yields it once, asks, and returns nothing. */
export function telling(yielded: JsonObject) {
  return defineTool({
    name: "tool",
    *run() {
      yield yielded as unknown as Yielded;
      yield { ask: "text", id: "more", message: "More?" };
    },
  });
}

/** The question as each revision's clients are put it, the newest first. */
export async function putEverywhere(yielded: JsonObject): Promise<readonly Put[]> {
  const running = await startTool(yielding(yielded));
  const [ask] = running.task.asks;
  if (!ask) throw new Error(`nothing was asked: ${running.text}${running.error?.message ?? ""}`);
  return [
    ...STATELESS_DIALECTS.map((dialect) => {
      const { inputRequests } = dialect.encoder(FACTS).inputRequired([ask]) as {
        readonly inputRequests: { readonly [key: string]: { readonly params: JsonObject } };
      };
      return shown(dialect.version, inputRequests[ask.key]?.params);
    }),
    ...SESSION_DIALECTS.map((dialect) => {
      const capabilities = { elicitation: { form: true, url: true } };
      if (!dialect.canAsk(ask.request, capabilities)) return shown(dialect.version, undefined);
      return shown(dialect.version, dialect.encoder(FACTS).ask(ask, { requestId: "r", elicitationId: "e" }).params as JsonObject);
    }),
  ];
}

function shown(version: string, params: JsonObject | undefined): Put {
  const schema = params?.["requestedSchema"] as { properties?: JsonObject } | undefined;
  return {
    version,
    fields: schema?.properties,
    message: params?.["message"] as string | undefined,
    meta: params?.["_meta"] as JsonObject | undefined,
  };
}

/** What the tool gets when a client of each revision sends `content`, as that revision's form has it. */
export async function answeredEverywhere(
  yielded: JsonObject,
  contents: { readonly newer: JsonObject; readonly older: JsonObject | undefined },
): Promise<readonly Json[]> {
  const got: Json[] = [];
  for (const dialect of [undefined, ...SESSION_DIALECTS]) {
    const isOlder = dialect !== undefined && dialect.version < "2025-11-25";
    const content = isOlder ? contents.older : contents.newer;
    if (content === undefined) continue;
    const running = await startTool(yielding(yielded));
    const ask = running.task.asks[0] as Ask;
    const sent = { action: "accept", content };
    const read = dialect ? dialect.readReply(ask.request, sent) : sent;
    await running.answer({ [ask.key]: (read as { content: JsonObject }).content });
    got.push((JSON.parse(running.text) as { value: Json }).value);
  }
  return got;
}
