/** `parley export` and `parley replay`: does changed code still replay the tasks that wait? */
import { type Command, InvalidArgumentError } from "commander";
import { listed } from "../terminal/listed.ts";

export interface ExportTasks {
  readonly tool?: string;
  readonly all?: true;
  readonly ended?: true;
  readonly out?: string;
  readonly withContent?: true;
  readonly redact?: readonly string[];
  readonly limit: number;
  readonly json?: true;
}

export interface ReplayTasks {
  readonly waiting?: true;
  readonly limit: number;
  readonly tools?: readonly string[];
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
      "Write waiting tasks, or ended ones that keep their content, to a file for `parley replay`, one JSON object per line; needs REDIS_URL, and the content keys if content is sealed",
    )
    .option("-t, --tool <name>", "All waiting tasks of this tool")
    .option("--all", "All waiting tasks")
    .option("--ended", "With --tool or --all: instead of waiting tasks those that have ended and keep their content (PARLEY_KEEP_CONTENT)")
    .option("-o, --out <file>", "New file that only you can read (default: standard output)")
    .option("--with-content", "Keep what callers, people and services said; otherwise strings and numbers become placeholders")
    .option("-r, --redact <field...>", "With --with-content: members with these names become placeholders, at any depth")
    .option("-l, --limit <number>", "Maximum number of tasks", whole, 10_000)
    .option("--json", "With --out: print the counts as JSON; without --out the output is JSON anyway")
    .addHelpText(
      "after",
      `
Examples:
  $ parley export --tool book_dinner --out waiting.jsonl
  $ parley export --tool book_dinner --ended --with-content --out audit.jsonl
  $ parley export 0-YuagbDh7XfhieSlD0dvNkQ --with-content --redact email iban`,
    )
    .action(async (taskId: string | undefined, options: ExportTasks) => (await import("./export.ts")).exportTasks(taskId, options));
  program
    .command("replay [file]")
    .description("Replay exported tasks against tools, offline, without running steps; exit with 1 unless every task continues")
    .option("-t, --tools <module...>", "The changed tools, as in PARLEY_TOOLS")
    .option(
      "--waiting",
      "Instead of a file: the tasks that wait in Redis, against PARLEY_TOOLS, before a rollout; exit with 1 if one diverges or fails",
    )
    .option("-l, --limit <number>", "With --waiting: maximum number of tasks", whole, 10_000)
    .option("-b, --baseline <module...>", "The tools that the tasks run on now; for redacted or sealed exports")
    .option("--timeout <duration>", "How long a handler may wait for something outside ctx", "10s")
    .option(
      "--fork-at <effect>",
      "Continue one task for real from this step or question, for example step:charge: ask here, and run what is not replayed",
    )
    .option("--task <id>", "With --fork-at: which task of the file")
    .option(
      "--answers <file>",
      'With --fork-at: a JSON file of answers by question, {"party-size": {"partySize": 4}}; the terminal asks the others',
    )
    .option("--json", "Print one JSON object per line: one for each task, then one with the counts")
    .addHelpText(
      "after",
      `
Examples:
  $ parley replay waiting.jsonl --tools ./src/tools.ts
  $ parley replay waiting.jsonl --tools ./src/tools.ts --baseline ./deployed/tools.ts --json
  $ parley replay waiting.jsonl --tools ./src/tools.ts --fork-at step:charge --task 0-YuagbDh7XfhieSlD0dvNkQ
  $ parley replay --waiting`,
    )
    .action(async (file: string | undefined, options: ReplayTasks) => {
      const { waiting } = options;
      const tools = options.tools ?? (process.env["PARLEY_TOOLS"] ? listed(process.env["PARLEY_TOOLS"]) : undefined);
      if (waiting) return await (await import("./replay-waiting.ts")).replayWaiting(file, options);
      if (file === undefined)
        throw new Error("name the file that `parley export` wrote, or use --waiting for the tasks that wait in Redis");
      if (tools === undefined)
        throw new Error('name the changed tools: --tools <module>, PARLEY_TOOLS, or "parley": { "tools": … } in package.json');
      if (options.forkAt !== undefined) return await (await import("./fork.ts")).forkTask(file, { ...options, tools });
      if (options.task !== undefined || options.answers !== undefined) throw new Error("--task and --answers need --fork-at");
      await (await import("./replay.ts")).replayTasks(file, { ...options, tools });
    });
}

function whole(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 1) throw new InvalidArgumentError("It must be an integer of at least 1.");
  return number;
}
