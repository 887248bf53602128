/** Overlapping calls of many people at one upstream, answered in random order: does every answer reach its own question? */
import { randomInt } from "node:crypto";
import { type Client, createClient, type TaskState } from "../client.ts";

export interface Overlap {
  readonly url: string;
  /** Access tokens, one for each person. */
  readonly tokens: readonly string[];
  readonly calls: number;
  readonly rounds: number;
}

const LOOK_EVERY_MS = 250;

/** How many answers were given, and how many of them came out at another question than their own. */
export async function overlappingCalls({
  url,
  tokens,
  calls,
  rounds,
}: Overlap): Promise<{ readonly answers: number; readonly strays: number }> {
  const clients = tokens.map((token) => createClient(url, 4, token));
  let strays = 0;
  try {
    for (let round = 0; round < rounds; round += 1) {
      const made = await Promise.all(
        Array.from({ length: calls }, async (_, number) => {
          const client = clients[number % clients.length];
          if (!client) throw new Error("nobody to call for");
          const text = `round ${round} call ${number}`;
          const { taskId } = await client.call("up_ask", { text });
          return { client, taskId, text, size: randomInt(1_000_000) };
        }),
      );
      await Promise.all(made.map(({ client, taskId }) => reached(client, taskId, "input_required")));
      const shuffled = made.map((call) => ({ call, at: Math.random() })).toSorted((a, b) => a.at - b.at);
      await Promise.all(
        shuffled.map(({ call: { client, taskId, size } }) =>
          client.answer(taskId, { "question-1": { action: "accept", content: { size } } }),
        ),
      );
      for (const { client, taskId, text, size } of made) {
        const { result } = await reached(client, taskId, "completed");
        if (result?.content?.[0]?.text !== `${text}: ${size}`) strays += 1;
      }
    }
    return { answers: calls * rounds, strays };
  } finally {
    for (const client of clients) client.close();
  }
}

async function reached(client: Client, taskId: string, status: string): Promise<TaskState> {
  for (;;) {
    const task = await client.get(taskId);
    if (task.status === status) return task;
    if (task.status === "failed") throw new Error(`${taskId} failed: ${task.error?.message}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}
