/** Some calls that people approve are tests, which nobody made (docs/approvals.md). Nothing says so before the answer, and the record does after it. */
import type { ApiClient, OpenAsk } from "../client/api-client.ts";
import { cleanLine, printToStderr, styled } from "../terminal/terminal.ts";
import { readAsk } from "./answer-ask.ts";

/** Tells the person which of the questions that they have answered were tests. The answers count, whether or not that can be read. */
export async function tellTests(api: ApiClient, answered: readonly Pick<OpenAsk, "taskId" | "key" | "audience">[]): Promise<void> {
  // Approvals have an audience; the others cost no request.
  for (const { taskId, key } of answered.filter(({ audience }) => audience)) {
    const read = await readAsk(api, taskId, key).catch(() => undefined);
    if (read?.state !== "settled" || !read.isTest) continue;
    const which = `${cleanLine(key)} of task ${cleanLine(taskId)}`;
    printToStderr(styled("yellow", `${which} was a test: nobody made this call, and nothing ran. The right answer was no.`));
  }
}
