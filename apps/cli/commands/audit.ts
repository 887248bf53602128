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
  const audit = program.command("audit").description("exports and verifies the records of calls, answers and cancellations (PARLEY_AUDIT)");
  audit
    .command("export")
    .description("moves records from Redis to a file, each chained to the one before; run one exporter per deployment; needs REDIS_URL")
    .requiredOption("-o, --out <file>", "the file to append to; the export continues where it ends")
    .option("-a, --after <file...>", "earlier files, whose chains this one continues")
    .option("-f, --follow", "keep running, and export new records")
    .option("--json", "print what was written as JSON")
    .action(async (options: ExportCommand) => (await import("../audit/run.ts")).exportRecords(options));
  audit
    .command("verify <file...>")
    .description("finds records that were changed, dropped, inserted or reordered, offline; exits with 1 if it finds any")
    .option("-c, --checkpoint <file>", "a signed checkpoint that the files must contain")
    .option("-k, --public-key <file>", "the Ed25519 public key (PEM) of the checkpoint")
    .option("--json", "print what was found as JSON")
    .action(async (files: string[], options: VerifyCommand) => (await import("../audit/run.ts")).verifyRecords(files, options));
  audit
    .command("checkpoint <file...>")
    .description(
      "verifies the files and prints a signed statement of where they end; keep it where the writers of these files cannot write",
    )
    .requiredOption("-k, --key <file>", "an Ed25519 private key (PEM): openssl genpkey -algorithm ed25519")
    .option("--json", "no effect: a checkpoint is JSON")
    .action(async (files: string[], { key }: { key: string }) => (await import("../audit/run.ts")).printCheckpoint(files, key));
}
