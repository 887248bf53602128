/** Clients that show pages and no forms: they open the page of a question, and the person answers there. In each dialect that has url elicitation. */
import type { Call, Dialect, Question } from "../dialect.ts";
import type { Reply } from "../scenarios.ts";
import { tasks2025By } from "./ext-tasks.ts";
import { blockingV2, inputRequiredBy } from "./sdk-v2.ts";

const capabilities = { elicitation: { url: {} } };

export const pagesOnly: readonly Dialect[] = [
  onPages(inputRequiredBy({ name: "sdk v2, 2026-07-28, pages only", capabilities })),
  onPages(blockingV2("2025-11-25", { name: "sdk v2, 2025-11-25, pages only", capabilities })),
  onPages(tasks2025By("ext-tasks, 2025-11-25, pages only", capabilities)),
];

function onPages(dialect: Dialect): Dialect {
  return { ...dialect, run: (call) => dialect.run({ ...call, respond: (question) => visit(call, question) }) };
}

/** The person agrees, and answers on the page, as often as it takes. */
async function visit({ respond }: Call, question: Question): Promise<Reply> {
  const first = await respond(question);
  if (first.action !== "accept") return first;
  void answerOnPage({ respond }, question, first).catch(() => undefined);
  return { action: "accept" };
}

async function answerOnPage({ respond }: Pick<Call, "respond">, question: Question, first: Reply): Promise<void> {
  const { origin, pathname } = new URL(question.url ?? "");
  for (let reply = first; ; reply = await respond(question)) {
    const response = await fetch(`${origin}/api/v1${pathname}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(reply),
    });
    if (response.status !== 422) return;
  }
}
