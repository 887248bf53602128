import type { Command } from "commander";
import { answerAsk, type Given } from "../answer-ask.ts";
import { connect } from "../connect.ts";
import { accessToken } from "../token.ts";
import { follow, printAsk, printEnd } from "../follow.ts";
import { DEFAULT_URL } from "../url.ts";

interface AnswerOptions extends Given {
  readonly url: string;
  readonly wait?: boolean;
}

export function addAnswer(program: Command): void {
  program
    .command("answer <taskId> [key]")
    .description("answers a question of a task, on the terminal or from the options")
    .option("-u, --url <url>", "URL of the MCP endpoint (PARLEY_URL)", DEFAULT_URL)
    .option("-s, --set <field=value>", "a field of the form", (given: string, all: string[]) => [...all, given], [])
    .option("-j, --json <object>", "the form's content as JSON")
    .option("--accept", "accept without content, such as a page to visit")
    .option("--decline", "decline to answer")
    .option("--cancel", "dismiss the question")
    .option("-w, --wait", "wait for the task's end and print its result")
    .action(async (taskId: string, key: string | undefined, { url, wait, ...given }: AnswerOptions) => {
      const { session, close } = await connect(url, { token: accessToken() });
      try {
        if (!(await answerAsk(session, { taskId, ...(key !== undefined && { key }), given }))) {
          process.exitCode = 1;
          return;
        }
        process.stderr.write("answered\n");
        if (wait) printEnd(await follow(session, { taskId, onAsk: printAsk(taskId) }));
      } finally {
        await close();
      }
    });
}
