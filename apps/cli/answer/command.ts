import type { Command } from "commander";
import type { AnswerCommand } from "./run.ts";
import { collect, objectGiven, type ServerOptions, withServerOptions } from "../client/options.ts";

interface Options extends Omit<AnswerCommand, "json">, ServerOptions {
  readonly json?: string | true;
}

export function addAnswer(program: Command): void {
  withServerOptions(
    program.command("answer <taskId> [key]").description("Answer an open question of a task, at the terminal or with options"),
  )
    .option("-s, --set <field=value>", "Set a field of the form", collect)
    .option("--content <object>", "Content of the form as JSON")
    .option("-j, --json [object]", "Print the outcome as JSON; with an object: the content, as in --content")
    .option("--accept", "Accept without content, for example a page to visit")
    .option("--decline", "Decline to answer")
    .option("--cancel", "Dismiss the question")
    .option("-w, --wait", "Wait for the task to end and print its result")
    .addHelpText(
      "after",
      `
Examples:
  $ parley answer 0-Yuag… party-size --set partySize=4
  $ parley answer 0-Yuag… --decline`,
    )
    .action(async (taskId: string, key: string | undefined, { url, dataDir, json, ...given }: Options) => {
      const { args: content = given.content, isOutput } = objectGiven(json);
      const [{ withServer }, { answer }] = await Promise.all([import("../client/reach.ts"), import("./run.ts")]);
      await withServer({ url, dataDir }, (client) =>
        answer(client, taskId, key, { ...given, ...(content !== undefined && { content }), json: isOutput }),
      );
    });
}
