import { type Command, Option } from "commander";
import type { AnswerCommand } from "./run.ts";
import { collect, objectGiven, type ServerOptions, withServerOptions } from "../client/options.ts";

interface Options extends Omit<AnswerCommand, "json">, ServerOptions {
  readonly json?: string | true;
  /** Earlier spelling of `-a`. */
  readonly s?: readonly string[];
}

export function addAnswer(program: Command): void {
  withServerOptions(
    program.command("answer <taskId> [key]").description("Answer an open question of a task, at the terminal or with options"),
  )
    .option("-a, --set <field=value>", "Set a field of the form", collect)
    .addOption(new Option("-s <field=value>").argParser(collect).hideHelp())
    .option("--content <object>", "Content of the form as JSON")
    .option("-j, --json [object]", "Print the outcome as JSON; with an object: the content, as in --content")
    .option("--accept", "Accept without content, for example a page to visit")
    .option("--decline", "Decline to answer")
    .option("--reason <text>", "Why you decline: the tool and the person who made the call read it")
    .option("--cancel", "Close the question without an answer")
    .option("-w, --wait", "Wait for the task to end and print its result")
    .addHelpText(
      "after",
      `
Examples:
  $ parley answer 0-Yuag… party-size -a partySize=4
  $ parley answer 0-Yuag… --decline --reason "The kitchen is closed"`,
    )
    .action(async (taskId: string, key: string | undefined, { url, dataDir, json, s, ...options }: Options) => {
      const set = [...(options.set ?? []), ...(s ?? [])];
      const given = { ...options, ...(set.length > 0 && { set }) };
      const { args: content = given.content, isOutput } = objectGiven(json);
      const [{ withServer }, { answer }] = await Promise.all([import("../client/reach.ts"), import("./run.ts")]);
      await withServer({ url, dataDir }, (client) =>
        answer(client, taskId, key, { ...given, ...(content !== undefined && { content }), json: isOutput }),
      );
    });
}
