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
  const audit = program.command("audit").description("records of calls, answers and cancellations (PARLEY_AUDIT)");
  audit
    .command("export")
    .description(
      "takes records out of Redis into a file, each chained to the one before; one exporter for each deployment; needs REDIS_URL",
    )
    .requiredOption("-o, --out <file>", "appended to; where it ends says where to continue")
    .option("-a, --after <file...>", "files before this one, whose chains it continues")
    .option("-f, --follow", "stay, and take what comes")
    .option("--json", "print what was written as JSON")
    .action(async (options: ExportCommand) => (await import("../audit/run.ts")).exportRecords(options));
  audit
    .command("verify <file...>")
    .description("finds records that were changed, dropped, inserted or reordered; offline; exits with 1 if there are any")
    .option("-c, --checkpoint <file>", "a signed checkpoint that the files must contain")
    .option("-k, --public-key <file>", "the Ed25519 key, PEM, that the checkpoint was signed by")
    .option("--json", "print what was found as JSON")
    .action(async (files: string[], options: VerifyCommand) => (await import("../audit/run.ts")).verifyRecords(files, options));
  audit
    .command("checkpoint <file...>")
    .description("verifies the files and prints where they end, signed: keep it where nobody who can write the files can write")
    .requiredOption("-k, --key <file>", "an Ed25519 private key, PEM: openssl genpkey -algorithm ed25519")
    .option("--json", "as without: a checkpoint is JSON")
    .action(async (files: string[], { key }: { key: string }) => (await import("../audit/run.ts")).printCheckpoint(files, key));
}
