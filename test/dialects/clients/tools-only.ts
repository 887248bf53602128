/**
 * Clients that declare nothing and know nothing but tools. Their model reads what is open: the person answers in the chat where that counts, and
 * elsewhere otherwise, while the model waits with `parley_task`.
 */
import { Client as ClientV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import type { Call, Dialect, Told } from "../dialect.ts";
import { toldBy } from "../dialect.ts";
import { behindPipe, transportTo, transportV1To } from "./transports.ts";

type Connect = (url: string) => Promise<{
  callTool(params: { name: string; arguments: Record<string, unknown> }): Promise<object>;
  close(): Promise<void>;
}>;

const connectV1: Connect = async (url) => {
  const client = new ClientV1({ name: "oracle", version: "1" }, { capabilities: {} });
  // The SDK's own types do not agree with exactOptionalPropertyTypes.
  await client.connect(transportV1To(url) as never);
  return client;
};

const connectV2: Connect = async (url) => {
  const client = new ClientV2({ name: "oracle", version: "2" }, { capabilities: {}, versionNegotiation: { mode: { pin: "2026-07-28" } } });
  await client.connect(transportTo(url));
  return client;
};

export const toolsOnly: readonly Dialect[] = [
  toolsOnlyBy("sdk v1, tools only", connectV1),
  toolsOnlyBy("sdk v2, 2026-07-28, tools only", connectV2),
];

function toolsOnlyBy(name: string, connect: Connect): Dialect {
  return {
    name,
    cannot: { "call cancelled": "the call is over once its text is there, and no tool cancels a task" },
    async run(call) {
      let { url } = call;
      let client = await connect(url);
      const said = async (tool: string, args: object) => toldBy(await client.callTool({ name: tool, arguments: { ...args } }));
      const known = new Set<string>();
      try {
        let told = await said(call.tool, call.args);
        for (let open = openIn(told); open; open = openIn(told)) {
          const { taskId, seen, questions } = open;
          const isFirst = known.size === 0;
          for (const { key, message, inChat } of questions) {
            if (known.has(key)) continue;
            known.add(key);
            // What a person says when the call is over reaches nobody; anything else shows in how the call ends.
            answer(call, { taskId, key, message, inChat, url: () => url, said }).catch(() => undefined);
          }
          if (call.meanwhile === "leave" && isFirst) {
            await call.asked;
            url = await call.vanish();
            await client.close();
            client = await connect(url);
            call.back();
          }
          told = await said("parley_task", { taskId, seen });
        }
        return told;
      } finally {
        await client.close();
      }
    },
  };
}

interface Answering {
  readonly taskId: string;
  readonly key: string;
  readonly message: string;
  readonly inChat: boolean;
  readonly url: () => string;
  readonly said: (tool: string, args: object) => Promise<Told>;
}

/** Until the answer is taken, or the question is over. */
async function answer({ respond }: Call, { taskId, key, message, inChat, url, said }: Answering): Promise<void> {
  for (;;) {
    const reply = await respond({ message });
    if (inChat && reply.action === "accept") {
      const told = await said("parley_asks", { taskId, question: key, answer: reply.content });
      if (!("text" in told) || !told.text.includes("not taken")) return;
      continue;
    }
    const response = await fetch(new URL(`/api/v1/asks/${taskId}/${encodeURIComponent(key)}`, behindPipe(url()) ?? url()), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(reply),
    });
    if (response.status !== 422) return;
  }
}

/** What is open, by the text alone. Undefined if the call is over. */
function openIn(told: Told) {
  if (!("text" in told) || !told.text.startsWith("NOT FINISHED")) return undefined;
  const { text } = told;
  const [, taskId = "", seen = ""] = /taskId "([^"]+)" and seen (\d+)/.exec(text) ?? [];
  const inChat = text.includes("pass on exactly what they said with parley_asks");
  const questions = [...text.matchAll(/^Question: (.*?)\nWho answers: .*?\nPage: \S+?\/asks\/[^/\s]+\/([^?\s]+)/gms)].map(
    ([, message = "", key = ""]) => ({ message, key: decodeURIComponent(key), inChat }),
  );
  return { taskId, seen: Number(seen), questions };
}
