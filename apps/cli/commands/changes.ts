/** `parley export` and `parley replay`: does changed code still replay the tasks that wait? */
import { type Command, InvalidArgumentError } from "commander";

export interface ExportTasks {
  readonly tool?: string;
  readonly all?: true;
  readonly out?: string;
  readonly withContent?: true;
  readonly redact?: readonly string[];
  readonly limit: number;
  readonly json?: true;
}

export interface ReplayTasks {
  readonly tools: readonly string[];
  readonly baseline?: readonly string[];
  readonly timeout: string;
  readonly forkAt?: string;
  readonly task?: string;
  readonly answers?: string;
  readonly json?: true;
}

export function addChanges(program: Command): void {
  program
    .command("export [taskId]")
    .description(
      "writes waiting tasks to a file, one JSON object a line, for `parley replay`; needs REDIS_URL, and the content keys if content is sealed",
    )
    .option("-t, --tool <name>", "all waiting tasks of this tool")
    .option("--all", "all waiting tasks")
    .option("-o, --out <file>", "a new file, readable by you alone; standard output without it")
    .option("--with-content", "with what callers, people and services said; without it, texts and numbers are placeholders")
    .option("-r, --redact <field...>", "with --with-content: members of that name are placeholders, wherever they stand")
    .option("-l, --limit <number>", "at most so many tasks", whole, 10_000)
    .option("--json", "with --out: print the counts as JSON; without it the output is JSON anyway")
    .addHelpText(
      "after",
      `
Examples:
  $ parley export --tool book_dinner --out waiting.jsonl
  $ parley export 0-YuagbDh7XfhieSlD0dvNkQ --with-content --redact email iban`,
    )
    .action(async (taskId: string | undefined, options: ExportTasks) =>
      (await import("../changes/export.ts")).exportTasks(taskId, options),
    );
  program
    .command("replay <file>")
    .description(
      "replays exported tasks against tools, offline, and does no step; exits with 1 if one does not continue, or it cannot be told",
    )
    .requiredOption("-t, --tools <module...>", "the changed tools, as in PARLEY_TOOLS")
    .option("-b, --baseline <module...>", "the tools that the tasks run on now: for exports that are redacted or sealed")
    .option("--timeout <duration>", "how long a handler may wait for something outside ctx", "10s")
    .option(
      "--fork-at <effect>",
      "continue one task for real from this step or question on, such as step:charge: asks here, and does what is not replayed",
    )
    .option("--task <id>", "with --fork-at: which task of the file")
    .option(
      "--answers <file>",
      'with --fork-at: JSON of answers by question, {"party-size": {"partySize": 4}}; others are asked for at the terminal',
    )
    .option("--json", "one object a line for each task, and one with the counts")
    .addHelpText(
      "after",
      `
Examples:
  $ parley replay waiting.jsonl --tools ./src/tools.ts
  $ parley replay waiting.jsonl --tools ./src/tools.ts --baseline ./deployed/tools.ts --json
  $ parley replay waiting.jsonl --tools ./src/tools.ts --fork-at step:charge --task 0-YuagbDh7XfhieSlD0dvNkQ`,
    )
    .action(async (file: string, options: ReplayTasks) => {
      if (options.forkAt !== undefined) return await (await import("../changes/fork.ts")).forkTask(file, options);
      if (options.task !== undefined || options.answers !== undefined) throw new Error("--task and --answers go with --fork-at");
      await (await import("../changes/replay.ts")).replayTasks(file, options);
    });
}

function whole(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 1) throw new InvalidArgumentError("It must be a whole number from 1.");
  return number;
}
