import type { Command } from "commander";

export interface PurgeTasks {
  readonly olderThan: string;
  readonly tool?: string;
  readonly prompt?: string;
  readonly principal?: string;
  readonly tenant?: string;
  readonly largerThan?: string;
  readonly dryRun?: true;
  readonly yes?: true;
  readonly json?: true;
}

export function addPurge(program: Command): void {
  program
    .command("purge")
    .description("Count the finished tasks that Redis keeps, and with --yes delete them before their retention ends; needs REDIS_URL")
    .requiredOption("--older-than <duration>", "Only tasks that ended so long ago, for example 2h; 0s for all")
    .option("--tool <name>", "Only tasks of this tool")
    .option("--prompt <name>", "Only tasks of this prompt")
    .option("-p, --principal <principal>", "Only tasks of this caller")
    .option("-t, --tenant <tenant>", "Only tasks of this tenant")
    .option("--larger-than <size>", "Only tasks that keep more than this, for example 10kB")
    .option("--dry-run", "Delete nothing, and say what would be deleted: the same as without --yes")
    .option("-y, --yes", "Delete them; only a backup of Redis could bring them back")
    .option("--json", "Print the counts as JSON")
    .action(async (options: PurgeTasks) => (await import("./run.ts")).purgeTasks(options));
}
