import { type Command, Option } from "commander";
import { atLeastOne, collect, type ServerOptions, withServerOptions } from "../client/options.ts";
import type { InboxCommand } from "./run.ts";

export function addInbox(program: Command): void {
  withServerOptions(program.command("inbox").description("Answer the open questions that are asked of you, whoever's task asks"))
    .option("--tool <name>", "Only questions of this tool")
    .addOption(new Option("--owner <whose>", "Only questions of your own tasks, or of other people's").choices(["me", "others"]))
    .addOption(new Option("--priority <priority>", "Only questions of this priority").choices(["urgent", "high", "normal", "low"]))
    .addOption(new Option("--snoozed <which>", "Only what you have put aside, or that as well").choices(["only", "any"]))
    .option("--asked-after <time>", "Only questions asked after this time, such as 2026-12-24T18:00:00Z")
    .option("--asked-before <time>", "Only questions asked before this time")
    .option("--deadline-before <time>", "Only questions that close before this time")
    .addOption(
      new Option("--order <order>", "Order of the questions")
        .choices(["oldest", "newest", "deadline", "due", "priority"])
        .default("oldest"),
    )
    .option("-l, --limit <number>", "Maximum number of questions", atLeastOne, 100)
    .option("--list", "Print the questions with the commands to answer them, and do not ask them")
    .option("-w, --watch", "Keep running: print the questions, each new one, and how they end, and do not ask them")
    .option("--json", "Print the questions as JSON, and do not ask them; with an answer, its receipts; with --watch, one object per line")
    .option("-a, --set <field=value>", "Answer all these questions alike: set a field of their forms", collect)
    .option("--accept", "Answer all these questions alike: accept them without content")
    .option("--decline", "Answer all these questions alike: decline them")
    .option("--reason <text>", "Why they are declined")
    .option("-y, --yes", "Answer them without asking whether to")
    .addHelpText(
      "after",
      `
Examples:
  $ parley inbox --owner others --order deadline
  $ parley inbox --tool approve_invoice --list
  $ parley inbox --priority urgent --watch
  $ parley inbox --tool approve_invoice --decline --reason "Not in this quarter"`,
    )
    .action(async ({ url, dataDir, ...command }: ServerOptions & InboxCommand) => {
      const [{ withServer }, { inbox }] = await Promise.all([import("../client/reach.ts"), import("./run.ts")]);
      await withServer({ url, dataDir }, (server) => inbox(server, command));
    });
}
