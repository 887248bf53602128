/** A call, its question, the answer and the result, by a correct client. This must work regardless of what others send. */
import { until } from "../support/until.ts";
import { REPLY_TIMEOUT_MS } from "./limits.ts";
import { Caller } from "./wire/caller.ts";

/** Rejects with what did not work. */
export async function lifecycle(url: string): Promise<void> {
  const caller = new Caller(url);
  try {
    await asTask(caller);
    await inSession(caller);
  } finally {
    caller.close();
  }
}

/** 2026-07-28 with tasks: asked in tasks/get, answered by tasks/update. */
async function asTask(caller: Caller): Promise<void> {
  const { taskId } = (await caller.stateless({ method: "tools/call", params: { name: "several", arguments: {} } })) as unknown as {
    taskId: string;
  };
  const get = () => caller.stateless({ method: "tasks/get", params: { taskId } });
  await until(async () => (await get())["status"] === "input_required");
  const accept = { action: "accept", content: { ok: true } };
  await caller.stateless({
    method: "tasks/update",
    params: { taskId, inputResponses: { one: accept, two: accept, three: { action: "decline" } } },
  });
  const task = await until(async () => ((await get())["status"] === "completed" ? await get() : undefined));
  const text = task["result"]?.["content"]?.[0]?.["text"];
  if (text !== "accept accept decline") throw new Error(`the task's result is ${JSON.stringify(task["result"])}`);
}

/** 2025-06-18: asked on the call's stream, answered by a POST, the result fetched by another connection. */
async function inSession(caller: Caller): Promise<void> {
  const session = await caller.open("2025-06-18");
  const asked = await caller.untilAsked(session, "tools/call", { name: "constructor_ask", arguments: {} }, 7);
  const { status } = await caller.reply(session, asked.id, { action: "accept", content: { ok: true } });
  if (status !== 202) throw new Error(`the answer to a question is answered by HTTP ${status}`);
  const { messages, text } = await caller.resume(session, asked.eventId ?? "", {
    enough: (all) => all.some(({ result }) => result !== undefined),
    lingerMs: REPLY_TIMEOUT_MS,
  });
  const result = messages.find(({ id }) => id === 7)?.result;
  if (result?.["content"]?.[0]?.["text"] !== "accept") throw new Error(`the call's result is ${text.slice(0, 500)}`);
  if ((await caller.end(session)) !== 204) throw new Error("the session cannot be ended");
}
