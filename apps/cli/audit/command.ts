import type { Command } from "commander";

export interface ExportCommand {
  readonly out: string;
  readonly after?: readonly string[];
  readonly follow?: boolean;
  readonly json?: true;
}

export interface VerifyCommand {
  readonly checkpoint?: string;
  readonly publicKey?: string;
  readonly json?: true;
}

export function addAudit(program: Command): void {
  const audit = program.command("audit").description("Export and verify the records of calls, answers and cancellations (PARLEY_AUDIT)");
  audit
    .command("export")
    .description("Move records from Redis to a file, each chained to the one before; run one exporter per deployment; needs REDIS_URL")
    .requiredOption("-o, --out <file>", "File to append to; the export continues where the file ends")
    .option("-a, --after <file...>", "Earlier files whose chains this one continues")
    .option("-f, --follow", "Keep running and export new records")
    .option("--json", "Print what was written as JSON")
    .action(async (options: ExportCommand) => (await import("./run.ts")).exportRecords(options));
  audit
    .command("verify <file...>")
    .description("Find records that were changed, dropped, inserted or reordered, offline; exit with 1 if there are any")
    .option("-c, --checkpoint <file>", "Signed checkpoint that the files must contain")
    .option("-k, --public-key <file>", "Ed25519 public key (PEM) of the checkpoint")
    .option("--json", "Print the problems as JSON")
    .action(async (files: string[], options: VerifyCommand) => (await import("./run.ts")).verifyRecords(files, options));
  audit
    .command("checkpoint <file...>")
    .description("Verify the files and print a signed statement of where they end; keep it where the writers of these files cannot write")
    .requiredOption("-k, --key <file>", "Ed25519 private key (PEM): openssl genpkey -algorithm ed25519")
    .option("--json", "No effect: a checkpoint is JSON")
    .action(async (files: string[], { key }: { key: string }) => (await import("./run.ts")).printCheckpoint(files, key));
}
